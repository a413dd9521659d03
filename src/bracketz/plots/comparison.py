"""Evidence of several models."""

import numpy as np

from bracketz.plots.canvas import figure_and_axes

#: Colour and marker of a model, the same in every picture; readable in grey by the marker.
MODELS = {
    "clustering": ("#0072B2", "o"),
    "low-rank": ("#D55E00", "s"),
    "binary-attributes": ("#009E73", "^"),
}
OTHERS = (("#CC79A7", "D"), ("#333333", "v"), ("#E69F00", "P"))


def evidences(answer, ax=None):
    """Lower bounds against the number of components, one line per model.

    Whiskers are margins found by simulation.

    Args:
        answer: a ``Comparison``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.compare(y, [bz.InferredClustering(2)], chains=2, first=8, max_effort=8)
        >>> bz.plots.evidences(answer).axes[0].get_xlabel()
        'components'
    """
    figure, (axis,) = figure_and_axes(ax, width=6.4, height=4.2)
    names = list(dict.fromkeys(c.model for c in answer.candidates))
    others = iter(OTHERS * len(names))
    sizes = [c.components or 0 for c in answer.candidates]
    step = 0.025 * (
        max(sizes) - min(sizes) or 1
    )  # models side by side, so that no whisker hides another
    for place, name in enumerate(names):
        colour, marker = MODELS.get(name) or next(others)
        own = sorted(
            (c for c in answer.candidates if c.model == name), key=lambda c: c.components or 0
        )
        x = np.array([c.components or 0 for c in own]) + step * (place - (len(names) - 1) / 2)
        y = np.array([c.lower for c in own])
        axis.plot(x, y, marker=marker, color=colour, lw=1.6, ms=6, label=name)
        margins = np.array([c.margin or 0.0 for c in own])
        axis.vlines(x, y, y + margins, color=colour, lw=1)
        axis.plot(x[margins > 0], (y + margins)[margins > 0], "_", color=colour, ms=9)
        if own and answer.best in own:
            at = own.index(answer.best)
            axis.annotate(
                "best",
                (x[at], y[at]),
                xytext=(-8, 8),
                textcoords="offset points",
                ha="right",
                fontsize=9,
            )
    axis.set_xticks(sorted({c.components for c in answer.candidates if c.components is not None}))
    axis.set_xlabel("components")
    axis.set_ylabel("log evidence, lower bound  [nats]")
    whiskers = "; whiskers: margin found by simulation" if answer.decided is not None else ""
    axis.set_title(f"evidence of {len(answer.candidates)} models{whiskers}", fontsize=11)
    axis.margins(0.08)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    return figure
