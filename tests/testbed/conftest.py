"""One run of the small experiment for all tests here."""

import pytest
from small_experiment import SMALL

from bracketz.engine import run as loop
from bracketz.testbed.run.runner import run_experiment
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.store.store import Store


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """(store of the small experiment, run without disturbance; how many programs it traced)."""
    path = tmp_path_factory.mktemp("small") / "results.db"
    before = loop.trace_count
    with Store.open(path, create=True) as store:
        outcome = run_experiment(parse(SMALL), store)
    assert outcome.complete and outcome.ran == outcome.total
    return path, loop.trace_count - before


@pytest.fixture(scope="session")
def small_store(small_run):
    """The small experiment, run without disturbance."""
    return small_run[0]


@pytest.fixture(scope="session", autouse=True)
def few_redrawn_experiments():
    """Reports here are about their pages and tables: two, not fifty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bracketz.testbed.report.output.RESAMPLES", 2)
        yield


@pytest.fixture
def without_figures(monkeypatch):
    """For tests of the page and the tables alone: drawing takes most of the time of writing
    them."""
    from bracketz.plots import curves as figures

    monkeypatch.setattr(figures, "draw", lambda *_: [])
