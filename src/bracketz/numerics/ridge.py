"""Regressions with a Gaussian prior, to the accuracy of the data.

The textbook forms (a Gram matrix, its Cholesky factor, |b|^2 less a fit) lose twice the digits that
the noise is below the data: with a noise variance of 1e-12 nothing is left. Here no Gram matrix is
formed and what is small is a sum of small squares, at several times the cost.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from bracketz.numerics.noise import standard_normal


class Axes(NamedTuple):
    """A design A = Q S W^T, with as many singular values as columns."""

    left: jax.Array  # Q, (n, K)
    values: jax.Array  # S, (K,)
    right: jax.Array  # W^T, (K, K)


def principal_axes(design) -> Axes:
    n, k = design.shape
    # Rows of zeros where there are fewer than columns.
    tall = jnp.concatenate([design, jnp.zeros((max(k - n, 0), k))])
    left, values, right = jnp.linalg.svd(tall, full_matrices=False)
    return Axes(left[:n], values, right)


class Ridge(NamedTuple):
    """exp(log_scale - |b - A x|^2 / 2 - |x|^2 / (2 variance)) over x, a ``Conditional``.

    Along the singular vectors everything is one-dimensional. With t = Q^T b,

        minimum of the quadratic = |b - Q t|^2 + sum_k t_k^2 / (1 + variance s_k^2).
    """

    design: jax.Array  # A, (n, K), weighted
    target: jax.Array  # b, (n,) or (n, M), weighted
    variance: jax.Array | float  # a priori
    log_scale: jax.Array | float = 0.0

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return (self.design.shape[1], *self.target.shape[1:])

    def posterior(self):
        """(mean, root) with covariance root root^T; the mean is of the noise's shape."""
        axes = principal_axes(self.design)
        precision = 1 / self.variance + axes.values**2
        gain = axes.values / precision
        mean = axes.right.T @ (_rows(gain, self.target) * (axes.left.T @ self.target))
        return mean, axes.right.T / jnp.sqrt(precision)

    def from_noise(self, noise):
        mean, root = self.posterior()
        return mean + root @ noise

    def sample(self, key):
        return self.from_noise(standard_normal(key, self.noise_shape))

    def log_density(self, value):
        misfit = jnp.sum((self.target - self.design @ value) ** 2)
        return self.log_scale - 0.5 * (misfit + jnp.sum(value**2) / self.variance)

    @property
    def log_normalizer(self):
        axes = principal_axes(self.design)
        along = axes.left.T @ self.target
        inflation = 1 + self.variance * axes.values**2
        misfit = jnp.sum((self.target - axes.left @ along) ** 2) + jnp.sum(
            along**2 / _rows(inflation, self.target)
        )
        columns = self.target.size // self.target.shape[0]
        log_det = jnp.sum(jnp.log(inflation / (2 * jnp.pi * self.variance)))
        return self.log_scale - 0.5 * (misfit + columns * log_det)


def _rows(x, like):
    """(K,) so that it multiplies rows of (K,) or (K, M)."""
    return x[:, None] if like.ndim == 2 else x
