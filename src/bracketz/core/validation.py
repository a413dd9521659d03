"""What fields and arguments must be, or an ``InputError`` that names the value."""

import os

import jax
import numpy as np

from bracketz.errors import InputError

#: Squares of data over the noise variance: beyond, residuals are made of rounding alone.
MAX_SIGNAL = 1e24
#: Whole numbers are counted in int64.
BEYOND_COUNTING = 2**63


def require_model(model) -> None:
    """A model is an instance of a class that JAX can look inside."""
    leaves = jax.tree.leaves(model)
    if isinstance(model, type) or (len(leaves) == 1 and leaves[0] is model):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InputError(
            "model must be an instance of a class decorated with @bracketz.pytree_dataclass, got"
            f" {name}"
        )


def require_positive(**values) -> None:
    for name, value in values.items():
        if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, got {value}")


def require_squares(y, noise_variance=None) -> None:
    """Squares of y over the noise variance must be numbers, and the noise not below their last
    digits."""
    y = np.asarray(y, dtype=float)
    noise = 1.0 if noise_variance is None else float(np.min(noise_variance))
    with np.errstate(over="ignore"):
        weighted = np.square(np.sum(np.abs(y)) / noise)
        signal = np.max(np.sum(y * y, axis=1)) / noise
    if not np.isfinite(weighted) or (noise_variance is not None and signal >= MAX_SIGNAL):
        row, column = np.unravel_index(np.argmax(np.abs(y)), y.shape)
        of = "" if noise_variance is None else f" over the noise variance of {noise:g}"
        raise InputError(
            f"the data hold {y[row, column]:g} at row {row + 1}, column {column + 1}, and its"
            f" square{of} is beyond what floating-point numbers can resolve; standardise the"
            " columns, or take a larger noise variance"
        )


def require_components(components: int) -> None:
    if not isinstance(components, (int, np.integer)) or components < 1:
        raise InputError(f"components must be a whole number of at least 1, got {components}")
    require_room(int(components), f"a model of {components} components", "take fewer of them")


def require_at_least(minimum: int, **knobs) -> None:
    for name, value in knobs.items():
        if value < minimum:
            shown = f"`{name}`" if "_" in name else name
            raise InputError(f"{shown} must be at least {minimum}, got {value}")
        if value >= BEYOND_COUNTING:
            raise InputError(f"{name} must be below 2^63, got {value}")


def require_efforts(first: int | None, max_effort: int | None, least: int = 1) -> None:
    """Where a ladder begins and ends, as far as somebody said so."""
    given = {"first": first, "max_effort": max_effort}
    require_at_least(least, **{name: value for name, value in given.items() if value is not None})
    if first is not None and max_effort is not None and max_effort < first:
        raise InputError(f"`max_effort` must be at least `first`, {first}, got {max_effort}")


def require_room(numbers: int, what: str, way_out: str) -> None:
    """So many float64 numbers must fit into this machine's memory, at the least."""
    have = _memory()
    if have is not None and 8 * numbers > have:
        raise InputError(
            f"{what} takes {8 * numbers / 1e9:.3g} GB at the least, and this machine has"
            f" {have / 1e9:.3g} GB of memory; {way_out}"
        )


def require_room_for(model, shape) -> None:
    """N x D data, and the N x K and K x D numbers behind them, of which no model takes fewer."""
    n, d = (int(size) for size in shape)
    k = getattr(model, "components", 0)
    k = int(k) if isinstance(k, (int, np.integer)) else 0
    with_components = f" and {k} components" if k else ""
    require_room(
        n * d + n * k + k * d,
        f"a model of {n} rows, {d} columns{with_components}",
        "take fewer of them",
    )


def _memory() -> int | None:
    """Bytes of this machine; None where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must be a whole number from 0 to 4294967295, got {seed}")
