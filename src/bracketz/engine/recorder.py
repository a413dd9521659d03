"""What a run writes down as it goes: the increment of one edge per cell of the path, and what
kernels report."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.path import Path
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass
from bracketz.engine.anneal import Annealing, Particles
from bracketz.engine.run import Outcome, Program
from bracketz.errors import InputError

#: Cells of a path. An edge of each is kept, so a run of any length takes the same arrays (and
#: program).
CELLS = 256


class Recording(NamedTuple):
    """A chain, and what was seen at one edge per cell."""

    particles: Particles
    increments: jax.Array  # (CELLS,)
    reports: dict[str, jax.Array]  # (CELLS,) each; see ``Kernel.step_and_report``


@pytree_dataclass
class Recorded(Program):
    """``program`` (one particle, a path that refines) with the same bits, keeping increments of log
    w as it goes.

    Edge t = 1..E lies in cell floor((t - 1) CELLS / E); a cell keeps the edge that was crossed
    last.
    """

    program: Annealing

    @property
    def sign(self):
        return self.program.sign

    @property
    def impossible(self):
        return self.program.impossible

    def start(self, key):
        return self._begun(self.program.start(key))

    def start_of(self, key, chain):
        return self._begun(self.program.start_of(key, chain))

    def _begun(self, particles):
        reports = {name: jnp.zeros(CELLS) for name in self.program.reports}
        return Recording(particles, jnp.zeros(CELLS), reports)

    def step(self, key, carry, index):
        particles, report = self.program.step_and_report(key, carry.particles, index)
        if set(report) != set(carry.reports):
            kernel = type(self.program.kernel_at(1).kernel).__name__
            raise InputError(
                f"{kernel}.reports names {sorted(carry.reports)} and its step_and_report tells"
                f" {sorted(report)}"
            )
        edges = self.program.path.num_edges
        edge = index if self.sign > 0 else edges - 1 - index
        cell = edge * CELLS // edges
        increment = (particles.log_weights - carry.particles.log_weights)[0]
        return Recording(
            particles,
            carry.increments.at[cell].set(increment),
            {name: kept.at[cell].set(report[name]) for name, kept in carry.reports.items()},
        )

    def audit(self, carry):
        return self.program.audit(carry.particles)

    def log_value(self, carry):
        return self.program.log_value(carry.particles)


def edges_in_cells(num_edges: int) -> np.ndarray:
    """How many edges each cell stands for, (CELLS,)."""
    return np.diff(-(-np.arange(CELLS + 1) * num_edges // CELLS))


def edge_variances(*outcomes: Outcome) -> np.ndarray:
    """Variance over chains of one edge's increment, by cell, averaged over the directions given."""
    return np.mean([np.var(o.carry.increments, axis=0, ddof=1) for o in outcomes], axis=0)


def inverse_temperatures(path: Path) -> tuple[float, ...]:
    """Where on a tempered path the values of ``mean_reports`` were seen: in the middle of each
    cell."""
    edges, per_cell = path.num_edges, edges_in_cells(path.num_edges)
    last = np.cumsum(per_cell)
    places = np.clip(np.ceil(last - per_cell / 2), 1, edges)
    with double_precision():  # of all cells: one compilation for any number of edges
        rows = np.asarray(_first_powers(path, places))
    return tuple(rows[per_cell > 0].tolist())


@jax.jit
def _first_powers(path: Path, places):
    return jax.vmap(lambda t: path.powers(t, 1)[0])(places)


def mean_reports(num_edges: int, *outcomes: Outcome) -> dict[str, np.ndarray]:
    """What the kernels reported, averaged over chains and directions: one value per cell that has
    an edge."""
    used = edges_in_cells(num_edges) > 0
    names = outcomes[0].carry.reports
    return {n: np.mean([o.carry.reports[n] for o in outcomes], axis=(0, 1))[used] for n in names}


def mean_increments(num_edges: int, outcome: Outcome, sign: int) -> np.ndarray:
    """What one edge adds to the log evidence on the way up, averaged over the chains of a run in
    the direction of ``sign``: one value per cell that has an edge."""
    used = edges_in_cells(num_edges) > 0
    return sign * np.mean(outcome.carry.increments, axis=0)[used]
