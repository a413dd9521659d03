"""The picture that tells the story: errors against seconds, problem by problem."""

from typing import Any

import numpy as np
import pandas as pd

from bracketz.testbed.league.measures import FAIR, NEAR, by_problem
from bracketz.testbed.league.plan import DEFAULT

#: Okabe and Ito's hues, one for each family of tools; markers tell tools of a family apart.
HUES = ("#0072B2", "#D55E00", "#009E73", "#555555", "#CC79A7", "#7A6A00")
MARKERS = "osD^vP*Xp<>hd8"
LYING, FAINT = "#C00000", "#8a8a8a"
COLUMNS, LEAST = 4, 1e-3
#: Inches, for the legend.
LEAST_WIDTH = 10.0
Looks = dict[str, tuple[str, str]]


def looks(families: dict[str, str]) -> Looks:
    """(colour, marker) of each tool, from its family; the same in every panel. The bigger a family
    the earlier its colour."""
    members: dict[str, list[str]] = {}
    for tool, family in sorted(families.items()):
        members.setdefault(family, []).append(tool)
    order = sorted(members, key=lambda family: (-len(members[family]), family))
    return {
        tool: (HUES[k % len(HUES)], MARKERS[place % len(MARKERS)])
        for k, family in enumerate(order)
        for place, tool in enumerate(members[family])
    }


def errors_against_seconds(frame: pd.DataFrame, families: dict[str, str]) -> Any:
    """One panel per problem. A mark is a tool at a setting: its RMS error (nats) over the data sets
    it answered, against its median seconds; filled at the default, open at other settings, with a
    line between. A ring: one of its error bars lies. How many runs gave no answer stands above the
    panel.

    Args:
        frame: judged rows.
        families: of tools, by name.
    """
    from matplotlib import pyplot as plt

    league = frame[(frame.suite == "league") & frame.truth.notna()]
    table = by_problem(league)
    table = table.assign(
        y=np.maximum(table.rms, LEAST),
        x=np.maximum(table.seconds, LEAST),
        first=(table.setting == DEFAULT),
    ).sort_values("first", ascending=False)
    problems = sorted(league.problem.unique())
    look = looks({tool: families.get(tool, "others") for tool in league.tool.unique()})
    columns = max(1, min(COLUMNS, len(problems)))
    rows = max(1, -(-len(problems) // columns))
    height = 2.5 * rows + _legend_height(look)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(max(LEAST_WIDTH, 3.4 * columns), height),
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    ends, highest = _limits(table)
    for axis, problem in zip(grid.flat, problems, strict=False):
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=(0.6 * LEAST, highest))
        _panel(axis, table[table.problem == problem], look)
        axis.set_title(problem, fontsize=10, pad=4, loc="left")
        mine = league[league.problem == problem]
        missing = len(mine) - int((mine.status == "done").sum())
        if missing:
            told = f"no answer: {missing} of {len(mine)}"
            axis.set_title(told, fontsize=7.5, pad=4, loc="right", color=FAINT)
        axis.tick_params(labelsize=8)
    _labels(grid, len(problems), columns)
    _legend(figure, look, families)
    figure.tight_layout(rect=(0, _legend_height(look) / height, 1, 1), h_pad=0.6, w_pad=0.6)
    return figure


def _panel(axis: Any, table: pd.DataFrame, look: Looks) -> None:
    for nats, style in ((NEAR, ":"), (FAIR, "--")):
        axis.axhline(nats, color="#bbbbbb", lw=0.8, ls=style, zorder=0)
    for tool, ladder in table.groupby("tool", sort=False):
        colour, marker = look[str(tool)]
        there = ladder[ladder.y.notna() & ladder.x.notna()]
        axis.plot(there.x, there.y, color=colour, lw=0.7, alpha=0.5, zorder=1)
        for kind, face in ((there[there["first"]], colour), (there[~there["first"]], "white")):
            axis.scatter(
                kind.x, kind.y, marker=marker, s=30, facecolors=face, edgecolors=colour,
                linewidths=0.9, zorder=2,
            )  # fmt: skip
        lying = there[there.lies > 0]
        axis.scatter(
            lying.x, lying.y, s=115, facecolors="none", edgecolors=LYING, linewidths=1.3, zorder=3
        )


def _labels(grid: Any, count: int, columns: int) -> None:
    """Names of the axes at the left and below the lowest panel of each column."""
    for axis in grid[:, 0]:
        axis.set_ylabel("RMS error, nats", fontsize=9)
    for place, axis in enumerate(grid.flat):
        if place >= count:
            axis.set_visible(False)
        elif place + columns >= count:
            axis.set_xlabel("seconds", fontsize=9)
            axis.xaxis.set_tick_params(labelbottom=True)


def _legend(figure: Any, look: Looks, families: dict[str, str]) -> None:
    """A column for each family, and one for what fills and rings mean."""
    from matplotlib.lines import Line2D

    def mark(**how: Any) -> Line2D:
        return Line2D([], [], ls="", **how)

    groups: dict[str, list[Line2D]] = {}
    for tool, (colour, marker) in look.items():
        handle = mark(marker=marker, ms=5.5, color=colour, label=tool)
        groups.setdefault(families.get(tool, "others"), []).append(handle)
    groups["marks"] = [
        mark(marker="o", ms=5.5, color="#333333", label="default"),
        mark(marker="o", ms=5.5, mfc="white", color="#333333", label="other setting"),
        mark(marker="o", ms=10, mfc="none", mec=LYING, label="an error bar lies"),
        Line2D([], [], color="#bbbbbb", ls=":", label=f"{NEAR} nats"),
        Line2D([], [], color="#bbbbbb", ls="--", label=f"{FAIR} nats"),
    ]
    width, top = 0.98 / len(groups), _legend_height(look) / figure.get_figheight()
    for place, (family, handles) in enumerate(groups.items()):
        legend = figure.legend(
            handles=handles, title=family, loc="upper left", frameon=False, fontsize=8,
            title_fontsize=8.5, bbox_to_anchor=(0.01 + place * width, top), alignment="left",
            borderaxespad=0.2, labelspacing=0.3, handletextpad=0.3,
        )  # fmt: skip
        legend.get_title().set_fontweight("bold")


def _legend_height(look: Looks) -> float:
    """Inches, for the longest of its columns."""
    colours = [colour for colour, _ in look.values()]
    return 0.45 + 0.165 * max([5, *(colours.count(colour) for colour in colours)])


def _limits(table: pd.DataFrame) -> tuple[tuple[float, float], float]:
    """(seconds from and to, the largest error), whatever there is."""
    seconds, errors = table.x.dropna(), table.y.dropna()
    low, high = (seconds.min() / 1.6, seconds.max() * 1.6) if len(seconds) else (0.1, 100.0)
    top = 2.0 * max(1.0, errors.max()) if len(errors) else 10.0
    return (float(low), float(high)), float(top)
