"""The store: several writers, results once, and files that are not ours left as they were."""

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from small_experiment import SMALL, values

from bracketz.errors import InputError
from bracketz.testbed import read_frames
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.spec.tasks import expand
from bracketz.testbed.store import owner
from bracketz.testbed.store import store as store_module
from bracketz.testbed.store.schema import ENTRIES, SCHEMA, TABLES, VERSION
from bracketz.testbed.store.store import Store, TaskResult

RESULT = TaskResult(
    (1.5, -0.1, 2.25, 3.0),
    "lower",
    {"steps": (3.0, 4.0, 5.0, 6.0)},
    0.5,
    1.0,
    "1 x cpu",
    {"jax": "1"},
)


@pytest.fixture
def fresh(tmp_path):
    with Store.open(tmp_path / "r.db", create=True) as store:
        entries = expand(parse(SMALL))
        store.register(parse(SMALL), entries)
        yield store, entries[0].task.id


def test_a_result_is_written_once_and_exactly(fresh):
    store, task = fresh
    assert store.claim(task) and store.status(task) == "running"
    assert not store.claim(task)
    store.finish(task, RESULT)
    store.finish(
        task, TaskResult((9.0,) * 4, "lower", {}, 1.0, 1.0, "x", {})
    )  # somebody else, too late
    assert store.status(task) == "done" and not store.claim(task, retry_failed=True)
    assert [v for _, _, v in values(store.path)] == [v.hex() for v in RESULT.values]
    store.fail(task, "too late as well")
    assert store.status(task) == "done"


def test_a_failure_is_kept_and_may_be_tried_again(fresh):
    store, task = fresh
    store.claim(task)
    store.fail(task, "ValueError: no")
    assert store.rows("SELECT status, message FROM tasks WHERE task = ?", task) == [
        ("failed", "ValueError: no")
    ]
    assert not store.claim(task) and store.claim(task, retry_failed=True)
    store.release(task)
    assert store.status(task) == "pending"


def test_claims_of_the_dead_and_the_silent_are_free(fresh, monkeypatch):
    store, task = fresh
    claim = (
        "import sys; from bracketz.testbed.store.store import Store;"
        " print(Store.open(sys.argv[1]).claim(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", claim, str(store.path), task], capture_output=True, text=True
    )
    assert done.stdout == "True\n"
    assert store.status(task) == "pending" and store.claim(task)
    # The same claim seen from another machine: respected until its owner has been silent for long.
    monkeypatch.setattr(owner, "machine", lambda: "elsewhere")
    assert store.status(task) == "running"
    monkeypatch.setattr(owner, "SILENCE", -1.0)
    assert store.status(task) == "pending"


def test_many_writers(fresh):
    """Eight threads with a connection each want all tasks: every task is claimed once, every result
    kept."""
    store, _ = fresh
    tasks = sorted({e.task.id for e in expand(parse(SMALL))})
    claimed: list[str] = []

    def work(number):
        with Store.open(store.path) as mine:
            for task in tasks[number:] + tasks[:number]:
                if mine.claim(task):
                    claimed.append(task)
                    mine.finish(task, RESULT)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == tasks
    assert len(values(store.path)) == 4 * len(tasks)


