"""Figures: names that do not overlap, looks that differ without colour, and no error where there is
no truth."""

import itertools
import random

import numpy as np
import pytest

from bracketz.plots import curves as figures
from bracketz.plots.labels import spread
from bracketz.plots.style import SPECIAL, STYLES, order, style
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import measures


def test_names_are_moved_apart_and_no_further_than_needed():
    rng = random.Random(2)
    for _ in range(300):
        n = rng.randint(1, 14)
        wanted = [rng.gauss(0.5, rng.choice([0.01, 0.3])) for _ in range(n)]
        placed = spread(wanted, 0.05, 0.0, 1.0)
        ordered = np.sort(placed)
        assert (
            np.all(np.diff(ordered) >= 0.05 - 1e-12)
            and ordered[0] >= -1e-12
            and ordered[-1] <= 1 + 1e-12
        )
        assert np.all(np.argsort(placed, kind="stable") == np.argsort(wanted, kind="stable"))
    np.testing.assert_allclose(spread([0.2, 0.5, 0.9], 0.05, 0, 1), [0.2, 0.5, 0.9])
    np.testing.assert_allclose(
        spread([0.5, 0.5], 0.1, 0, 1), [0.45, 0.55]
    )  # as least squares has it
    assert len(spread([], 0.1, 0, 1)) == 0


def test_every_estimator_has_a_look_of_its_own_without_colour():
    from bracketz.estimators.registry import ESTIMATORS

    assert set(STYLES) == set(ESTIMATORS)
    looks = [
        (s.marker, s.symbol.endswith("open"), s.dashed)
        for s in (*STYLES.values(), *SPECIAL.values())
    ]
    assert len(set(looks)) == len(looks)
    assert len({s.name for s in STYLES.values()}) == len(STYLES)
    assert style("my ais", "ais").name == "my ais" and order(["mine", "lw", "ais"]) == [
        "ais",
        "lw",
        "mine",
    ]


def test_colours_stand_out_from_the_page():
    """WCAG contrast of at least 3 against the page, in both schemes."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a, b):
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for look in (*STYLES.values(), *SPECIAL.values()):
        assert contrast(look.colour, "#ffffff") >= 3 and contrast(look.dark, "#111418") >= 3, (
            look.name
        )


@pytest.fixture(scope="module")
def drawn(small_store, tmp_path_factory):
    """(the figures of the small experiment, still open; the files they were written to)."""
    from matplotlib import pyplot as plt

    kept = []
    pool = measures.pooled(measures.summary(read_frames(small_store)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "close", kept.append)
        files = figures.draw(pool, measures.ACCURATE, tmp_path_factory.mktemp("figures"))
    yield kept, files
    for figure in kept:
        plt.close(figure)


@pytest.mark.slow
def test_figures_of_a_real_experiment(drawn):
    from matplotlib.text import Text

    kept, files = drawn
    names = ["1-clustering-estimates", "2-clustering-mse", "3-rank-one-comparison"]
    assert sorted(f.name for f in files) == sorted(
        f"{n}.{k}" for n in names for k in ("pdf", "png", "svg")
    )
    assert all(f.stat().st_size > 5000 for f in files)
    assert [len(figure.axes) for figure in kept] == [4, 2, 3]
    for figure in kept:
        figure.canvas.draw()  # at this resolution, not at the last file's
        renderer = figure.canvas.get_renderer()
        for axis in figure.axes:
            assert axis.get_xscale() == "log"
            named = [t for t in axis.texts if t.get_position()[0] > 1]
            boxes = [
                Text.get_window_extent(t, renderer) for t in named
            ]  # without the line to the curve
            assert named and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.slow
def test_the_same_store_gives_the_same_svg(drawn, small_store, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FORMATS", ("svg",))
    pool = measures.pooled(measures.summary(read_frames(small_store)))
    again = {f.name: f.read_bytes() for f in figures.draw(pool, measures.ACCURATE, tmp_path)}
    assert again == {f.name: f.read_bytes() for f in drawn[1] if f.suffix == ".svg"}
    assert len(again) == 3
