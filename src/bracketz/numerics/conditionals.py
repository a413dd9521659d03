"""The conditionals kernels are made of: categorical, Gaussian, truncated normal (see
``core.conditional``)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr, ndtri

from bracketz.numerics.cholesky import solve_lower

MAX_TRIANGLE = 64


def inverse_cdf(weights, u):
    """Index k with probability weights[k] / sum(weights), from one uniform u in [0, 1)."""
    k = weights.shape[0]
    # A product with a triangle of ones, where that is small: XLA's own cumulative sum is slow on a
    # CPU.
    cumulative = weights @ np.triu(np.ones((k, k))) if k <= MAX_TRIANGLE else jnp.cumsum(weights)
    # "<=": a category of zero weight is never chosen, not even at u = 0.
    index = jnp.sum(cumulative <= u * cumulative[-1])
    return jnp.minimum(index, k - 1).astype(jnp.int32)


class Categorical(NamedTuple):
    """Weights exp(logits) on 0..K-1. A ``Conditional``.

    Args:
        logits: (K,), not normalised.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> coin = bz.Categorical(jnp.log(jnp.array([0.25, 0.75])))
        >>> [int(coin.from_noise(u)) for u in (0.2, 0.3)]
        [0, 1]
    """

    logits: jax.Array  # (K,)

    @property
    def law(self):
        return "uniform"

    @property
    def noise_shape(self):
        return ()

    @property
    def support(self):
        return jnp.arange(self.logits.shape[0], dtype=jnp.int32)

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
    """exp(log_scale + <shift, x> - x^T precision x / 2), a ``Conditional``.

    The precision is L L^T with L = ``cholesky``; the mean is precision^-1 shift.

    Args:
        cholesky: L, (K, K), lower triangular.
        shift: (K,), or (K, M) for M independent columns that share the precision.
        log_scale: log of a constant factor.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> normal = bz.Gaussian(2 * jnp.eye(2), jnp.array([4.0, 8.0]))
        >>> normal.from_noise(jnp.zeros(2)).tolist()
        [1.0, 2.0]
    """

    cholesky: jax.Array  # (K, K), lower
    shift: jax.Array  # (K,) or (K, M)
    log_scale: jax.Array | float = 0.0

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return self.shift.shape

    def _whitened_shift(self):
        return solve_lower(self.cholesky, self.shift)

    def from_noise(self, noise):
        return solve_lower(self.cholesky, self._whitened_shift() + noise, transposed=True)

    def sample(self, key):
        return self.from_noise(jax.random.normal(key, self.shift.shape, self.shift.dtype))

    def log_density(self, value):
        return (
            self.log_scale
            + jnp.sum(self.shift * value)
            - 0.5 * jnp.sum((self.cholesky.T @ value) ** 2)
        )

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


class TruncatedNormal(NamedTuple):
    """N(0, variance) restricted to [low, high]: as a measure, the prior density itself inside."""

    low: jax.Array
    high: jax.Array
    variance: jax.Array | float = 1.0

    @property
    def law(self):
        return "uniform"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return ()

    def _standard(self):
        """(interval in standard deviations, mirrored to the left half where the cdf keeps its
        relative precision (to 37 sigma); whether it was)."""
        scale = jnp.sqrt(self.variance)
        low, high = self.low / scale, self.high / scale
        flip = low + high > 0
        return jnp.where(flip, -high, low), jnp.where(flip, -low, high), flip

    def from_noise(self, u):
        a, b, flip = self._standard()
        pa, pb = ndtr(a), ndtr(b)
        x = jnp.clip(ndtri(jnp.maximum(pa + u * (pb - pa), jnp.finfo(pa.dtype).tiny)), a, b)
        # Mirrored, so that x falls as u grows; the law is the same.
        return jnp.sqrt(self.variance) * jnp.where(flip, -x, x)

    def sample(self, key):
        return self.from_noise(jax.random.uniform(key))

    def log_density(self, value):
        inside = (value >= self.low) & (value <= self.high)
        normal = -0.5 * (value**2 / self.variance + jnp.log(2 * jnp.pi * self.variance))
        return jnp.where(inside, normal, -jnp.inf)

    @property
    def log_normalizer(self):
        a, b, _ = self._standard()
        top = log_ndtr(b)
        return top + jnp.log(-jnp.expm1(log_ndtr(a) - top))