def damaged(tmp_path):
    """(name, file): everything that is not a store."""
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE precious (x)")
    connection.commit()
    connection.close()
    Store.open(tmp_path / "good.db", create=True).close()
    good = (tmp_path / "good.db").read_bytes()
    broken = {
        "text.db": b"my thesis",
        "empty.db": b"",
        "short.db": good[:150],
        "truncated.db": good[: len(good) // 2],
        "scribbled.db": good[:4096] + b"\xa5" * 8192 + good[12288:],
        "newer.db": good[:60] + b"\0\0\0\x09" + good[64:],
        "header.db": good[:100] + b"\xff" * 200 + good[300:],
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
    return [other, *(tmp_path / name for name in broken)]


def test_foreign_and_damaged_files_are_refused_untouched(tmp_path):
    for path in damaged(tmp_path):
        before = path.read_bytes()
        present = sorted(p.name for p in tmp_path.iterdir())
        for use in (lambda p: Store.open(p, create=True), Store.open, Store.read):
            with pytest.raises(InputError, match="name another file"):
                use(path)
        assert path.read_bytes() == before, path.name
        assert sorted(p.name for p in tmp_path.iterdir()) == present
    with pytest.raises(InputError, match="cannot open the store"):
        Store.open(tmp_path / "none.db")
    with pytest.raises(InputError, match="folder"):
        Store.open(tmp_path / "no" / "r.db", create=True)


def test_the_log_of_a_deleted_store_is_not_replayed_into_a_new_one(tmp_path):
    (tmp_path / "r.db-wal").write_bytes(b"what a killed process left")
    with pytest.raises(InputError, match=r"r\.db-wal is left of a store that is gone"):
        Store.open(tmp_path / "r.db", create=True)
    assert [p.name for p in tmp_path.iterdir()] == ["r.db-wal"]


def test_a_store_of_the_first_format_is_read_as_it_lies_and_brought_up_to_date_to_write(
    small_store, tmp_path
):
    old = tmp_path / "old.db"
    old.write_bytes(small_store.read_bytes())
    db = sqlite3.connect(old, isolation_level=None)
    first = ENTRIES.replace(", 'cross'", "").replace(
        "CREATE TABLE entries", "CREATE TABLE entries_1"
    )
    for statement in (
        first,
        "INSERT INTO entries_1 SELECT * FROM entries",
        "DROP TABLE entries",
        "ALTER TABLE entries_1 RENAME TO entries",
        "DROP TABLE seals",
        "PRAGMA user_version = 1",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    ):
        db.execute(statement)
    db.close()
    before = old.read_bytes()
    assert values(old) == values(small_store) and read_frames(old).tasks.equals(
        read_frames(small_store).tasks
    )
    assert old.read_bytes() == before
    for _ in range(2):
        with Store.open(old) as store:
            assert store.rows("PRAGMA user_version") == [(VERSION,)]
            assert store.rows("PRAGMA foreign_key_check") == []
            sql = {name: text for name, text in store.rows("SELECT name, sql FROM sqlite_master")}
    with Store.read(small_store) as store:
        assert sql == {
            name: text for name, text in store.rows("SELECT name, sql FROM sqlite_master")
        }
    assert values(old) == values(small_store) and read_frames(old).tasks.equals(
        read_frames(small_store).tasks
    )


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE trials SET log_ml = log_ml + 1e-9 WHERE trial = 1",
        "UPDATE tasks SET content = replace(content, '1', '2')",
        "DELETE FROM trials WHERE trial = 0",
    ],
)
def test_values_changed_by_hand_are_found_out(small_store, tmp_path, edit):
    copy = tmp_path / "edited.db"
    copy.write_bytes(small_store.read_bytes())
    db = sqlite3.connect(copy)
    db.execute(edit)
    db.commit()
    db.close()
    for way in (Store.open, Store.read):
        with pytest.raises(InputError, match="are not those that were computed"):
            way(copy)


def test_who_writes_beside_us_is_not_taken_for_an_editor(small_store, tmp_path, monkeypatch):
    """A result that is written between the look at values and the look at seals."""
    copy = tmp_path / "r.db"
    copy.write_bytes(small_store.read_bytes())
    own = store_module._seals

    def then_another_writes(db, *which):
        found = own(db, *which)
        with closing(sqlite3.connect(copy)) as other:
            other.execute("INSERT INTO seals VALUES ('another', 'seal')")
            other.commit()
        return found

    with Store.open(copy) as kept:  # the log of a process that writes
        kept.rows("SELECT 1 FROM seals")
        monkeypatch.setattr(store_module, "_seals", then_another_writes)
        store_module.check(copy)


def test_the_schema_is_documented():
    for table in (*TABLES, "seals"):
        assert f"CREATE TABLE {table} (" in SCHEMA
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "testbed.md").read_text()
    for table in (*TABLES, "seals"):
        assert f"`{table}`" in page


def test_what_made_a_result_is_kept_without_names_of_hosts(small_store):
    import getpass
    import platform

    with Store.read(small_store) as store:
        (text,) = {row[0] for row in store.rows("SELECT versions FROM environments")}
        assert set(json.loads(text)) == {
            "bracketz",
            "jax",
            "jaxlib",
            "numpy",
            "python",
            "system",
            "cores",
            "commit",
            "processor",
            "load",
        }
        dump = "\n".join(store._db.iterdump())
    assert str(small_store.parent) not in dump
    if len(platform.node()) > 3:
        assert platform.node() not in dump
    assert f"/{getpass.getuser()}/" not in dump
