"""Pictures of sandwiches and comparisons (Matplotlib)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bracketz.bidirectional import Sandwich
from bracketz.comparison import Comparison
from bracketz.errors import InputError

LOWER, UPPER, TRUTH = "#0072B2", "#D55E00", "#333333"  # distinct to the colour-blind and in grey


def closing_bounds(answers: Sequence[Sandwich], path: str | Path) -> None:
    """Both bounds against effort, one panel a sandwich: single chains as dots, the combined value as a line."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(answers), figsize=(4.4 * len(answers), 3.6), squeeze=False)
    for axis, answer in zip(axes[0], answers, strict=True):
        efforts = np.array([rung.effort for rung in answer.rungs])
        for name, colour, marker, side, chains in (
            ("upper bound", UPPER, "v", "upper", "reverse"),
            ("lower bound", LOWER, "^", "lower", "forward"),
        ):
            line = np.array([getattr(rung, side) for rung in answer.rungs])
            for rung in answer.rungs:
                values = getattr(rung, chains)
                axis.plot([rung.effort] * len(values), values, ".", color=colour, alpha=0.25, ms=3, lw=0)
            axis.plot(efforts, line, marker=marker, color=colour, lw=1.6, ms=5, label=name)
        axis.axhline(answer.log_ml, color=TRUTH, lw=1, ls="--", label=f"log ML {answer.log_ml:.1f}")
        axis.set_xscale("log", base=2)
        axis.set_xticks(efforts, [f"{e:,}" for e in efforts], rotation=45, fontsize=8)
        axis.minorticks_off()
        # Scale to the combined bounds; single chains far outside would squash what matters.
        spread = (
            max(max(r.upper, r.lower) for r in answer.rungs),
            min(min(r.upper, r.lower) for r in answer.rungs),
        )
        pad = 0.12 * (spread[0] - spread[1]) + 1
        axis.set_ylim(spread[1] - pad, spread[0] + pad)
        axis.set_title(f"{answer.model}: gap {answer.gap:.2f} nats", fontsize=11)
        axis.set_xlabel("distributions" if answer.path == "tempered" else "sweeps a row")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8, loc="upper right")
    axes[0][0].set_ylabel("log p(y)  [nats]")
    _save(figure, path)


#: Colour and marker of a model, the same in every picture; readable in grey by the marker.
MODELS = {"clustering": ("#0072B2", "o"), "low-rank": ("#D55E00", "s"), "binary-attributes": ("#009E73", "^")}
OTHERS = (("#CC79A7", "D"), ("#333333", "v"), ("#E69F00", "P"))


def evidences(answer: Comparison, path: str | Path) -> None:
    """Lower bounds against the number of components, one line a model; a bar upwards is the margin found by simulation."""
    plt = _pyplot()
    names = list(dict.fromkeys(c.model for c in answer.candidates))
    others = iter(OTHERS * len(names))
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    sizes = [c.components or 0 for c in answer.candidates]
    step = 0.025 * (max(sizes) - min(sizes) or 1)  # models side by side, so that no whisker hides another
    for place, name in enumerate(names):
        colour, marker = MODELS.get(name) or next(others)
        own = sorted((c for c in answer.candidates if c.model == name), key=lambda c: c.components or 0)
        x = np.array([c.components or 0 for c in own]) + step * (place - (len(names) - 1) / 2)
        y = np.array([c.lower for c in own])
        axis.plot(x, y, marker=marker, color=colour, lw=1.6, ms=6, label=name)
        margins = np.array([c.margin or 0.0 for c in own])
        axis.vlines(x, y, y + margins, color=colour, lw=1)
        axis.plot(x[margins > 0], (y + margins)[margins > 0], "_", color=colour, ms=9)
        if own and answer.best in own:
            at = own.index(answer.best)
            axis.annotate(
                "best", (x[at], y[at]), xytext=(-8, 8), textcoords="offset points", ha="right", fontsize=9
            )
    axis.set_xticks(sorted({c.components for c in answer.candidates if c.components is not None}))
    axis.set_xlabel("components")
    axis.set_ylabel("log p(y), lower bound  [nats]")
    whiskers = "; whiskers: margin found by simulation" if answer.decided is not None else ""
    axis.set_title(f"evidence of {len(answer.candidates)} models{whiskers}", fontsize=11)
    axis.margins(0.08)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    _save(figure, path)


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure, path) -> None:
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=160)
    except (ValueError, OSError) as error:
        raise InputError(f"cannot save the picture {path}: {error}") from None
    finally:
        _pyplot().close(figure)
