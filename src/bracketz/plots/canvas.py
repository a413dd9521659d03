"""Where a figure is drawn, and how it gets into a file. Matplotlib's backend is the user's
business."""

from pathlib import Path
from typing import Any

from bracketz.errors import InputError
from bracketz.outputs import replaced


def figure_and_axes(ax=None, *, width: float, height: float, count: int = 1) -> tuple[Any, list]:
    """(figure, its axes): those handed in (one, or a sequence), or ``count`` new ones side
    by side."""
    if ax is not None:
        axes = list(ax) if count > 1 else [ax]
        return axes[0].figure, axes
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(1, count, figsize=(width * count, height), squeeze=False)
    return figure, list(grid[0])


def stacked_axes(*, width: float, heights: tuple[float, ...]) -> tuple[Any, list]:
    """(a new figure, its axes, one below the other)."""
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(
        len(heights),
        1,
        figsize=(width, sum(heights)),
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )
    return figure, list(grid[:, 0])


def save_figure(figure, path: str | Path, *, dpi: int = 160) -> None:
    """Write a figure to a file (.png, .pdf, .svg) and let go of it.

    Args:
        figure: what a function of ``bracketz.plots`` returned.
        path: the file; its ending says the format, .png where there is none.
        dpi: dots per inch.

    Raises:
        InputError: the file cannot be written, or Matplotlib does not know its ending.

    Example:
        >>> import bracketz as bz, tempfile
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, 6, 2), gap=4.0, chains=4)
        >>> bz.plots.save_figure(answer.plot(), f"{tempfile.mkdtemp()}/bounds.png")
    """
    from matplotlib import pyplot as plt

    try:
        path = picture_file(path)
        with replaced(path) as partial:
            figure.savefig(partial, dpi=dpi)
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise InputError(f"cannot save the picture {path}: {error}") from None
    finally:
        plt.close(figure)


def picture_file(path: str | Path) -> Path:
    """The file a picture of this name gets: a .png where the name has no ending."""
    from matplotlib.backend_bases import FigureCanvasBase

    path = Path(path)
    if not path.suffix:
        return path.with_name(f"{path.name}.png")
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise InputError(f"a picture must end in .png, .pdf or .svg, got {path}")
    return path
