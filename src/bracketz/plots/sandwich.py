"""Both bounds, measured."""

from collections.abc import Sequence

import numpy as np

from bracketz.errors import InputError
from bracketz.plots.canvas import figure_and_axes, stacked_axes
from bracketz.plots.style import LOWER, TRUTH, UPPER
from bracketz.wording import percent


def closing_bounds(answer, ax=None):
    """The measured bounds with their error bars, the certificate around them, and the forward runs
    that decided on the effort.

    Single chains are dots. The ladder's bounds decided and are not part of the answer: they are
    hollow. Where the kernels reported their acceptance, a figure of its own has it below, by
    inverse temperature, in the order and density in which the run visited these.

    Args:
        answer: a ``Sandwich``.
        ax: Matplotlib axes to draw the bounds on; a new figure by default.

    Returns:
        The figure.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, 6, 2), gap=4.0, chains=4)
        >>> bz.plots.closing_bounds(answer).axes[0].get_xlabel()
        'distributions'
    """
    last, certificate = answer.looks[-1], answer.certificate
    if ax is None and _tells_acceptance(last):
        figure, (axis, below) = stacked_axes(width=4.4, heights=(3.6, 1.3))
        _acceptance(last, below)
    else:
        figure, (axis,) = figure_and_axes(ax, width=4.4, height=3.6)
    axis.axhspan(
        certificate.low,
        certificate.high,
        color=TRUTH,
        alpha=0.08,
        lw=0,
        label=f"{percent(certificate.confidence)} certificate",
    )
    axis.axhline(
        answer.log_ml, color=TRUTH, lw=1, ls="--", label=f"log evidence {answer.log_ml:.1f}"
    )
    dots = {"ls": "", "marker": ".", "alpha": 0.25, "ms": 3}
    rungs = answer.rungs
    if rungs:
        efforts = [rung.effort for rung in rungs]
        for rung in rungs:
            axis.plot([rung.effort] * len(rung.forward), rung.forward, color=LOWER, **dots)
        line = [rung.lower for rung in rungs]
        style = {"color": LOWER, "lw": 1, "ls": ":", "marker": "^", "mfc": "white", "ms": 5}
        axis.plot(efforts, line, label="deciding, forwards only", **style)
    # Both at one effort: side by side, so that both error bars are seen.
    for name, colour, marker, value, error, chains, shift in (
        ("upper bound", UPPER, "v", last.upper, last.upper_error, last.reverse, 1.06),
        ("lower bound", LOWER, "^", last.lower, last.lower_error, last.forward, 1 / 1.06),
    ):
        place = last.effort * shift
        axis.plot([place] * len(chains), chains, color=colour, **dots)
        bar = error if np.isfinite(error) else 0.0
        style = {"color": colour, "marker": marker, "ms": 6, "capsize": 3, "ls": "", "zorder": 3}
        axis.errorbar([place], [value], [bar], label=f"{name} ± s.e.", **style)
    axis.set_xscale("log", base=2)
    ticks = sorted({*(rung.effort for rung in rungs), last.effort})
    axis.set_xticks(ticks, [f"{e:,}" for e in ticks], rotation=45, fontsize=8)
    axis.minorticks_off()
    # Scale to the certificate; early runs and single chains far outside would squash what matters.
    width = max(certificate.high - certificate.low, abs(answer.gap))
    lowest = min([last.lower, certificate.low, *(rung.lower for rung in rungs)])
    axis.set_ylim(
        max(lowest - 0.2 * width, certificate.low - 2.5 * width),
        max(certificate.high, last.lower, last.upper) + 0.2 * width,
    )
    axis.set_title(f"{answer.model}: gap {answer.gap:.2f} nats", fontsize=11)
    axis.set_xlabel(answer.unit)
    axis.set_ylabel("log evidence  [nats]")
    axis.spines[["top", "right"]].set_visible(False)
    # The bounds are on the right: the legend stands where they are not.
    is_low = last.lower + last.upper < sum(axis.get_ylim())
    corner = "upper right" if is_low else "lower right"
    axis.legend(framealpha=0.85, edgecolor="none", fontsize=8, loc=corner)
    figure.tight_layout()
    return figure


def _tells_acceptance(look) -> bool:
    return "acceptance" in look.reports and len(look.reports["acceptance"]) > 1


def _acceptance(look, axis) -> None:
    """Of the kernels, along the path: places are as far apart as the schedule has them."""
    values = look.reports["acceptance"]
    places = np.linspace(0, 1, len(values))
    axis.plot(places, values, color=TRUTH, lw=1, marker="." if len(values) <= 64 else "", ms=4)
    axis.set_ylim(0, 1.02)
    axis.set_yticks([0, 0.5, 1])
    _along_the_path(axis, places, look.temperatures, "acceptance")


def _along_the_path(axis, places, temperatures, label: str) -> None:
    """Ticks at inverse temperatures, in the order and density of the run."""
    ticks = np.linspace(0, 1, 5)
    betas = np.interp(ticks, places, temperatures)
    axis.set_xticks(ticks, [f"{beta:.2g}" for beta in betas], fontsize=8)
    axis.tick_params(axis="y", labelsize=8)
    axis.set_xlabel("inverse temperature, as the run visits them", fontsize=9)
    axis.set_ylabel(label, fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)


def increments(answer, ax=None):
    """Where on the path the evidence, and the gap, come from.

    Above, what one edge adds to the log evidence, by inverse temperature: the mean over forward
    chains and over reverse ones, both read upwards. Chains that lag behind the path make the two
    differ. Below, that difference summed from the prior on: its end is the gap of a single chain,
    and where it rises is where distributions or better kernels would help.

    Args:
        answer: a ``Sandwich`` along a path that refines (a tempered one), with one particle.
        ax: two Matplotlib axes to draw on; a new figure by default.

    Returns:
        The figure.

    Raises:
        InputError: the run kept no increments (a prefix path, or several particles).

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, 6, 2), gap=4.0, chains=4)
        >>> bz.plots.increments(answer).axes[1].get_ylabel()
        'gap so far  [nats]'
    """
    trace = answer.looks[-1].trace
    if trace is None:
        raise InputError("this sandwich kept no increments: take a tempered path and one particle")
    if ax is None:
        figure, (axis, below) = stacked_axes(width=4.4, heights=(2.6, 1.8))
    else:
        figure, (axis, below) = figure_and_axes(ax, width=4.4, height=4.4, count=2)
    up, down = np.array(trace.forward), np.array(trace.reverse)
    places = np.linspace(0, 1, len(up)) if len(up) > 1 else np.zeros(1)
    axis.fill_between(places, up, down, color=TRUTH, alpha=0.12, lw=0)
    few = len(up) <= 64
    for values, colour, marker, name in (
        (down, UPPER, "v", "reverse"),
        (up, LOWER, "^", "forward"),
    ):
        style = {"color": colour, "lw": 1, "marker": marker if few else "", "ms": 3}
        axis.plot(places, values, label=name, **style)
    axis.legend(framealpha=0.85, edgecolor="none", fontsize=8)
    axis.set_title(f"{answer.model}: increments along the path", fontsize=11)
    below.axhline(0, color="black", lw=0.5)
    below.plot(places, np.cumsum(trace.edges * (down - up)), color=TRUTH, lw=1.2)
    _along_the_path(axis, places, trace.temperatures, "one edge adds  [nats]")
    _along_the_path(below, places, trace.temperatures, "gap so far  [nats]")
    axis.set_xlabel("")
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
