"""The tempered path: all points share one inverse temperature. Upwards it is AIS, downwards reverse
AIS."""

import dataclasses
from typing import Any, Self

import jax.numpy as jnp

from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError
from bracketz.paths.schedules import Adapted, Schedule, Sigmoid


@pytree_dataclass
class Tempered(Path):
    """All points share one inverse temperature: b_t = beta_t * 1. Two distributions make one edge.

    Args:
        schedule: ``Sigmoid()`` (the paper's), ``Linear()``, ``Adapted()``, or your own
            ``Schedule``.
        num_edges: set by ``through``, when the path is laid.

    Raises:
        InputError: the schedule is not one.

    Example:
        >>> import bracketz as bz
        >>> bz.Tempered(schedule=bz.Linear()).through(11).num_edges
        10
    """

    schedule: Schedule = Sigmoid()
    num_edges: Any = None

    name = "tempered"
    unit = "distributions"
    first_effort = 32
    last_effort = 1 << 22
    refines = True

    def __post_init__(self):
        if not isinstance(self.schedule, Schedule):
            raise InputError(
                f"schedule must be one such as bracketz.Sigmoid(), got {self.schedule!r}"
            )

    def through(self, distributions: int) -> Self:
        """The path through this many distributions, prior and posterior included.

        Args:
            distributions: at least 2.

        Returns:
            The path, laid.

        Raises:
            InputError: fewer than 2.
        """
        if distributions < 2:
            raise InputError(
                "distributions must be at least 2 (the prior and the posterior), got"
                f" {distributions}"
            )
        return dataclasses.replace(self, num_edges=distributions - 1)

    def at(self, effort, model, num_rows, sweeps=1):
        return self.through(effort), sweeps

    @property
    def pilot(self):
        return (
            self.schedule.pilot
            if isinstance(self.schedule, Adapted) and not self.schedule.ready
            else None
        )

    @property
    def schedule_name(self):
        return self.schedule.name

    def inverse_temperature(self, t):
        """beta_t of t = 0..num_edges."""
        return self.schedule.inverse_temperature(t, self.num_edges)

    def powers(self, t, num_rows):
        return jnp.full(num_rows, self.inverse_temperature(t))
