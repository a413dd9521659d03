"""An experiment's figures: estimates of the log evidence and squared errors against running time.

The first model of an experiment gets two figures (individual and combined estimates, all and
zoomed; both MSEs), every other model one of three panels.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bracketz.errors import InputError
from bracketz.outputs import replaced
from bracketz.plots.canvas import figure_and_axes
from bracketz.plots.labels import label_ends
from bracketz.plots.style import order, style

FORMATS = ("pdf", "png", "svg")
#: The zoomed panels show the truth plus and minus this many nats.
ZOOM = 50.0
#: Squared errors below this are drawn at it: the truth itself is not known better than to a tenth
#: of a nat.
FLOOR = 0.01
#: Time axes end at this multiple of the longest time.
RIGHT = 1.3
TRUTH = "#444444"
MARKER_SIZES = {"*": 9.0, "P": 6.2, "X": 6.0, "^": 5.8, "v": 5.8}
TITLES = {
    "clustering": "Clustering",
    "low-rank": "Low rank",
    "binary-attributes": "Binary attributes",
}


def title(problem: str) -> str:
    return TITLES.get(problem, problem)


def draw(pool: pd.DataFrame, accurate: float, out: Path) -> list[Path]:
    """All figures of an experiment in every format; returns the files.

    ``pool`` is the experiment's pooled measures; ``accurate`` (nats) is the error that gets a line.
    """
    from matplotlib import pyplot as plt

    settings: Any = {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.7,
        "xtick.major.width": 0.7,
        "ytick.major.width": 0.7,
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "svg.hashsalt": "bracketz",
        "axes.axisbelow": True,
    }
    written = []
    with plt.rc_context(settings):
        for name, figure in _figures(pool, accurate, plt):
            for kind in FORMATS:
                path = out / f"{name}.{kind}"
                try:
                    with replaced(path) as partial:
                        figure.savefig(
                            partial, dpi=160, metadata={"Date": None} if kind == "svg" else None
                        )
                except OSError as error:
                    raise InputError(f"cannot save the figure {path}: {error.strerror}") from None
                written.append(path)
            plt.close(figure)
    return written


def _figures(pool: pd.DataFrame, accurate: float, plt):
    number = 0
    for position, (problem, table) in enumerate(pool.groupby("problem", sort=False)):
        slug = problem.replace(" ", "-").replace(":", "-")
        if position == 0:
            number += 1
            figure, axes = _panels(plt, 2, 2)
            for row, column in enumerate(("mean", "combined")):
                for axis, zoom in zip(axes[row], (False, True), strict=True):
                    estimates(table, column, zoom, ax=axis)
            yield _finished(
                figure,
                f"{number}-{slug}-estimates",
                f"{title(problem)}: estimates of the log evidence",
            )
            number += 1
            figure, axes = _panels(plt, 1, 2, sharey=True)
            squared_errors(table, "mse", accurate, ax=axes[0])
            squared_errors(table, "combined_mse", accurate, ax=axes[1])
            yield _finished(
                figure, f"{number}-{slug}-mse", f"{title(problem)}: error against ground truth"
            )
            continue
        number += 1
        figure, axes = _panels(plt, 1, 3)
        estimates(table, "mean", False, ax=axes[0])
        estimates(table, "mean", True, ax=axes[1])
        squared_errors(table, "mse", accurate, ax=axes[2])
        yield _finished(figure, f"{number}-{slug}-comparison", title(problem))


def _panels(plt, rows: int, columns: int, **options):
    """A grid of panels in inches, with a column for names right of each."""
    width, height, left, names, top, bottom = 3.7, 3.0, 0.8, 0.95, 0.55, 0.5
    size = (columns * (left + width + names), top - 0.3 + rows * (height + bottom + 0.3))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=size,
        gridspec_kw={
            "left": left / size[0],
            "right": 1 - names / size[0],
            "wspace": (left + names) / width,
            "top": 1 - top / size[1],
            "bottom": bottom / size[1],
            "hspace": (bottom + 0.3) / height,
        },
        **options,
    )
    return figure, axes


def _finished(figure, name: str, heading: str):
    width, height = figure.get_size_inches()
    figure.suptitle(
        heading,
        fontsize=12,
        fontweight="bold",
        x=0.1 / width,
        y=1 - 0.08 / height,
        ha="left",
        va="top",
    )
    for axis in figure.axes:
        label_ends(axis, axis.bracketz_ends)
    return name, figure


def _curves(table: pd.DataFrame):
    for curve in order(table.curve.unique()):
        rows = table[table.curve == curve].sort_values("rung")
        yield style(curve, rows.estimator.iloc[0]), rows


def _plot(axis, look, x, y):
    hollow = look.symbol.endswith("open")
    axis.plot(
        x,
        y,
        color=look.colour,
        ls=look.line,
        lw=1.4,
        marker=look.marker,
        ms=MARKER_SIZES.get(look.marker, 4.8),
        mfc="white" if hollow else look.colour,
        mew=1.0 if hollow else 0.5,
        mec=look.colour if hollow else "white",
        label=look.name,
        zorder=3,
    )


def estimates(table: pd.DataFrame, column: str, zoom: bool, ax=None):
    """Estimates against time with 95 % bands: for "mean" of the expected single estimate, for
    "combined" of its own.

    ``table`` is one model's part of the pooled measures; ``zoom`` shows the surroundings of the
    truth. Returns the figure.
    """
    figure, (axis,) = figure_and_axes(ax, width=5.5, height=3.8)
    truth = float(table.truth.iloc[0])
    several = bool(table.errors.iloc[0])
    ends, last = [], []
    for look, rows in _curves(table):
        x, y = rows.seconds.to_numpy(), rows[column].to_numpy()
        if column == "mean":
            low, high = rows.mean_low.to_numpy(), rows.mean_high.to_numpy()
        else:
            error = rows.combined_se.to_numpy()
            band = 1.96 * np.where(np.isfinite(error), error, np.nan)  # no error bar, no band
            low, high = y - band, y + band
        axis.fill_between(x, low, high, color=look.colour, alpha=0.16, lw=0, zorder=2)
        _plot(axis, look, x, y)
        ends.append((x[-1], y[-1], look.name, look.colour))
        last.append(y[-1])
    known = math.isfinite(truth)
    if zoom and known:
        axis.set_ylim(truth - ZOOM, truth + ZOOM)
    else:
        top, bottom = max([*last, truth] if known else last), min([*last, truth] if known else last)
        pad = 0.08 * (top - bottom) + 1
        axis.set_ylim(bottom - pad, top + pad)
    if known:
        axis.axhline(truth, color=TRUTH, lw=0.9, ls=(0, (1, 1.2)), zorder=1)
        name = "truth" if several else f"truth {truth:.1f}".replace("-", "−")
        ends.append((table.seconds.max() * RIGHT, truth, name, TRUTH))
    what = "one trial" if column == "mean" else f"{int(table.trials.iloc[0])} trials combined"
    axis.set_title(f"{what}{f', truth ± {ZOOM:.0f} nats' if zoom else ''}", loc="left")
    axis.set_ylabel(
        "log evidence, estimate − truth [nats]" if several else "log evidence, estimate [nats]"
    )
    _time_axis(axis, table)
    axis.bracketz_ends = ends
    return figure


def squared_errors(table: pd.DataFrame, column: str, accurate: float, ax=None):
    """Mean squared error against time, both on log scales, not below ``FLOOR``; the runs behind the
    truth have none.

    ``column`` is "mse" or "combined_mse"; ``accurate`` (nats) gets a line. Returns the figure.
    """
    figure, (axis,) = figure_and_axes(ax, width=5.5, height=3.8)
    ends = []
    for look, rows in _curves(table):
        rows = rows[rows[column].notna()]
        if rows.empty:
            continue
        x, y = rows.seconds.to_numpy(), rows[column].clip(lower=FLOOR).to_numpy()
        _plot(axis, look, x, y)
        ends.append((x[-1], y[-1], look.name, look.colour))
    axis.set_yscale("log")
    if not ends:
        axis.set_ylim(1, 1e4)
    axis.axhline(accurate**2, color=TRUTH, lw=0.9, ls=(0, (1, 1.2)), zorder=1)
    ends.append((table.seconds.max() * RIGHT, accurate**2, f"RMSE {accurate:.0f} nats", TRUTH))
    combined = column == "combined_mse"
    axis.set_title(
        f"squared error, {int(table.trials.iloc[0])} trials combined"
        if combined
        else "MSE, one trial",
        loc="left",
    )
    axis.set_ylabel("squared error [nats²]" if combined else "mean squared error [nats²]")
    _time_axis(axis, table)
    axis.bracketz_ends = ends
    return figure


def _time_axis(axis, table: pd.DataFrame) -> None:
    axis.set_xscale("log")
    low, high = table.seconds.min(), table.seconds.max()
    axis.set_xlim(low / 1.6, high * RIGHT)
    axis.set_xlabel("seconds per trial")
    axis.grid(True, which="major", color="#e6e6e6", lw=0.6)
    axis.tick_params(which="minor", length=2, width=0.5)
