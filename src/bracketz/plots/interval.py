"""Both sides on observed data, and what each rests on."""

import numpy as np

from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.style import LOWER, TRUTH, UPPER
from bracketz.wording import percent


def interval(answer, ax=None):
    """What ``evidence`` found: solid where it is certified, dashed and hatched where conditional.

    Twins are drawn beside it, each with its own truth as zero of its own scale: intervals that miss
    it are crossed out.

    Args:
        answer: an ``Evidence``.
        ax: Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.evidence(model, bz.simulate(model, 6, 2).y, gap=2.0)
        >>> bz.plots.interval(answer).axes[0].get_ylabel()
        'log evidence  [nats]'
    """
    twins = answer.twins.each if answer.twins is not None and ax is None else ()
    figure, axes = figure_and_axes(ax, width=4.4, height=3.6, count=2 if twins else 1)
    axis, found = axes[0], answer.interval
    far = found.low - 0.5 * max(answer.log_ml - found.low, 0.1)
    if found.high is not None:
        axis.axhspan(
            found.low,
            found.high,
            facecolor="none",
            edgecolor=UPPER,
            alpha=0.35,
            hatch="///",
            lw=0,
            label=f"{percent(found.confidence)} interval, conditional",
        )
        axis.axhline(found.high, color=UPPER, lw=1.2, ls="--")
    certificate = answer.certificate
    axis.axhline(
        certificate.low,
        color=LOWER,
        lw=2,
        label=f"{percent(certificate.confidence)} certificate, certified",
    )
    axis.axhline(
        answer.log_ml, color=TRUTH, lw=1, ls=":", label=f"log evidence {answer.log_ml:.2f}"
    )
    for name, place, value, error, marker, colour, chains in (
        ("lower", 0, answer.lower, answer.lower_error, "^", LOWER, answer.log_weights),
        ("upper", 1, answer.upper, answer.upper_error, "v", UPPER, answer.reverse_log_weights),
    ):
        if value is None:
            axis.text(place, answer.log_ml, "no upper bound", ha="center", va="bottom", color=UPPER)
            continue
        rng = np.random.default_rng(0)
        jitter = place + 0.25 * (rng.random(len(chains)) - 0.5)
        axis.plot(jitter, chains, ls="", marker=".", ms=2, alpha=0.2, color=colour)
        bar = error if np.isfinite(error) else 0.0
        style = {"color": colour, "marker": marker, "ms": 7, "capsize": 3, "ls": "", "zorder": 3}
        axis.errorbar([place], [value], [bar], label=f"{name} bound ± s.e.", **style)
    high = answer.log_ml if found.high is None else found.high
    width = max(high - found.low, 0.2)
    axis.set_ylim(min(far, found.low - 0.6 * width), high + 0.8 * width)
    axis.set_xlim(-0.6, 1.6)
    axis.set_xticks([0, 1], ["forward runs", "reverse runs"])
    axis.set_ylabel("log evidence  [nats]")
    axis.set_title(f"{answer.model}: observed data", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    if twins:
        _twins(answer.twins, axes[1])
    figure.tight_layout()
    return figure


def _twins(twins, axis) -> None:
    """Intervals less the truth, one below the other."""
    for number, twin in enumerate(twins.each, start=1):
        missed = twin.missed_by > 0
        low = twin.low - twin.truth
        high = (twin.log_ml if twin.high is None else twin.high) - twin.truth
        colour = UPPER if missed else TRUTH
        axis.plot([low, high], [number, number], color=colour, lw=3, alpha=0.5)
        marker = "x" if missed else "|"
        axis.plot([twin.log_ml - twin.truth], [number], color=colour, marker=marker, ms=7)
    axis.axvline(0, color="black", lw=0.8)
    axis.set_ylim(len(twins.each) + 0.5, 0.5)
    axis.locator_params(axis="y", integer=True)
    axis.set_xlabel("interval less the twin's truth  [nats]")
    axis.set_ylabel("twin")
    axis.set_title(f"twins: {twins.covered} of {twins.count} covered (heuristic)", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
