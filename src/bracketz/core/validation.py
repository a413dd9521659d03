"""What fields and arguments must be, or an ``InputError`` that names the value."""

import jax
import numpy as np

from bracketz.errors import InputError

#: Squares of data over the noise variance: beyond, residuals are made of rounding alone.
MAX_SIGNAL = 1e24


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


def require_at_least(minimum: int, **knobs) -> None:
    for name, value in knobs.items():
        if value < minimum:
            shown = f"`{name}`" if "_" in name else name
            raise InputError(f"{shown} must be at least {minimum}, got {value}")


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must be a whole number from 0 to 4294967295, got {seed}")
