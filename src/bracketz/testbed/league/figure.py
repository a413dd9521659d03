"""The picture that tells the story: errors against seconds, problem by problem."""

from typing import Any

import numpy as np
import pandas as pd

from bracketz.testbed.league.measures import FAIR, NEAR

#: Okabe and Ito's hues, and markers: tools differ in both.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7A6A00", "#222222", "#56B4E9", "#B34700")
MARKERS = "osD^vPX*<>hd"
COLUMNS, LEAST = 3, 1e-3


def looks(tools: list[str]) -> dict[str, tuple[str, str]]:
    """(colour, marker) of each tool; the same in every panel."""
    return {
        tool: (HUES[k % len(HUES)], MARKERS[k % len(MARKERS)])
        for k, tool in enumerate(sorted(tools))
    }


def errors_against_seconds(frame: pd.DataFrame) -> Any:
    """One panel per problem: every answer, its error (nats) against its seconds; an answer whose
    error bar lies has a ring around it, and what gave no answer is counted below the panel."""
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    league = frame[(frame.suite == "league") & frame.truth.notna()]
    problems = sorted(league.problem.unique())
    look = looks(list(league.tool.unique()))
    rows = max(1, -(-len(problems) // COLUMNS))
    figure, grid = plt.subplots(
        rows,
        COLUMNS,
        figsize=(4.2 * COLUMNS, 3.0 * rows + 1.2),
        squeeze=False,
        sharey=True,
        sharex=True,
    )
    ends, highest = _limits(league)
    for axis, problem in zip(grid.flat, problems, strict=False):
        mine = league[league.problem == problem]
        done = mine[mine.off.notna() & mine.seconds.notna()]
        for tool, group in done.groupby("tool"):
            colour, marker = look[str(tool)]
            x, y = np.maximum(group.seconds, LEAST), np.maximum(group.off.abs(), LEAST)
            axis.scatter(x, y, c=colour, marker=marker, s=26, alpha=0.85, linewidths=0)
        bad = done[done.lies.eq(True)]
        axis.scatter(
            np.maximum(bad.seconds, LEAST),
            np.maximum(bad.off.abs(), LEAST),
            s=110, facecolors="none", edgecolors="#C00000", linewidths=1.3,
        )  # fmt: skip
        axis.axhline(NEAR, color="#999999", lw=0.8, ls=":")
        axis.axhline(FAIR, color="#999999", lw=0.8, ls="--")
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=(0.7 * LEAST, highest), title=problem)
        missing = len(mine) - len(mine[mine.status == "done"])
        axis.set_xlabel(
            "seconds" + (f"; {missing} of {len(mine)} gave no answer" if missing else "")
        )
    for axis in grid[:, 0]:
        axis.set_ylabel("error, nats")
    for axis in grid.flat[len(problems) :]:
        axis.set_visible(False)
    handles = [
        Line2D([], [], ls="", marker=marker, color=colour, label=tool)
        for tool, (colour, marker) in look.items()
    ]
    handles.append(
        Line2D([], [], ls="", marker="o", ms=10, mfc="none", mec="#C00000", label="error bar lies")
    )
    figure.legend(handles=handles, loc="lower center", ncol=5, frameon=False)
    figure.tight_layout(rect=(0, 0.9 / (3.0 * rows + 1.2), 1, 1))
    return figure


def _limits(league: pd.DataFrame) -> tuple[tuple[float, float], float]:
    """(seconds from and to, the largest error), in whole decades, whatever there is."""
    seconds = np.maximum(league.seconds.dropna(), LEAST)
    errors = league.off.dropna().abs()
    low = 10 ** np.floor(np.log10(seconds.min())) if len(seconds) else 0.1
    high = 10 ** np.ceil(np.log10(seconds.max()) + 1e-9) if len(seconds) else 100.0
    top = 10 ** np.ceil(np.log10(max(10.0, errors.max()))) if len(errors) else 10.0
    return (float(low), float(high)), float(top)
