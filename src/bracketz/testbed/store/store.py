"""Results on disk: SQLite with a write-ahead log. Several processes may write; a kill loses nothing
that was done.

A result is written in one transaction, so a task is either done with all its trials or not at all.
Who runs a task says so in the task's row; the claim of a process that died, or of another machine
that has been silent for ``owner.SILENCE`` seconds, is anybody's to take. Two processes that both
run a task do no harm: the first one's values stay, and the second's are the same bits.
"""

import hashlib
import json
import os
import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bracketz.errors import InputError
from bracketz.testbed.spec.experiment import Spec
from bracketz.testbed.spec.tasks import Entry, Task
from bracketz.testbed.store.owner import alive, this_process
from bracketz.testbed.store.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    NO_NUMBER,
    SCHEMA,
    TABLES,
    VERSION,
)


@dataclass(frozen=True)
class TaskResult:
    """What running a task gives."""

    values: tuple[float, ...]
    side: str
    details: dict[str, tuple[float, ...]]
    run_seconds: float
    compile_seconds: float
    device: str
    versions: dict[str, Any]


class Store:
    """An open store. ``Store.open`` refuses a file that is not one, and leaves it as it was."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path = path
        self._db = connection
        self.owner = this_process()

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False) -> "Store":
        """To write. With ``create`` a file that does not exist is made; one of an older format is
        brought up to date."""
        path = Path(path)
        if create and not path.exists():
            _create(path)
        check(path)
        store = cls(path, _connect(path, "rw"))
        if store._format() < VERSION:
            store._migrate()
        return store

    @classmethod
    def read(cls, path: str | Path) -> "Store":
        """To look at only: the file and its folder stay as they are."""
        check(Path(path))
        return cls(Path(path), _connect(Path(path), _reading(Path(path))))

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at once, so that it cannot be refused
        half-way."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:  # SQLite takes some back itself: of a full disk, say
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise InputError(
                f"cannot write to {self.path}: {error}; check the disk and its rights"
            ) from None

    def _format(self) -> int:
        return self.rows("PRAGMA user_version")[0][0]

    def _migrate(self) -> None:
        with self._write() as db:
            for older in range(self._format(), VERSION):  # none: another process was faster
                for statement in MIGRATIONS[older]:
                    db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")

    def rows(self, query: str, *values) -> list[tuple]:
        return self._db.execute(query, values).fetchall()

    # An experiment and its tasks.

    def register(self, spec: Spec, entries: list[Entry]) -> int:
        """Enter the experiment and its tasks; what is already done stays done. Returns its
        number."""
        with self._write() as db:
            db.execute(
                "INSERT INTO experiments (name, spec, seed, paper, agree_within, updated) VALUES"
                " (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, seed = excluded.seed,"
                " paper = excluded.paper, agree_within = excluded.agree_within, updated ="
                " excluded.updated",
                (spec.name, spec.text, spec.seed, spec.paper, spec.agree_within, _now()),
            )
            (experiment,) = db.execute(
                "SELECT experiment FROM experiments WHERE name = ?", (spec.name,)
            ).fetchone()
            db.execute("DELETE FROM entries WHERE experiment = ?", (experiment,))
            for position, entry in enumerate(entries):
                task = entry.task
                db.execute(
                    "INSERT OR IGNORE INTO tasks (task, content, model, rows, columns, data_seed,"
                    " estimator, knob,"
                    " rung, trials, seed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        task.id,
                        task.to_json(),
                        task.model,
                        task.rows,
                        task.columns,
                        task.data_seed,
                        task.estimator,
                        task.knob,
                        task.rung,
                        task.trials,
                        task.seed,
                    ),
                )
                db.execute(
                    "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)",
                    (experiment, position, task.id, entry.problem, entry.label, entry.role),
                )
        return experiment

    def status(self, task: str) -> str:
        """pending, running (by a process that lives), done or failed."""
        status, who, beat, no_number = self.rows(
            f"SELECT status, owner, beat, {NO_NUMBER} FROM tasks WHERE task = ?", task
        )[0]
        if no_number:
            return "failed"
        return "pending" if status == "running" and not alive(who, beat) else status

    def claim(self, task: str, *, retry_failed: bool = False) -> bool:
        """Take a task to run; False if it is done, has failed, or somebody else is at it."""
        free = ("pending", "failed") if retry_failed else ("pending",)
        with self._write() as db:
            if self.status(task) not in free:
                return False
            for table in ("trials", "details", "timings", "seals"):  # of one that was no number
                db.execute(f"DELETE FROM {table} WHERE task = ?", (task,))
            db.execute(
                "UPDATE tasks SET status = 'running', owner = ?, beat = ?, message = NULL WHERE"
                " task = ?",
                (self.owner, time.time(), task),
            )
        return True

    def beat(self, tasks: list[str]) -> None:
        """Say that these tasks are still being run."""
        with self._write() as db:
            db.executemany(
                "UPDATE tasks SET beat = ? WHERE task = ? AND owner = ?",
                [(time.time(), task, self.owner) for task in tasks],
            )

    def release(self, task: str) -> None:
        """Give a task back that was not finished."""
        with self._write() as db:
            db.execute(
                "UPDATE tasks SET status = 'pending', owner = NULL, beat = NULL"
                " WHERE task = ? AND owner = ? AND status = 'running'",
                (task, self.owner),
            )

    def fail(self, task: str, message: str) -> None:
        with self._write() as db:
            db.execute(
                "UPDATE tasks SET status = 'failed', message = ?, owner = NULL, beat = NULL,"
                " finished = ?"
                " WHERE task = ? AND status <> 'done'",
                (message, _now(), task),
            )

    def finish(self, task: str, result: TaskResult) -> None:
        """Write a result, in one transaction; a result that is already there stays."""
        with self._write() as db:
            if db.execute("SELECT status FROM tasks WHERE task = ?", (task,)).fetchone() == (
                "done",
            ):
                return
            versions = json.dumps(result.versions, sort_keys=True)
            db.execute("INSERT OR IGNORE INTO environments (versions) VALUES (?)", (versions,))
            db.executemany(
                "INSERT INTO trials VALUES (?, ?, ?)",
                [(task, trial, value) for trial, value in enumerate(result.values)],
            )
            db.executemany(
                "INSERT INTO details VALUES (?, ?, ?, ?)",
                [
                    (task, i, name, v)
                    for name, vs in result.details.items()
                    for i, v in enumerate(vs)
                ],
            )
            db.execute(
                "INSERT INTO timings SELECT ?, ?, ?, ?, ?, environment FROM environments WHERE"
                " versions = ?",
                (
                    task,
                    result.compile_seconds,
                    result.run_seconds,
                    len(result.values),
                    result.device,
                    versions,
                ),
            )
            db.execute("INSERT INTO seals VALUES (?, ?)", (task, _seals(db, task)[task]))
            db.execute(
                "UPDATE tasks SET status = 'done', message = NULL, owner = NULL, beat = NULL, side"
                " = ?,"
                " finished = ? WHERE task = ?",
                (result.side, _now(), task),
            )

    def tasks(self, experiment: int) -> list[Task]:
        """The tasks of an experiment, each once, in the order they run."""
        rows = self.rows(
            "SELECT content FROM entries JOIN tasks USING (task) WHERE experiment = ?"
            " GROUP BY task ORDER BY min(position)",
            experiment,
        )
        return [Task.from_json(content) for (content,) in rows]


# Files.


def check(path: Path) -> None:
    """Refuse a file that is missing, foreign, of another version or damaged, without
    touching it."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise InputError(
            f"cannot open the store {path}: {error.strerror}; name another file"
        ) from None
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise InputError(f"{path} is not a bracketz store; name another file")
    if struct.unpack(">I", header[68:72])[0] != APPLICATION_ID:
        raise InputError(f"{path} is an SQLite file of another program; name another file")
    version = struct.unpack(">I", header[60:64])[0]
    if not 1 <= version <= VERSION:
        raise InputError(
            f"{path} is a store of format {version} and this bracketz reads up to {VERSION}; name"
            f" another file"
        )
    try:
        connection = _connect(path, _reading(path))
        try:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            edited = _edited(connection) if verdict == "ok" and "seals" in found else None
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        verdict, found, edited = str(error), set(), None
    if verdict != "ok" or not found >= set(TABLES):
        raise InputError(
            f"the store {path} is damaged; restore it from a copy, or name another file"
        )
    if edited is not None:
        raise InputError(
            f"values of task {edited} in the store {path} are not those that were computed; restore"
            " it from a copy, or name another file"
        )


