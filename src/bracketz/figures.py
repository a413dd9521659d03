"""Pictures of sandwiches (Matplotlib)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bracketz.bidirectional import Sandwich
from bracketz.errors import InputError

LOWER, UPPER, TRUTH = "#0072B2", "#D55E00", "#333333"  # distinct to the colour-blind and in grey


def closing_bounds(answers: Sequence[Sandwich], path: str | Path) -> None:
    """Both bounds against effort, one panel a sandwich: single chains as dots, the combined value as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

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
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=160)
    except (ValueError, OSError) as error:
        raise InputError(f"cannot save the picture {path}: {error}") from None
    finally:
        plt.close(figure)
