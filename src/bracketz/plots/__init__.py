"""Every figure. Functions take axes (``ax``), return the Figure, and leave Matplotlib's backend
alone."""

from bracketz.plots.canvas import save_figure
from bracketz.plots.comparison import evidences
from bracketz.plots.interval import interval
from bracketz.plots.sandwich import closing_bounds, closing_bounds_of_all, increments
from bracketz.plots.sweep import sweep
from bracketz.plots.trials import trials

__all__ = [
    "closing_bounds",
    "closing_bounds_of_all",
    "evidences",
    "increments",
    "interval",
    "save_figure",
    "sweep",
    "trials",
]
