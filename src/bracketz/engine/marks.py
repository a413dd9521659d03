"""What a chain's weight was at one row on the way: two evidences of one run."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.engine.anneal import Annealing, Particles
from bracketz.engine.run import Program


class Passing(NamedTuple):
    """A chain, and its log-weight where it passed the row."""

    particles: Particles
    mark: jax.Array


@pytree_dataclass
class Marked(Program):
    """``program`` (one particle) with the same bits, keeping log w at a row of its path.

    Forwards E[w] = Z(row) there and Z(1) at the end; backwards Z(row) / Z(1) there and 1 / Z(1) at
    the end.
    """

    program: Annealing
    row: Any

    @property
    def sign(self):
        return self.program.sign

    @property
    def impossible(self):
        return self.program.impossible

    def start(self, key):
        return Passing(self.program.start(key), jnp.zeros(()))

    def start_of(self, key, chain):
        return Passing(self.program.start_of(key, chain), jnp.zeros(()))

    def step(self, key, carry, index):
        particles = self.program.step(key, carry.particles, index)
        edges = self.program.path.num_edges
        here = index + 1 if self.sign > 0 else edges - index - 1
        now = particles.log_weights[0]
        return Passing(particles, jnp.where(here == self.row, now, carry.mark))

    def audit(self, carry):
        return self.program.audit(carry.particles)

    def log_value(self, carry):
        return self.program.log_value(carry.particles)