def _edited(db: sqlite3.Connection) -> str | None:
    """A task whose values are not what its seal says, if there is one. In one transaction: values
    and seals are of one moment, whoever else is writing."""
    db.execute("BEGIN")
    try:
        found = _seals(db)
        seals = db.execute("SELECT task, seal FROM seals").fetchall()
    finally:
        db.execute("COMMIT")
    return next((task for task, seal in seals if found.get(task) != seal), None)


def _seals(db: sqlite3.Connection, task: str | None = None) -> dict[str, str]:
    """By task (all, or one): a hash of what determines its values, and of the values."""
    where, given = ("", ()) if task is None else (" WHERE task = ?", (task,))
    hashes = {
        name: hashlib.sha256(content.encode())
        for name, content in db.execute(f"SELECT task, content FROM tasks{where}", given)
    }
    for table, order in (("trials", "trial"), ("details", "name, trial")):
        for name, *row in db.execute(f"SELECT * FROM {table}{where} ORDER BY task, {order}", given):
            if name in hashes:
                hashes[name].update(repr(row).encode())
    return {name: found.hexdigest() for name, found in hashes.items()}


def _reading(path: Path) -> str:
    """A log of a process that writes, or was killed, belongs to the data; without one the file can
    be read as it lies."""
    return "ro" if Path(f"{path}-wal").exists() else "ro&immutable=1"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    quoted = str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file:{quoted}?mode={mode}", uri=True, timeout=60, isolation_level=None
    )
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _create(path: Path) -> None:
    """Make the file elsewhere and link it into place: nobody ever sees half a store."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; make it first")
    # SQLite would replay the log of a store that is gone into the new one.
    for leftover in (Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")):
        if leftover.exists() and not path.exists():  # else another process was faster
            raise InputError(
                f"{leftover} is left of a store that is gone; remove it, or name another file"
            )
    try:
        partial.unlink(missing_ok=True)
        connection = sqlite3.connect(partial, isolation_level=None)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.executescript(SCHEMA)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        try:
            os.link(partial, path)
        except FileExistsError:
            pass  # another process was faster
        except OSError:  # a file system without links
            os.replace(partial, path)
    except (OSError, sqlite3.OperationalError) as error:
        raise InputError(f"cannot make the store {path}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
