"""Nested sampling's moves on the low-rank model."""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import Constrained
from bracketz.core.pytree import pytree_dataclass
from bracketz.models.low_rank.state import Factors
from bracketz.numerics.conditionals import TruncatedNormal
from bracketz.numerics.gaussian import gaussian_log_constant


@pytree_dataclass
class LowRankConstrained(Constrained):
    """(U, V), one entry at a time from its normal prior cut to the interval where the quadratic
    log-likelihood exceeds the cutoff; the other algorithms' blocks are of no use here (paper,
    Results)."""

    model: Any
    y: jax.Array

    def sample_prior(self, key):
        key_left, key_right = jax.random.split(key)
        left = self.model.sample_parameters(key_left, None, self.y.shape).left
        return Factors(left, self.model.sample_prior(key_right, self.y.shape).right)

    def _constant(self):
        n = self.y.shape[0]
        return gaussian_log_constant(
            jnp.zeros(self.y.shape), jnp.ones(n), self.model.noise_variance
        )

    def log_likelihood(self, state):
        residual = self.y - state.left @ state.right
        return self._constant() - 0.5 * jnp.sum(residual**2) / self.model.noise_variance

    def step(self, key, state, cutoff):
        # log L > cutoff is |Y - U V|^2 < limit.
        limit = 2 * self.model.noise_variance * (self._constant() - cutoff)
        key_left, key_right = jax.random.split(key)
        left = self._sweep(
            key_left, self.y, state.left, state.right, limit, self.model.left_variance
        )
        right = self._sweep(
            key_right, self.y.T, state.right.T, left.T, limit, self.model.right_variance
        ).T
        return Factors(left, right)

    def _sweep(self, key, y, left, right, limit, variance):
        """Redraw the entries of ``left``, row by row, with ``right`` fixed (V: the same,
        transposed)."""
        squares = jnp.sum(right**2, axis=1)
        residual = y - left @ right

        def visit(total, row):
            entries, r, u = row
            values = list(entries)
            for k, old in enumerate(values):
                # |r + (old - x) right_k|^2 = |r|^2 + 2 (old - x) b + (old - x)^2 a, and total may
                # rise to limit.
                a, b = squares[k], r @ right[k]
                middle = old + b / a
                half = jnp.sqrt(
                    jnp.maximum((b / a) ** 2 + jnp.maximum(limit - total, 0.0) / a, 0.0)
                )
                x = TruncatedNormal(middle - half, middle + half, variance).from_noise(u[k])
                change = old - x
                total = total + 2 * change * b + change**2 * a
                r = r + change * right[k]
                values[k] = x
            return total, jnp.stack(values)

        noise = jax.random.uniform(key, left.shape)
        _, new = jax.lax.scan(visit, jnp.sum(residual**2), (left, residual, noise))
        return new
