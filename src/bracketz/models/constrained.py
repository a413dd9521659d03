"""Moves on the prior above a likelihood cutoff, for nested sampling.

Each redraws one variable from its prior restricted to the values that keep log L above the cutoff, which
leaves the constrained prior invariant. A sweep visits all variables.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.conditional import TruncatedNormal, inverse_cdf
from bracketz.models.base import Constrained, gaussian_log_constant
from bracketz.models.binary_row import BitByBit
from bracketz.models.low_rank import Factors
from bracketz.pytree import pytree_dataclass


class _CollapsedConstrained(Constrained):
    """Centres or features are integrated out, so L(z) = p(y | z) = f(z; 1) / f(z; 0)."""

    def sample_prior(self, key):
        return self.model.sample_prior(key, self.y.shape)

    def log_likelihood(self, state):
        n = self.y.shape[0]
        powers = jnp.stack([jnp.ones(n), jnp.zeros(n)])
        joint, prior = jax.vmap(lambda b: self.model.log_annealed(state, self.y, b))(powers)
        return joint - prior

    def step(self, key, state, cutoff):
        gibbs = self._gibbs()
        latents = gibbs.latents(state)

        def visit(carry, point):
            cache, level = carry
            row, latent, u = point
            cache = gibbs.remove(cache, row, latent)
            new, level = self._redraw(gibbs, cache, row, latent, level, cutoff, u)
            return (gibbs.insert(cache, row, new), level), new

        noise = jax.random.uniform(key, latents.shape)
        start = (gibbs.cache(latents), self.log_likelihood(state))
        _, new = jax.lax.scan(visit, start, (gibbs.rows, latents, noise))
        return gibbs.with_latents(state, new)


@pytree_dataclass
class ClusteringConstrained(_CollapsedConstrained):
    """z_i from the mixture restricted to the clusters that keep p(y | z) above the cutoff."""

    model: Any
    y: jax.Array

    def _gibbs(self):
        return self.model.kernel(self.y, jnp.ones(self.y.shape[0]))

    def _redraw(self, gibbs, cache, row, latent, level, cutoff, u):
        prior = jnp.log(self.model.mixture)
        gains = gibbs.conditional(cache, row, latent).logits - prior
        levels = level - gains[latent] + gains
        # The current value is inside; keep it allowed whatever rounding says.
        allowed = (levels > cutoff) | (jnp.arange(self.model.components) == latent)
        new = inverse_cdf(jnp.where(allowed, self.model.mixture, 0.0), u)
        return new, levels[new]


@pytree_dataclass
class BinaryConstrained(_CollapsedConstrained):
    """Each bit from its Bernoulli prior restricted to the values that keep p(y | Z) above the cutoff."""

    model: Any
    y: jax.Array

    def _gibbs(self):
        return self.model._gibbs(self.y, jnp.ones(self.y.shape[0]), whole_row=False)

    def _redraw(self, gibbs, cache, row, latent, level, cutoff, u):
        bit_by_bit = gibbs.conditional(cache, row, latent)
        assert isinstance(bit_by_bit, BitByBit)
        weight = bit_by_bit.row
        gain = functools.partial(weight.weight, 0.0)  # log-likelihood, up to a constant of this row
        wishes = (u < jax.nn.sigmoid(weight.log_odds)).astype(latent.dtype)
        # A constant of the row shifts the cutoff, so that no running level is carried from bit to bit.
        before = weight.quadratics(latent, weight.covariance @ latent, weight.gram @ latent)
        offset = level - gain(*before)

        def choose(k, v0, r0, dv, dr):
            # A wish refused leaves the current value, which is inside.
            allowed = gain(v0 + wishes[k] * dv, r0 + wishes[k] * dr) > cutoff - offset
            return jnp.where(allowed, wishes[k], latent[k])

        bits, after = bit_by_bit.walk(choose)
        return bits, offset + gain(*after)


@pytree_dataclass
class LowRankConstrained(Constrained):
    """(U, V), one entry at a time from its normal prior cut to the interval where the quadratic
    log-likelihood exceeds the cutoff; the other algorithms' blocks are of no use here (paper, Results)."""

    model: Any
    y: jax.Array

    def sample_prior(self, key):
        key_left, key_right = jax.random.split(key)
        left = self.model.sample_parameters(key_left, None, self.y.shape).left
        return Factors(left, self.model.sample_prior(key_right, self.y.shape).right)

    def _constant(self):
        n = self.y.shape[0]
        return gaussian_log_constant(jnp.zeros(self.y.shape), jnp.ones(n), self.model.noise_variance)

    def log_likelihood(self, state):
        residual = self.y - state.left @ state.right
        return self._constant() - 0.5 * jnp.sum(residual**2) / self.model.noise_variance

    def step(self, key, state, cutoff):
        # log L > cutoff is |Y - U V|^2 < limit.
        limit = 2 * self.model.noise_variance * (self._constant() - cutoff)
        key_left, key_right = jax.random.split(key)
        left = self._sweep(key_left, self.y, state.left, state.right, limit, self.model.left_variance)
        right = self._sweep(key_right, self.y.T, state.right.T, left.T, limit, self.model.right_variance).T
        return Factors(left, right)

    def _sweep(self, key, y, left, right, limit, variance):
        """Redraw the entries of ``left``, row by row, with ``right`` fixed (V: the same, transposed)."""
        squares = jnp.sum(right**2, axis=1)
        residual = y - left @ right

        def visit(total, row):
            entries, r, u = row
            values = list(entries)
            for k, old in enumerate(values):
                # |r + (old - x) right_k|^2 = |r|^2 + 2 (old - x) b + (old - x)^2 a, and total may rise to limit.
                a, b = squares[k], r @ right[k]
                middle = old + b / a
                half = jnp.sqrt(jnp.maximum((b / a) ** 2 + jnp.maximum(limit - total, 0.0) / a, 0.0))
                x = TruncatedNormal(middle - half, middle + half, variance).from_noise(u[k])
                change = old - x
                total = total + 2 * change * b + change**2 * a
                r = r + change * right[k]
                values[k] = x
            return total, jnp.stack(values)

        noise = jax.random.uniform(key, left.shape)
        _, new = jax.lax.scan(visit, jnp.sum(residual**2), (left, residual, noise))
        return new
