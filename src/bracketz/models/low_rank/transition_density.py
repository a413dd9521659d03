"""A low-rank posterior chain with a known transition density, for the Chib-style estimators."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import ScoredChain
from bracketz.core.conditional import log_prob
from bracketz.core.kernel import ScoredKernel
from bracketz.core.pytree import pytree_dataclass
from bracketz.models.low_rank.gibbs import LowRankGibbs
from bracketz.models.low_rank.state import Factors, Left, LowRankState


@pytree_dataclass
class LowRankChain(ScoredChain):
    """On (U, V): as a chain on V alone the transition density is an integral nobody can do."""

    model: Any
    y: jax.Array

    @property
    def kernel(self):
        return FactorGibbs(self.model._gibbs(self.y, jnp.ones(self.y.shape[0])))

    def begin(self, key, state):
        return Factors(self.kernel.draw_left(key, state.right), state.right)

    def log_joint(self, state):
        ones = jnp.ones(self.y.shape[0])
        return self.model.log_joint(LowRankState(state.right), Left(state.left), self.y, ones)


@dataclasses.dataclass(frozen=True, eq=False)
class FactorGibbs(ScoredKernel):
    """U | V then V | U, or, reversed, V | U then U | V."""

    gibbs: LowRankGibbs
    backward: bool = False

    def draw_left(self, key, right):
        return self.gibbs.left_conditional(right).sample(key)

    def step(self, key, state):
        key_left, key_right = jax.random.split(key)
        left, right = state
        if not self.backward:
            left = self.draw_left(key_left, right)
        right = self.gibbs.right_conditional(left).sample(key_right)
        if self.backward:
            left = self.draw_left(key_left, right)
        return Factors(left, right)

    def log_prob(self, new_state, state):
        given_left, given_right = (
            (state.left, new_state.right) if self.backward else (new_state.left, state.right)
        )
        right = log_prob(self.gibbs.right_conditional(given_left), new_state.right)
        return right + log_prob(self.gibbs.left_conditional(given_right), new_state.left)

    def reversed(self):
        return dataclasses.replace(self, backward=not self.backward)
