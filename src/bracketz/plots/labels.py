"""Names at the ends of curves, moved apart where they would overlap."""

from collections.abc import Sequence

import numpy as np


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """Positions at least ``gap`` apart, inside [low, high] where they fit, as near the wanted ones
    as least squares gets.

    Pool-adjacent-violators on the positions less their rank times the gap: the exact minimum.
    """
    aims = np.asarray(wanted, dtype=float)
    n = len(aims)
    if n == 0:
        return aims
    order = np.argsort(aims, kind="stable")
    offsets = gap * np.arange(n)
    blocks: list[list[float]] = []  # [sum, count] of pooled values
    for value in aims[order] - offsets:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = np.concatenate([np.full(int(count), total / count) for total, count in blocks])
    top = max(low, high - gap * (n - 1))
    placed = np.empty(n)
    placed[order] = np.clip(level, low, top) + offsets
    return placed


#: Curves that end left of this share of the axis are named at their end, the others in the column
#: on the right.
INSIDE = 0.55


def label_ends(axis, ends: Sequence[tuple[float, float, str, str]], size: float = 8.0) -> None:
    """Name curves (x, y of the end, name, colour), those in view only.

    A curve that ends near the right edge is named in a column beside the axes, with a thin line to
    it; one that ends early is named above its end, where such a line would cross the whole panel.
    """
    from matplotlib.patheffects import withStroke

    (left, right), (bottom, top) = sorted(axis.get_xlim()), sorted(axis.get_ylim())
    seen = [end for end in ends if left <= end[0] <= right and bottom <= end[1] <= top]
    to_axes = axis.transData + axis.transAxes.inverted()
    points = [to_axes.transform((x, y)) for x, y, _, _ in seen]
    height = axis.bbox.height / axis.figure.dpi * 72  # points
    column = [i for i, point in enumerate(points) if point[0] >= INSIDE]
    places = spread([points[i][1] for i in column], 1.28 * size / height, 0.01, 0.99)
    for i, place in zip(column, places, strict=True):
        x, y, name, colour = seen[i]
        axis.annotate(
            name,
            xy=(x, y),
            xycoords="data",
            xytext=(1.04, place),
            textcoords="axes fraction",
            fontsize=size,
            color=colour,
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "alpha": 0.7,
                "shrinkA": 1,
                "shrinkB": 3,
            },
        )
    drawn = [p for line in axis.lines for p in line.get_transform().transform(line.get_xydata())]
    for i in set(range(len(seen))) - set(column):
        x, y, name, colour = seen[i]
        start = axis.transData.transform((x, y))
        wide, high = (0.6 * size * len(name), 2.2 * size)
        crowd = {side: sum(_inside(p - start, wide, high, side) for p in drawn) for side in (1, -1)}
        below = points[i][1] > 0.9 or crowd[1] > crowd[-1]
        axis.annotate(
            name,
            xy=(x, y),
            xytext=(0, -6 if below else 5),
            textcoords="offset points",
            fontsize=size,
            color=colour,
            va="top" if below else "bottom",
            ha="left" if points[i][0] < 0.12 else "center",
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


def _inside(step, wide: float, high: float, side: int) -> bool:
    """Whether a point this far from a curve's end lies where its name would be written, above (1)
    or below (-1)."""
    return (
        abs(step[0]) <= wide * 1.4 and 0 < side * step[1] <= high * 1.4
    )  # 100 dots an inch, 72 points
