"""The path through a training row: up to it in one leg, from it to the posterior in another."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError
from bracketz.paths.schedules import Adapted, Schedule, Sigmoid

#: Entries of the table of a leg of an adapted schedule.
KNOTS = 129


@pytree_dataclass
class Through(Path):
    """From 0 to the row r, and from r to 1: rows u r, then r + u (1 - r), u from 0 to 1 each time.

    With r = b the same for all points both legs are parts of the tempered path, and with r the
    indicator of some points it is the path that lets these in first.

    Args:
        row: r, one number or one per data point, each between 0 and 1.
        below, above: schedules of u in the two legs.
        share: of the edges, for the first leg.
        num_edges, corner: set by ``at``, when the path is laid; row ``corner`` is r.

    Raises:
        InputError: a power outside [0, 1].
    """

    row: Any
    below: Schedule = Sigmoid()
    above: Schedule = Sigmoid()
    share: float = 0.5
    num_edges: Any = None
    corner: Any = None

    name = "through"
    unit = "distributions"
    first_effort = 32
    last_effort = 1 << 22
    refines = True

    def __post_init__(self):
        if not np.all((np.asarray(self.row) >= 0) & (np.asarray(self.row) <= 1)):
            raise InputError(f"powers of a training row must lie in [0, 1], got {self.row}")

    @classmethod
    def along(cls, row, schedule: Schedule | None) -> "Through":
        """With a schedule from prior to posterior that a pilot has found, where there is one: cut
        at r if all points have one power, else used in both legs."""
        if not isinstance(schedule, Adapted):
            return cls(row)
        if np.ptp(row) == 0:
            power = np.max(row)
            table = np.asarray(schedule.table)
            places = np.linspace(0.0, 1.0, len(table))
            cut = float(np.interp(power, table, places))
            below, above = (
                np.interp(np.linspace(a, b, KNOTS), places, table)
                for a, b in ((0.0, cut), (cut, 1.0))
            )
            below, above = below / power, (above - power) / (1 - power)
            below[-1], above[0], above[-1] = 1.0, 0.0, 1.0
            return cls(row, Adapted().frozen(below), Adapted().frozen(above), cut)
        return cls(row, schedule, schedule)

    def at(self, effort, model, num_rows, sweeps=1):
        if effort < 3:
            raise InputError(
                f"distributions must be at least 3 (prior, training and posterior), got {effort}"
            )
        edges = effort - 1
        corner = int(np.clip(round(self.share * edges), 1, edges - 1))
        return dataclasses.replace(self, num_edges=edges, corner=corner), sweeps

    def powers(self, t, num_rows):
        first = self.below.inverse_temperature(jnp.minimum(t, self.corner), self.corner)
        second = self.above.inverse_temperature(
            jnp.maximum(t - self.corner, 0), self.num_edges - self.corner
        )
        row = jnp.broadcast_to(jnp.asarray(self.row, dtype=float), (num_rows,))
        return jnp.where(t == self.num_edges, 1.0, first * row + second * (1 - row))
