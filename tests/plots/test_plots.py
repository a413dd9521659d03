"""Every figure takes axes, returns the Figure, and leaves Matplotlib's backend alone."""

import dataclasses

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import bracketz as bz
from bracketz.check.pairs import Runs
from bracketz.core.results import Seconds
from bracketz.inference.comparison import Candidate, Comparison
from bracketz.inference.interval import Interval
from bracketz.plots.kit import calibration, crooks

MODEL = bz.Clustering(components=2)


@pytest.fixture(scope="module")
def answers():
    data = bz.simulate(MODEL, 6, 2)
    sandwich = bz.sandwich(MODEL, data, gap=1e-9, chains=4, first=8, max_effort=32)
    trials = bz.estimate(MODEL, data, bz.AIS(distributions=9), trials=4)
    observed = bz.evidence(MODEL, data.y, first=32, max_effort=32)
    # Moved and cut, since three programs would be compiled for it.
    without = dataclasses.replace(
        observed.shifted(-3.0), upper=None, interval=Interval(0.95, observed.lower - 4, None)
    )
    candidates = [
        Candidate(f"clustering {k}", "clustering", k, one)
        for k, one in ((1, observed), (2, without))
    ]
    compared = Comparison(tuple(candidates), 0.95, 0, 0, Seconds(1.0, 1.0))
    return {
        "sandwich": sandwich,
        "trials": trials,
        "compared": compared,
        "observed": observed,
    }


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


DRAW = {
    "sandwich": bz.plots.closing_bounds,
    "trials": bz.plots.trials,
    "compared": bz.plots.evidences,
    "observed": bz.plots.interval,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAW)
def test_a_figure_of_its_own_or_on_axes_handed_in(answers, kind):
    backend = matplotlib.get_backend()
    own = DRAW[kind](answers[kind])
    assert (
        isinstance(own, Figure)
        and len(own.axes) == 1
        and own.axes[0].get_xlabel() + own.axes[0].get_ylabel()
    )
    figure, ax = plt.subplots()
    assert DRAW[kind](answers[kind], ax=ax) is figure and ax.lines
    assert isinstance(answers[kind].plot(), Figure)
    assert matplotlib.get_backend() == backend


def test_several_sandwiches_side_by_side(answers):
    figure = bz.plots.closing_bounds_of_all([answers["sandwich"]] * 3)
    assert len(figure.axes) == 3


def test_pictures_of_the_kit():
    rng = np.random.default_rng(0)
    runs = Runs(rng.normal(-0.5, 1, (500, 1)), rng.normal(0.5, 1, (500, 1)), np.zeros(500))
    figure, axes = plt.subplots(1, 2)
    assert crooks("tempered path", runs, ax=axes) is figure
    assert isinstance(calibration(rng.normal(-1, 1, 99), rng.normal(1, 1, 99)), Figure)


def test_a_file_that_cannot_be_written_is_refused(answers, tmp_path):
    bz.plots.save_figure(answers["sandwich"].plot(), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
    for name, words in (("nowhere/a.png", "cannot save"), ("a.docx", "must end in .png")):
        with pytest.raises(bz.InputError, match=words):
            bz.plots.save_figure(answers["sandwich"].plot(), tmp_path / name)
    assert plt.get_fignums() == []


def test_increments_sum_to_the_log_weights(answers):
    """Of a path with fewer edges than cells every edge is kept."""
    look = answers["sandwich"].looks[-1]
    assert sum(look.trace.forward) == pytest.approx(np.mean(look.forward))
    assert sum(look.trace.reverse) == pytest.approx(np.mean(look.reverse))
    figure = bz.plots.increments(answers["sandwich"])
    above, below = figure.axes
    np.testing.assert_allclose(above.lines[1].get_ydata(), look.trace.forward)
    assert below.lines[-1].get_ydata()[-1] == pytest.approx(look.single_chain_gap)
    assert above.get_xticklabels()[-1].get_text() == "1"
    _, axes = plt.subplots(1, 2)
    assert bz.plots.increments(answers["sandwich"], ax=axes) is axes[0].figure


def test_increments_that_were_not_kept(answers):
    look = dataclasses.replace(answers["sandwich"].looks[-1], trace=None)
    with pytest.raises(bz.InputError, match="kept no increments: take a tempered path"):
        bz.plots.increments(dataclasses.replace(answers["sandwich"], looks=(look,)))
