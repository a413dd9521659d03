"""A toy tool on a toy problem, one file each: rows of every kind, resumed, judged and reported."""

import dataclasses
import json
import os
import time
from pathlib import Path

import pandas as pd
import pytest
from toys import PROBLEM, TOOL

from bracketz.errors import InputError
from bracketz.testbed.league import environments, report
from bracketz.testbed.league.catalogue import catalogue
from bracketz.testbed.league.plan import PRESETS, plan
from bracketz.testbed.league.process import Limits
from bracketz.testbed.league.run import LOST, run_league
from bracketz.testbed.league.store import Store

LIMITS = Limits(seconds=20.0, memory=4.0)
QUIET = ["default", "wrong", "warns", "raises", "nothing", "eats", "dies"]

ROW = {"tool": "toy-tool", "setting": "default", "settings": {}, "problem": "toy",
       "suite": "league", "data_seed": 0, "data": "", "seed": 0, "status": "done", "log_z": 0.0,
       "message": None, "wall_seconds": 0.0}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toy_problem.py").write_text(PROBLEM)
    (folder / "toy_tool.py").write_text(TOOL)
    return folder / "toy_problem.py", folder / "toy_tool.py"


@pytest.fixture(scope="module")
def league(files, tmp_path_factory):
    """(catalogue, runs, path of a store with every row)."""
    known = catalogue(files)
    runs = plan(
        known, PRESETS["full"], tools=["toy-tool"], problems=["toy"], settings=QUIET, datasets=1
    )
    path = tmp_path_factory.mktemp("league") / "league.db"
    with Store(path, create=True) as store:
        standing = run_league(runs, store, LIMITS)
    assert standing.done == standing.ran == standing.total == len(QUIET)
    return known, runs, path


@pytest.fixture(scope="module")
def rows(league):
    with Store(league[2]) as store:
        return store.rows().set_index("setting", drop=False)


@pytest.mark.parametrize(
    "setting, status, message",
    [
        ("default", "done", None),
        ("raises", "failed", "ValueError: no luck"),
        ("nothing", "no answer", "the value is nan"),
        ("eats", "memory", "not enough memory within the limit"),
        ("dies", "killed", "by SIGKILL"),
    ],
)
def test_whatever_happens_is_a_row(rows, setting, status, message):
    assert (rows.status[setting], rows.message[setting]) == (status, message)


def test_a_row_says_what_made_it(rows):
    row = rows.loc["default"]
    assert row.calls == 20_000 and row.seconds > 0 and row.cpu_seconds > 0
    assert row.versions["numpy"] and row.settings == {"draws": 20_000}
    assert row.limit_seconds == LIMITS.seconds and row.cores == 1
    assert rows.warnings["warns"] == ["beware"] and rows.warnings["default"] == []


def test_a_run_that_is_lost_takes_no_other_with_it(league, tmp_path):
    """A worker that died is one run to make another day; a tool that is not ready is all of its."""
    _, runs, _ = league

    def executor(due):
        for k, one in enumerate(due):
            yield one, LOST if k == 0 else None if k == 2 else {"run": one.key} | ROW

    with Store(tmp_path / "league.db", create=True) as store:
        standing = run_league(runs, store, LIMITS, executor=executor)
    assert (standing.lost, standing.ran, standing.done) == (1, 1, 1)
    assert standing.missing == ("toy-tool",)


def test_a_tool_that_lacks_something_is_not_run(league, tmp_path, monkeypatch):
    """And has no rows that count against it."""
    known, runs, _ = league
    poor = dataclasses.replace(known.tools["toy-tool"], missing=lambda: "not installed: get it")
    assert environments.python_of(poor) and environments.ready(poor) is None
    asked = [dataclasses.replace(run, tool=poor) for run in runs]
    with Store(tmp_path / "league.db", create=True) as store:
        standing = run_league(asked, store, LIMITS)
        assert not store.done()
    assert (standing.ran, standing.missing) == (0, ("toy-tool",))


def test_another_likelihood_is_another_run(league, files, tmp_path):
    """On the same data: the problem's file is in the key."""
    _, runs, _ = league
    (tmp_path / "toy_problem.py").write_text(PROBLEM.replace("theta), axis", "1.0 * theta), axis"))
    known = catalogue([tmp_path / "toy_problem.py", files[1]])
    other = dataclasses.replace(runs[0], problem=known.problem("toy"))
    assert other.key("data", LIMITS) != runs[0].key("data", LIMITS)
    assert runs[0].key("data", LIMITS) == runs[0].key("data", LIMITS)


def test_what_failed_can_be_made_again(league):
    with Store(league[2]) as store:
        assert len(store.done(("failed", "killed"))) == 2 and len(store.done()) == len(QUIET)


def test_what_has_a_row_is_not_run_again(league):
    _, runs, path = league
    with Store(path) as store:
        standing = run_league(runs, store, LIMITS)
        assert (standing.done, standing.ran) == (len(QUIET), 0)
        stopped = run_league(runs, store, Limits(seconds=21.0), stop=lambda: True)
    assert (stopped.done, stopped.ran) == (0, 0)  # another limit is another run


def test_a_tool_that_takes_too_long_ends_with_its_children(files, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_CHILD", str(tmp_path / "child"))
    known = catalogue(files)
    runs = plan(known, PRESETS["full"], tools=["toy-tool"], problems=["toy"], settings=["sleeps"],
                datasets=1)  # fmt: skip
    with Store(tmp_path / "league.db", create=True) as store:
        run_league(runs, store, Limits(seconds=3.0))
        row = store.rows().iloc[0]
    assert row.status == "timeout" and row.message == "no answer in 3 s"
    child = Path("/proc") / (tmp_path / "child").read_text()
    for _ in range(50):
        if not child.exists() or "Z" in (child / "stat").read_text().split()[2]:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child lives")


def test_rows_are_judged_by_the_truth(league, rows):
    known, _, _ = league
    truths = report.truths_of(known, rows)
    found = report.tables(rows.reset_index(drop=True), truths)
    runs = found["runs"].set_index("setting")
    assert abs(runs.off["default"]) < 0.05 and runs.covers["default"] and not runs.lies["default"]
    assert runs.off["wrong"] == pytest.approx(2.0, abs=0.05) and runs.lies["wrong"]
    # A warning is what tells a failure from a silent one.
    assert runs.silent["wrong"] and not runs.silent["warns"] and not runs.silent["raises"]
    table = found["tools"].set_index("setting")
    assert table.near["default"] == 1.0 and table.near["raises"] == 0.0
    assert table.failed["dies"] == 1 and table.ratio["wrong"] > 3
    reached = found["seconds"].iloc[0]
    assert reached["seconds_to_0.1"] == runs.seconds["default"]


def test_the_report_shows_every_row(league, rows, tmp_path):
    known, _, _ = league
    frame = rows.reset_index(drop=True)
    written = report.write(frame, known, tmp_path / "out")
    names = {str(Path(name).relative_to(tmp_path / "out")) for name in written}
    assert {"index.html", "runs.csv", "tools/toy-tool.html", "league.png"} <= names
    assert len(pd.read_csv(tmp_path / "out" / "runs.csv")) == len(QUIET)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "sortable" in page and "{{" not in page and "http:" not in page
    assert "by SIGKILL" in (tmp_path / "out" / "tools" / "toy-tool.html").read_text()
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["rows"] == len(QUIET)
    assert {"documented.csv", "costs.csv"} <= names
    # What a tool's file says of its settings is on its page.
    assert (
        "with other settings, every way to fail"
        in (tmp_path / "out" / "tools" / "toy-tool.html").read_text()
    )
    # Its own files it replaces; where nobody answered there is a page as well.
    report.write(frame[frame.status != "done"], known, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    with pytest.raises(InputError, match="was not written by bracketz"):
        report.write(frame, known, tmp_path / "mine")


def test_what_is_neither_tool_nor_problem_is_refused(tmp_path, files):
    (tmp_path / "odd.py").write_text("x = 1\n")
    with pytest.raises(InputError, match="neither a problem"):
        catalogue([tmp_path / "odd.py"])
    (tmp_path / "half.py").write_text("TOOL = 'half'\n")
    with pytest.raises(InputError, match="does not define PACKAGES"):
        catalogue([tmp_path / "half.py"])
    with pytest.raises(InputError, match="'toy', which is taken"):
        catalogue([files[0], files[0]])


def test_every_tool_has_a_default_and_a_lock_of_exact_versions():
    for tool in catalogue().tools.values():
        assert next(iter(tool.settings)) == "default", tool.name
        if tool.lock is not None:
            lines = tool.lock.read_text().split()
            assert lines and all("==" in line and "/" not in line for line in lines), tool.name


def test_an_environment_counts_once_it_is_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("BRACKETZ_LEAGUE", str(tmp_path))
    tool = catalogue().tool("dynesty")
    ran = []

    def pretend(command, _):
        ran.append(command)
        (tmp_path / "dynesty").mkdir(exist_ok=True)

    monkeypatch.setattr(environments, "_run", pretend)
    assert environments.python_of(tool) is None
    python = environments.install(tool)
    assert [command[2] for command in ran] == ["venv", "pip"] and str(tool.lock) in ran[1]
    assert environments.python_of(tool) == python == tmp_path / "dynesty" / "bin" / "python"
    environments.install(tool)
    assert len(ran) == 2
    # Another lock is another environment.
    mark = tmp_path / "dynesty" / environments.MARK
    mark.write_text(json.dumps({"tool": "dynesty", "lock": "older"}))
    assert environments.python_of(tool) is None


def test_failures_of_pip_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"^the environment of dynesty cannot be made: gone$"):
        environments._run(
            ["sh", "-c", "echo first >&2; echo gone >&2; exit 3"], catalogue().tool("dynesty")
        )
    assert os.listdir(tmp_path) == []
