"""Values that are no numbers: a failed task among others, in what is run now and in old stores."""

import json
import math
import sys

import pytest
from small_experiment import SMALL

from bracketz import NumericalError
from bracketz.cli import main
from bracketz.estimators import base
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis.status import status
from bracketz.testbed.report.output import export, write
from bracketz.testbed.run import execute as executing
from bracketz.testbed.run.runner import Ended, in_process, run_experiment
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.spec.tasks import expand
from bracketz.testbed.store.store import Store, TaskResult

SPEC = parse(SMALL)
TASKS = list({entry.task.id: entry.task for entry in expand(SPEC)}.values())


def result(task, value=None):
    """Four plausible values; ``value`` in place of the third."""
    side = {"reverse-ais": "upper", "nested": "none"}.get(task.estimator, "lower")
    values = [-20.0 - 0.1 * trial + (side == "upper") for trial in range(task.trials)]
    if value is not None:
        values[2] = value
    return TaskResult(tuple(values), side, {}, 0.2, 1.0, "1 x cpu", {"bracketz": "0"})


def old_store(path, bad):
    """As a version that kept everything has written it; ``bad`` gives a task's odd value."""
    with Store.open(path, create=True) as store:
        store.register(SPEC, expand(SPEC))
        for task in TASKS:
            assert store.claim(task.id)
            store.finish(task.id, result(task, bad(task)))
    return path


def one_of_each(task):
    """A truth, a rung of a curve, and an infinity."""
    return {
        ("reverse-ais", "low-rank", 300, 7): math.nan,
        ("ais", "clustering", 10, 0): math.nan,
        ("lw", "clustering", 64, 0): -math.inf,
    }.get((task.estimator, task.model, task.rung, task.data_seed))


@pytest.fixture
def odd(tmp_path, without_figures):
    return old_store(tmp_path / "odd.db", one_of_each)


def test_an_old_store_says_what_failed(odd):
    found = status(odd)
    assert (found["tasks"], found["failed"], found["done"]) == (len(TASKS), 3, len(TASKS) - 3)
    assert {(f["curve"], f["rung"]) for f in found["failures"]} == {
        ("reverse-ais", 300),
        ("ais", 10),
        ("lw", 64),
    }
    assert {f["message"] for f in found["failures"]} == {"a trial gave no number"}
    # A data set whose truth has failed is left out; the others keep theirs.
    assert [(t["problem"], t["data_seed"]) for t in found["truth"]] == [
        ("clustering", 0),
        ("rank one", 0),
    ]


def test_measures_skip_it_and_the_report_says_so(odd, tmp_path):
    frames = read_frames(odd)
    summary = measures.summary(frames)
    assert not (
        (summary.curve == "ais") & (summary.problem == "clustering") & (summary.rung == 10)
    ).any()
    assert summary["mean"].notna().all() and summary["mean"].abs().max() < 30
    write(frames, tmp_path / "report")
    assert "<strong>3 failed</strong>" in (tmp_path / "report" / "report.html").read_text()
    export(frames, tmp_path / "export", "both")
    assert (tmp_path / "export" / "tasks.csv").read_text().count("a trial gave no number") >= 3


@pytest.mark.parametrize("words", [("status",), ("report", "--out", "r"), ("export", "--out", "e")])
def test_commands_show_how_many_failed(odd, tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    for as_json in (False, True):
        more = ("--json", "--force") if words[0] == "export" and as_json else ("--json",) * as_json
        argv = ["bracketz", "experiment", *words, "--store", str(odd), *more]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        assert stop.value.code == 0 and out.err == ""
        assert (json.loads(out.out)["failed"] == 3) if as_json else ("3 " in out.out)
        assert as_json or "failed" in out.out


def test_nothing_but_failures_is_one_sentence(tmp_path):
    path = old_store(tmp_path / "nan.db", lambda task: math.nan)
    assert status(path)["failed"] == len(TASKS)
    with pytest.raises(NumericalError, match=f"{len(TASKS)} tasks failed, the first, ais on"):
        write(read_frames(path), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_running_again_replaces_what_was_no_number(odd):
    def executor(tasks, claim, watcher):
        for task in tasks:
            assert one_of_each(task) is not None and claim(task)
            failed = task.estimator == "lw"
            yield Ended(task, None if failed else result(task), "broken" if failed else None)

    with Store.open(odd) as store:
        standing = run_experiment(SPEC, store, executor)
        assert (standing.ran, standing.failed, standing.done) == (3, 1, len(TASKS) - 1)
        assert store.rows("SELECT count(*) FROM trials WHERE log_ml IS NULL") == [(0,)]
    assert [f["message"] for f in status(odd)["failures"]] == ["broken"]


def test_a_task_without_a_number_fails_and_the_rest_goes_on(tmp_path, monkeypatch):
    """In the process itself: not a number in one estimator, a weight of zero in another."""

    class Answer:
        seconds, side, details = type("", (), {"run": 1.0, "compile": 0.0}), "lower", {}
        log_ml_trials = (-3.0,)

    def fake(model, data, estimator, **_):
        if estimator.name == "nested":
            raise NumericalError("the arithmetic broke: nested gave a log evidence of nan")
        answer = Answer()
        answer.log_ml_trials = (-3.0, -math.inf) if estimator.name == "lw" else (-3.0, -3.5)
        return answer

    monkeypatch.setattr(base, "estimate", fake)
    monkeypatch.setattr(executing, "_problem", lambda task: (None, None))
    with Store.open(tmp_path / "new.db", create=True) as store:
        standing = run_experiment(SPEC, store, in_process)
        bad = sum(task.estimator in ("nested", "lw") for task in TASKS)
        assert (standing.failed, standing.done) == (bad, len(TASKS) - bad)
    assert {f["message"] for f in status(tmp_path / "new.db")["failures"]} == {
        "NumericalError: the arithmetic broke: nested gave a log evidence of nan",
        "NumericalError: a trial of lw gave -inf, and measures need numbers",
    }
