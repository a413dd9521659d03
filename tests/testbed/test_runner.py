"""Running: finished work is skipped, failures do not stop the rest, kills change no bit."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from small_experiment import BARE, SMALL, THRICE, values

from bracketz.testbed.run import execute as execute_module
from bracketz.testbed.run import runner
from bracketz.testbed.run.runner import run_experiment
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.store.store import Store


def test_rerunning_continues_and_extending_runs_only_what_is_new(small_store, tmp_path):
    copy = tmp_path / "r.db"
    copy.write_bytes(small_store.read_bytes())
    with Store.open(copy) as store:
        assert run_experiment(parse(SMALL), store).ran == 0
        longer = parse(SMALL.replace("ladder = [64, 640]", "ladder = [64, 640, 1280]"))
        outcome = run_experiment(longer, store)
        assert (
            outcome.ran == 2 and outcome.complete
        )  # one more rung, on the two data sets of one model
    assert set(values(small_store)) < set(values(copy))


def test_an_experiment_compiles_each_program_once(small_run):
    programs = {entry.task.program for entry in runner.expand(parse(SMALL))}
    assert small_run[1] <= len(programs)


def test_a_failing_task_is_recorded_and_the_rest_goes_on(tmp_path, monkeypatch):
    def refuse(task, session=None):
        if task.estimator == "lw":
            raise RuntimeError("the roof\nis on fire")
        return execute_module.execute(task, session)

    monkeypatch.setattr(runner, "execute", refuse)
    with Store.open(tmp_path / "r.db", create=True) as store:
        outcome = run_experiment(parse(SMALL), store)
        assert (outcome.failed, outcome.done) == (5, outcome.total - 5)
        messages = store.rows("SELECT DISTINCT message FROM tasks WHERE status = 'failed'")
        assert messages == [("RuntimeError: the roof",)]
        monkeypatch.undo()
        again = run_experiment(parse(SMALL), store)
        assert again.complete and again.ran == 5


def test_ctrl_c_gives_the_task_back(tmp_path, monkeypatch):
    calls = []

    def interrupt(task, session=None):
        calls.append(task)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return execute_module.execute(task, session)

    monkeypatch.setattr(runner, "execute", interrupt)
    with Store.open(tmp_path / "r.db", create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(parse(SMALL), store)
        counts = dict(store.rows("SELECT status, count(*) FROM tasks GROUP BY status"))
    assert counts["done"] == 2 and "running" not in counts


@pytest.mark.slow
def test_latency_is_measured_on_one_trial_alone(tmp_path):
    from bracketz.testbed import read_frames
    from bracketz.testbed.analysis import measures

    one = BARE[: BARE.index('[[estimators]]\nestimator = "reverse-ais"')]
    spec = parse(one.replace("trials = 4", "trials = 4\nlatency = true"))
    with Store.open(tmp_path / "r.db", create=True) as store:
        assert run_experiment(spec, store).complete
    frames = read_frames(tmp_path / "r.db")
    alone = frames.tasks[frames.tasks.role == "latency"]
    assert set(alone.trials) == {1} and set(alone.chains) == {1}
    table = measures.summary(frames)
    assert (table.latency > 0).all() and (table.trials == 4).all()


# Long enough that kills hit tasks under way.
SLOWER = THRICE.replace("[10, 30, 300]", "[300, 3000, 4000, 5000, 6000, 7000, 8000]")


@pytest.mark.slow
def test_killed_three_times_at_random_and_resumed_the_values_are_the_same_bits(tmp_path):
    spec, killed, calm = tmp_path / "spec.toml", tmp_path / "killed.db", tmp_path / "calm.db"
    spec.write_text(SLOWER)
    with Store.open(calm, create=True) as store:
        assert run_experiment(parse(SLOWER), store).complete
    command = [
        sys.executable,
        "-m",
        "bracketz",
        "experiment",
        "run",
        str(spec),
        "--store",
        str(killed),
        "--json",
    ]
    rng = random.Random(11)
    progress = [0]
    for more in (0, 1, 8):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # While it starts, compiles, or after a task or some: a random moment from there on.
        goal = progress[-1] + more
        _wait_until(lambda goal=goal: _done(killed) >= goal)
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL  # it was still at work
        progress.append(_done(killed))
    print("tasks done after each kill:", progress)
    assert progress == sorted(progress) and progress[-1] > 5  # what was done stays done
    with Store.open(killed) as store:
        assert run_experiment(parse(SLOWER), store).complete
    assert values(killed) == values(calm)


def _done(path) -> int:
    if not path.exists():
        return -1
    with Store.read(path) as store:
        return store.rows("SELECT count(*) FROM tasks WHERE status = 'done'")[0][0]


def _wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_share_an_experiment(tmp_path):
    """Both end with everything done, and each task was run by one of them."""
    spec, path = tmp_path / "spec.toml", tmp_path / "r.db"
    spec.write_text(THRICE)
    command = [
        sys.executable,
        "-m",
        "bracketz",
        "experiment",
        "run",
        str(spec),
        "--store",
        str(path),
        "--json",
    ]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(2)
    ]
    import json

    answers = [json.loads(process.communicate()[0]) for process in both]
    assert all(a["done"] == a["tasks"] for a in answers)
    assert sum(a["ran"] for a in answers) == answers[0]["tasks"]
    with Store.read(path) as store:
        (devices,) = {row[0] for row in store.rows("SELECT device FROM timings")}
    assert devices.startswith(f"{len(os.sched_getaffinity(0))} x ")
