"""Evidence of several models."""

import numpy as np

from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.style import LOWER, TRUTH, UPPER


def evidences(answer, ax=None):
    """A forest of intervals, the highest log evidence on top.

    A dot is the point estimate, the thick line the interval and the thin one what twins add to it.
    The lower end is certified and solid, the upper end conditional and hollow; an arrow says that
    there is no upper bound. What ends left of the dashed line is behind the best one's interval.

    Args:
        answer: a ``Comparison``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.compare([bz.Clustering(2), bz.Clustering(3)], y, twins=0)
        >>> bz.plots.evidences(answer).axes[0].get_xlabel()
        'log evidence  [nats]'
    """
    count = len(answer.candidates)
    figure, (axis,) = figure_and_axes(ax, width=6.4, height=1.2 + 0.42 * count)
    ends = [x for c in answer.candidates for x in (*c.range, c.log_ml) if np.isfinite(x)]
    reach = max(max(ends) - min(ends), 1.0)
    for row, c in enumerate(answer.candidates):
        found, whole = c.evidence.interval, c.range
        high = found.high
        if high is None:
            axis.annotate(
                "",
                xy=(found.low + 0.25 * reach, row),
                xytext=(found.low, row),
                arrowprops={"arrowstyle": "->", "color": UPPER, "ls": ":", "lw": 1.5},
            )
        else:
            axis.plot([whole.low, whole.high], [row, row], color=TRUTH, lw=1, alpha=0.6)
            axis.plot([found.low, high], [row, row], color=TRUTH, lw=4, alpha=0.35)
            axis.plot([high], [row], marker="d", mfc="white", color=UPPER, ms=6, ls="")
        axis.plot([found.low], [row], marker="d", color=LOWER, ms=6, ls="")
        axis.plot([c.log_ml], [row], marker="o", color="black", ms=4, ls="")
    if count > 1:
        axis.axvline(answer.best.range.low, color="black", lw=0.8, ls="--")
    axis.set_yticks(range(count), [c.name for c in answer.candidates], fontsize=9)
    axis.set_ylim(count - 0.5, -0.5)
    axis.locator_params(axis="x", nbins=5)  # labels of five digits stay apart
    axis.set_xlabel("log evidence  [nats]")
    for label, style in (
        ("certified lower end", {"marker": "d", "color": LOWER}),
        ("conditional upper end", {"marker": "d", "mfc": "white", "color": UPPER}),
        ("estimate", {"marker": "o", "color": "black", "ms": 4}),
    ):
        axis.plot([], [], ls="", label=label, **style)
    place = {"loc": "lower center", "bbox_to_anchor": (0.35, 1.0), "ncols": 3}
    axis.legend(frameon=False, fontsize=8, handletextpad=0.2, **place)
    axis.margins(x=0.06)
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure
