"""A model of your own: polynomial regression with known noise, in four methods.

    bracketz sandwich regression:PolynomialRegression --rows 30 --columns 1 --components 4

y_i = sum_k w_k x_i^k + noise,  w_k ~ N(0, weight_variance),  x_i equally spaced on [-1, 1].
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

import bracketz
from bracketz.kernels.compose import Repeat
from bracketz.kernels.metropolis import Metropolis


class Weights(NamedTuple):
    weights: jax.Array  # (K,)


@bracketz.pytree_dataclass
class PolynomialRegression(bracketz.Model):
    components: int = bracketz.static(default=4)
    weight_variance: float = 1.0
    noise_variance: float = 0.25

    default_shape = (30, 1)

    def mean(self, state, rows):
        x = jnp.linspace(-1, 1, rows)
        return x[:, None] ** jnp.arange(self.components) @ state.weights

    def sample_prior(self, key, shape):
        return Weights(jnp.sqrt(self.weight_variance) * jax.random.normal(key, (self.components,)))

    def simulate(self, key, state, shape):
        noise = jnp.sqrt(self.noise_variance) * jax.random.normal(key, shape)
        return self.mean(state, shape[0])[:, None] + noise

    def log_annealed(self, state, y, powers):
        normal = jax.scipy.stats.norm.logpdf
        prior = jnp.sum(normal(state.weights, 0, jnp.sqrt(self.weight_variance)))
        rows = normal(y[:, 0], self.mean(state, len(y)), jnp.sqrt(self.noise_variance))
        return prior + jnp.sum(powers * rows)

    def kernel(self, y, powers):
        # The posterior narrows as the powers grow; a scale that depends on them (not on the state)
        # is allowed.
        scale = 1 / jnp.sqrt(1 / self.weight_variance + jnp.sum(powers) / self.noise_variance)
        return Repeat(Metropolis(lambda state: self.log_annealed(state, y, powers), scale), 20)
