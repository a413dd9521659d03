"""The trials of one estimator."""

import numpy as np

from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.style import LOWER, TRUTH


def trials(answer, ax=None):
    """Every trial of an estimate as a dot, and what they combine to.

    Args:
        answer: an ``Estimate``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.estimate(model, bz.simulate(model, 6, 2), bz.AIS(distributions=9), trials=3)
        >>> bz.plots.trials(answer).axes[0].get_ylabel()
        'trial'
    """
    figure, (axis,) = figure_and_axes(ax, width=5.0, height=3.0)
    values = np.array(answer.log_ml_trials)
    axis.plot(values, np.arange(1, len(values) + 1), "o", color=LOWER, ms=4, label="one trial")
    axis.axvline(
        answer.log_ml, color=TRUTH, lw=1, ls="--", label=f"all combined {answer.log_ml:.1f}"
    )
    axis.set_title(f"{answer.estimator} on {answer.model}: {answer.side.meaning}", fontsize=11)
    axis.set_xlabel("log evidence  [nats]")
    axis.set_ylabel("trial")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure
