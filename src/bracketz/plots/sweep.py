"""Log evidence against a setting of the prior."""

import numpy as np

from bracketz.plots.canvas import figure_and_axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#333333", "#E69F00")


def sweep(answer, ax=None):
    """One curve per model, its interval as a band: lower edge certified, upper edge conditional.

    Args:
        answer: a ``Sweep``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.sweep(lambda v: bz.Clustering(2, v), "center_variance", [0.5, 2], y)
        >>> bz.plots.sweep(answer).axes[0].get_xlabel()
        'center_variance'
    """
    figure, (axis,) = figure_and_axes(ax, width=5.4, height=3.6)
    for k, name in enumerate(answer.names):
        colour = COLOURS[k % len(COLOURS)]
        middle, low, high = answer.curve(name)
        axis.plot(answer.values, middle, marker="o", ms=4, color=colour, label=name)
        known = np.where(np.isfinite(high), high, middle)
        axis.fill_between(answer.values, low, known, color=colour, alpha=0.15, lw=0)
        axis.plot(answer.values, high, color=colour, lw=0.8, ls="--")
    if min(answer.values) > 0 and max(answer.values) / min(answer.values) > 5:
        axis.set_xscale("log")
    axis.set_xlabel(answer.parameter)
    axis.set_ylabel("log evidence  [nats]")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure
