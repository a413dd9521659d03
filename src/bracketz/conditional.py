"""Conditional distributions that can sample *and* score themselves.

Kernels are made of these, so that the test of the paper's appendix, p(x|u)/p(x'|u) = f(x,u)/f(x',u),
can be run on exactly the object the kernel samples from.

Each is an *unnormalised* measure: ``log_density`` may carry a constant, and ``log_normalizer`` is the
log of its total mass. When the measure is p(latent_i) p(y_i | latent_i, rest)^b, that mass is the
predictive density of point i, the weight of the posterior particle filter.
Sampling is a deterministic function of noise drawn in bulk beforehand (``from_noise``).
"""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp


class Conditional(Protocol):
    """What a kernel samples from and a test scores."""

    def from_noise(self, noise): ...
    def sample(self, key): ...
    def log_density(self, value): ...
    @property
    def log_normalizer(self): ...


def log_prob(conditional: Conditional, value):
    """Normalised log-density of ``value``."""
    return conditional.log_density(value) - conditional.log_normalizer


def inverse_cdf(weights, u):
    """Index k with probability weights[k] / sum(weights), from one uniform u in [0, 1)."""
    cumulative = jnp.cumsum(weights)
    # "<=": a category of zero weight is never chosen, not even at u = 0.
    index = jnp.sum(cumulative <= u * cumulative[-1])
    return jnp.minimum(index, weights.shape[0] - 1).astype(jnp.int32)


class Categorical(NamedTuple):
    """Weights exp(logits) on 0..K-1."""

    logits: jax.Array  # (K,)

    def from_noise(self, u):
        return inverse_cdf(jnp.exp(self.logits - jnp.max(self.logits)), u)

    def sample(self, key):
        return self.from_noise(jax.random.uniform(key, dtype=self.logits.dtype))

    def log_density(self, value):
        return self.logits[value]

    @property
    def log_normalizer(self):
        return jax.nn.logsumexp(self.logits)


class Gaussian(NamedTuple):
    """exp(log_scale + <shift, x> - x^T precision x / 2) with precision = L L^T given by L = ``cholesky``.

    ``shift`` is (K,), or (K, M) for M independent columns that share the precision.
    """

    cholesky: jax.Array  # (K, K), lower
    shift: jax.Array  # (K,) or (K, M)
    log_scale: jax.Array | float = 0.0

    def _whitened_shift(self):
        return jax.scipy.linalg.solve_triangular(self.cholesky, self.shift, lower=True)

    def from_noise(self, noise):
        return jax.scipy.linalg.solve_triangular(
            self.cholesky, self._whitened_shift() + noise, lower=True, trans="T"
        )

    def sample(self, key):
        return self.from_noise(jax.random.normal(key, self.shift.shape, self.shift.dtype))

    def log_density(self, value):
        return self.log_scale + jnp.sum(self.shift * value) - 0.5 * jnp.sum((self.cholesky.T @ value) ** 2)

    @property
    def log_normalizer(self):
        columns = self.shift.size // self.cholesky.shape[0]
        log_det = jnp.sum(jnp.log(jnp.diagonal(self.cholesky)))
        return (
            self.log_scale
            + 0.5 * self.shift.size * jnp.log(2 * jnp.pi)
            - columns * log_det
            + 0.5 * jnp.sum(self._whitened_shift() ** 2)
        )
