"""What fields and arguments must be, or an ``InputError`` that names the value."""

import numpy as np

from bracketz.errors import InputError


def require_positive(**values) -> None:
    for name, value in values.items():
        if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, got {value}")


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
