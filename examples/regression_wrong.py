"""The model of regression.py with two mistakes people make, for docs/checking.md.

    bracketz check regression_wrong:VarianceAsDeviation
    bracketz check regression_wrong:ForgottenPowers

Both run, and both give plausible numbers.
"""

import jax
import jax.numpy as jnp
from regression import PolynomialRegression

import bracketz
from bracketz.kernels.compose import Repeat
from bracketz.kernels.metropolis import Metropolis


@bracketz.pytree_dataclass
class VarianceAsDeviation(PolynomialRegression):
    """The likelihood takes the noise variance for its standard deviation."""

    def log_annealed(self, state, y, powers):
        normal = jax.scipy.stats.norm.logpdf
        prior = jnp.sum(normal(state.weights, 0, jnp.sqrt(self.weight_variance)))
        rows = normal(y[:, 0], self.mean(state, len(y)), self.noise_variance)
        return prior + jnp.sum(powers * rows)


@bracketz.pytree_dataclass
class ForgottenPowers(PolynomialRegression):
    """The kernel samples the posterior at every temperature: right at power 1, wrong in between."""

    def kernel(self, y, powers):
        scale = 1 / jnp.sqrt(1 / self.weight_variance + jnp.sum(powers) / self.noise_variance)
        return Repeat(
            Metropolis(lambda state: self.log_annealed(state, y, jnp.ones(len(y))), scale), 20
        )
