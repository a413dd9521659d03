"""Pictures of what the checks saw."""

from collections.abc import Sequence

import numpy as np

from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.style import LOWER, UPPER

FORWARD, REVERSE, GREY = LOWER, UPPER, "#555555"


def probability_plots(panels: Sequence, ax=None):
    """Distribution functions of every statistic, one way of drawing against the other: the diagonal
    if both agree.

    ``panels`` are what the Geweke checks saw; ``ax`` is one axes per panel.
    """
    figure, axes = figure_and_axes(ax, width=4.6, height=4.4, count=len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        n = panel.num_chains
        far = np.argsort(np.abs(panel.chains - panel.forward).max(axis=0))
        for j in far:
            axis.plot(panel.forward[:, j], panel.chains[:, j], color=GREY, lw=0.7, alpha=0.35)
        worst = far[-1]
        axis.plot(
            panel.forward[:, worst],
            panel.chains[:, worst],
            color=REVERSE,
            lw=1.6,
            label=f"furthest: {panel.names[worst]}",
        )
        # The 99.9 % band of Kolmogorov's test for one statistic.
        band = 1.95 / np.sqrt(n)
        axis.fill_between(
            [0, 1],
            [-band, 1 - band],
            [band, 1 + band],
            color=FORWARD,
            alpha=0.12,
            lw=0,
            label="99.9 % band",
        )
        axis.set(
            xlim=(0, 1),
            ylim=(0, 1),
            xlabel="forward draws",
            ylabel="successive-conditional chains",
            title=panel.title,
        )
        axis.set_aspect("equal")
        axis.legend(frameon=False, fontsize=8, loc="upper left")
    return _tidy(figure)


def crooks(name: str, runs, ax=None):
    """Both work distributions, and the log of their ratio against the straight line it must follow.

    ``runs`` hold the values of both directions; ``ax`` is two axes.
    """
    figure, (left, right) = figure_and_axes(ax, width=4.6, height=4.0, count=2)
    centre = (
        runs.truth if runs.truth is not None else 0.5 * (runs.forward[:, 0] + runs.reverse[:, 0])
    )
    forward, reverse = runs.forward[:, 0] - centre, runs.reverse[:, 0] - centre
    low, high = np.quantile(np.concatenate([forward, reverse]), [0.005, 0.995])
    edges = np.linspace(low, high, 31)
    middle = 0.5 * (edges[1:] + edges[:-1])
    counts = [np.histogram(values, edges)[0] for values in (forward, reverse)]
    for count, colour, label in zip(
        counts, (FORWARD, REVERSE), ("forward", "reverse"), strict=True
    ):
        left.stairs(count, edges, color=colour, fill=True, alpha=0.35)
        left.stairs(count, edges, color=colour, lw=1.4, label=label)
    left.axvline(0, color=GREY, lw=1, ls="--")
    left.set(xlabel="estimate - truth  [nats]", ylabel="data sets", title=name)
    left.legend(frameon=False)
    seen = (counts[0] >= 5) & (counts[1] >= 5)
    ratio = np.log(counts[1][seen]) - np.log(counts[0][seen])
    error = np.sqrt(1 / counts[0][seen] + 1 / counts[1][seen])
    right.errorbar(
        middle[seen],
        ratio,
        2 * error,
        fmt="o",
        ms=4,
        color=FORWARD,
        capsize=2,
        label="counts, ± 2 s.e.",
    )
    ends = (middle[seen].min() - 0.3, middle[seen].max() + 0.3) if seen.any() else (low, high)
    right.plot(
        ends, ends, color=GREY, ls="--", lw=1, label="Crooks: log q_B/q_F = l - log evidence"
    )
    right.set(
        xlabel="l - log evidence  [nats]", ylabel="log (reverse / forward)", title="the whole range"
    )
    right.legend(frameon=False, fontsize=8)
    return _tidy(figure)


def calibration(lower, upper, ax=None):
    """How often each bound passes the truth by b, against e^-b."""
    figure, (axis,) = figure_and_axes(ax, width=5.2, height=4.0)
    margin = np.linspace(0, 3, 61)
    for values, colour, label in (
        (lower, FORWARD, "lower bound"),
        (-upper, REVERSE, "upper bound"),
    ):
        axis.plot(
            margin,
            [np.mean(values > b) for b in margin],
            color=colour,
            lw=1.8,
            label=f"{label} beyond the truth by b",
        )
    axis.plot(margin, np.exp(-margin), color=GREY, ls="--", lw=1, label="allowed: e^-b")
    axis.set(xlabel="b  [nats]", ylabel="share of data sets", ylim=(0, 1))
    axis.legend(frameon=False, fontsize=8)
    return _tidy(figure)


def _tidy(figure):
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure
