"""Programs that are timed but estimate nothing."""

from typing import Any

import jax.numpy as jnp

from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.engine.run import Program


@pytree_dataclass
class Sweeps(Program):
    """The kernel alone, at one row of powers."""

    model: Model
    y: Any
    powers: Any

    def start(self, key):
        return self.model.sample_prior(key, self.y.shape)

    def step(self, key, carry, index):
        return self.model.kernel(self.y, self.powers).step(key, carry)

    def log_value(self, carry):
        return jnp.zeros(())
