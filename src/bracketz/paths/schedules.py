"""Schedules: which inverse temperatures a tempered path visits."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError, unknown


class Schedule(ABC):
    """Inverse temperatures from 0 to 1.

    Subclasses are frozen dataclasses made by ``pytree_dataclass``.

    Example:
        >>> import bracketz as bz
        >>> [float(bz.Linear().inverse_temperature(t, last=4)) for t in (0, 1, 4)]
        [0.0, 0.25, 1.0]
    """

    #: The shorthand on the command line.
    name: ClassVar[str]

    @property
    def ready(self) -> bool:
        """Whether it can say anything yet; if not, it waits for a pilot."""
        return True

    @abstractmethod
    def inverse_temperature(self, t, last):
        """beta_t of t = 0..last; exactly 0 and 1 at the ends."""


@pytree_dataclass
class Sigmoid(Schedule):
    """The paper's schedule, denser near both ends.

    For T distributions, beta~_t = sigmoid(delta (2t/T - 1)) and beta_t = (beta~_t - beta~_1) /
    (beta~_T - beta~_1), t = 1..T.

    Args:
        delta: how much denser; a number of at least 1e-6, where it is as good as ``Linear``.

    Raises:
        InputError: delta is something else.

    Example:
        >>> import bracketz as bz
        >>> float(bz.Sigmoid().inverse_temperature(10, last=100)) < 0.1
        True
    """

    delta: float = 4.0

    name = "sigmoid"

    def __post_init__(self):
        # Below, differences of sigmoids are lost in rounding.
        if not (np.isfinite(self.delta) and self.delta >= 1e-6):
            raise InputError(
                f"delta must be positive, at least 1e-6 and finite, got {self.delta}; for equal"
                " spacing take the linear schedule"
            )

    def inverse_temperature(self, t, last):
        last = jnp.asarray(last, dtype=float)
        t = jnp.asarray(t, dtype=float)
        total = last + 1  # distributions

        def sigmoid(s):  # s is the paper's 1-based index
            return jax.nn.sigmoid(self.delta * (2 * s / total - 1))

        raw = (sigmoid(t + 1) - sigmoid(1.0)) / (sigmoid(total) - sigmoid(1.0))
        return jnp.where(t == last, 1.0, raw)  # the posterior itself, not 1 up to rounding


@pytree_dataclass
class Linear(Schedule):
    """Equally spaced.

    Example:
        >>> import bracketz as bz
        >>> float(bz.Linear().inverse_temperature(1, last=2))
        0.5
    """

    name = "linear"

    def inverse_temperature(self, t, last):
        return jnp.asarray(t, dtype=float) / jnp.asarray(last, dtype=float)


@pytree_dataclass
class Adapted(Schedule):
    """Fitted to a pilot, then frozen.

    Equal increments of the cumulative root of the per-edge variance. Before the pilot there is no
    table; ``engine.schedule.run_pilot`` makes it. With a table, beta_t is the table at t / last,
    its entries equally spaced on [0, 1] and joined by straight lines. The table is traced, so one
    compilation serves them all.

    Args:
        pilot: distributions of the pilot.
        table: inverse temperatures that rise from 0 to 1, where they are already known.

    Raises:
        InputError: a pilot of fewer than 2 distributions, or a table that does not rise from 0 to
            1.

    Example:
        >>> import bracketz as bz
        >>> bz.Adapted(pilot=64).ready
        False
    """

    pilot: int = 256
    table: Any = None  # (knots,)

    name = "adapted"

    def __post_init__(self):
        if self.pilot < 2:
            raise InputError(f"pilot must be at least 2 distributions, got {self.pilot}")
        if self.table is not None:
            table = np.asarray(self.table, dtype=float)
            rises = table.ndim == 1 and len(table) > 1 and bool(np.all(np.diff(table) > 0))
            if not rises or table[0] != 0 or table[-1] != 1:
                shown = table.ravel()[:3]
                raise InputError(
                    f"a table of inverse temperatures must rise from 0 to 1, got {shown}..."
                )
            object.__setattr__(self, "table", table)

    @property
    def ready(self) -> bool:
        return self.table is not None

    def frozen(self, table) -> Self:
        """The same with its table."""
        return type(self)(self.pilot, table)

    def inverse_temperature(self, t, last):
        if self.table is None:
            raise InputError(
                "an adapted schedule has no inverse temperatures before its pilot has run"
            )
        last = jnp.asarray(last, dtype=float)
        t = jnp.asarray(t, dtype=float)
        return jnp.interp(t / last, jnp.linspace(0.0, 1.0, self.table.shape[0]), self.table)


SCHEDULES = {cls.name: cls for cls in (Sigmoid, Linear, Adapted)}


def schedule_named(name: str, *, delta: float = 4.0, pilot: int = 256) -> Schedule:
    """The schedule behind a shorthand.

    Raises:
        InputError: no schedule is called so.
    """
    if name not in SCHEDULES:
        raise unknown("schedule", name, SCHEDULES)
    sigmoid = Sigmoid(delta)  # refuses a bad delta whatever the schedule
    return {"sigmoid": sigmoid, "linear": Linear(), "adapted": Adapted(pilot)}[name]
