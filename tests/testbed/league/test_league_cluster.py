"""Runs on a Dask cluster: the same numbers, every run a row, continued where they ended."""

import os

import pytest
from toys import PROBLEM, TOOL

from bracketz.errors import InputError
from bracketz.testbed.league.catalogue import catalogue
from bracketz.testbed.league.cluster import make_remotely, on, told
from bracketz.testbed.league.places import place
from bracketz.testbed.league.plan import PRESETS, plan
from bracketz.testbed.league.process import Limits
from bracketz.testbed.league.run import run_league, waiting
from bracketz.testbed.league.store import Store

LIMITS = Limits(seconds=20.0, memory=4.0)


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "toy_problem.py").write_text(PROBLEM)
    (tmp_path / "toy_tool.py").write_text(TOOL)
    known = catalogue([tmp_path / "toy_problem.py", tmp_path / "toy_tool.py"])
    return plan(
        known,
        PRESETS["full"],
        tools=["toy-tool"],
        problems=["toy"],
        settings=["default", "raises", "dies"],
        datasets=1,
    )


def test_workers_make_the_same_rows(runs, tmp_path):
    distributed = pytest.importorskip("distributed")
    with Store(tmp_path / "here.db", create=True) as store:
        run_league(runs, store, LIMITS)
        here = store.rows()
    with (
        distributed.Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client,
        Store(tmp_path / "there.db", create=True) as store,
    ):
        standing = run_league(runs, store, LIMITS, executor=on(client))
        there = store.rows()
        again = run_league(runs, store, LIMITS, executor=on(client))
    assert (standing.done, standing.ran, again.ran) == (3, 3, 0)
    same = ["run", "status", "message", "log_z", "error", "calls", "seed", "data"]
    assert there[same].astype(object).equals(here[same].astype(object))


def test_a_worker_with_another_version_refuses(runs):
    (due, *_) = waiting(runs, set(), LIMITS)
    with pytest.raises(InputError, match="another version of toy-tool or toy"):
        make_remotely(told(due._replace(key="0" * 24)))


def test_runs_side_by_side_have_cores_of_their_own():
    mine = sorted(os.sched_getaffinity(0))
    with place(1) as first, place(1) as second:
        assert {*first, *second} <= set(mine) and len(first) == len(second) == 1
        if len(mine) > 1 and first == [mine[-1]]:  # nobody else's league holds it
            assert second != first
    with place(len(mine) + 1) as all_of_them:
        assert all_of_them == mine
