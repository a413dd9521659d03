"""Both bounds closing."""

from collections.abc import Sequence

import numpy as np

from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.style import LOWER, TRUTH, UPPER


def closing_bounds(answer, ax=None):
    """Both bounds against effort: single chains as dots, the combined value as a line.

    Args:
        answer: a ``Sandwich``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, 6, 2), gap=4.0, chains=4)
        >>> bz.plots.closing_bounds(answer).axes[0].get_xlabel()
        'distributions'
    """
    figure, (axis,) = figure_and_axes(ax, width=4.4, height=3.6)
    efforts = np.array([rung.effort for rung in answer.rungs])
    for name, colour, marker, side, chains in (
        ("upper bound", UPPER, "v", "upper", "reverse"),
        ("lower bound", LOWER, "^", "lower", "forward"),
    ):
        line = np.array([getattr(rung, side) for rung in answer.rungs])
        for rung in answer.rungs:
            values = getattr(rung, chains)
            axis.plot(
                [rung.effort] * len(values), values, ".", color=colour, alpha=0.25, ms=3, lw=0
            )
        axis.plot(efforts, line, marker=marker, color=colour, lw=1.6, ms=5, label=name)
    axis.axhline(
        answer.log_ml, color=TRUTH, lw=1, ls="--", label=f"log evidence {answer.log_ml:.1f}"
    )
    axis.set_xscale("log", base=2)
    axis.set_xticks(efforts, [f"{e:,}" for e in efforts], rotation=45, fontsize=8)
    axis.minorticks_off()
    # Scale to the combined bounds; single chains far outside would squash what matters.
    top = max(max(r.upper, r.lower) for r in answer.rungs)
    bottom = min(min(r.upper, r.lower) for r in answer.rungs)
    pad = 0.12 * (top - bottom) + 1
    axis.set_ylim(bottom - pad, top + pad)
    axis.set_title(f"{answer.model}: gap {answer.gap:.2f} nats", fontsize=11)
    axis.set_xlabel(answer.unit)
    axis.set_ylabel("log evidence  [nats]")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="upper right")
    figure.tight_layout()
    return figure


def closing_bounds_of_all(answers: Sequence):
    """``closing_bounds`` of several sandwiches, side by side.

    Args:
        answers: sandwiches.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, 6, 2), gap=4.0, chains=4)
        >>> len(bz.plots.closing_bounds_of_all([answer, answer]).axes)
        2
    """
    figure, axes = figure_and_axes(None, width=4.4, height=3.6, count=len(answers))
    for axis, answer in zip(axes, answers, strict=True):
        closing_bounds(answer, ax=axis)
    for axis in axes[1:]:
        axis.set_ylabel("")
    figure.tight_layout()
    return figure
