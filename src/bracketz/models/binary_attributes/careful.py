"""Binary attributes where the noise is far below the data: the same model in other arithmetic.

Taking a row out of a posterior by a rank-one step divides by 1 - c z^T P^-1 z, which is nothing but
rounding where the row alone knows a feature. Here every visit takes the posterior of the features
without the row from scratch (``numerics.ridge``): O(N K (K + D)) a row.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.kernels.gibbs import GibbsScan
from bracketz.models.binary_attributes.flips import FlipByFlip
from bracketz.models.binary_attributes.gibbs import BinaryGibbs
from bracketz.models.binary_attributes.model import BinaryAttributes
from bracketz.models.binary_attributes.row import BitByBit, WholeRow, patterns
from bracketz.numerics.gaussian import row_log_constant
from bracketz.numerics.ridge import Ridge


class NumberedRow(NamedTuple):
    y: jax.Array  # (D,)
    c: jax.Array  # b_i / noise_variance
    number: jax.Array


class FeaturesWithout(NamedTuple):
    """All attributes, and the posterior of the features without row ``number``."""

    latents: jax.Array  # (N, K)
    number: jax.Array
    mean: jax.Array  # M, (K, D)
    root: jax.Array  # (K, K): the covariance is root root^T


class ResidualWeight(NamedTuple):
    """``RowWeight`` from residuals instead of products."""

    log_odds: jax.Array
    log_off: jax.Array
    mean: jax.Array
    root: jax.Array
    y: jax.Array
    c: jax.Array
    columns: int

    def weight(self, prior, variance, distance):
        inflation = 1 + self.c * variance
        return prior - 0.5 * (self.columns * jnp.log(inflation) + self.c * distance / inflation)

    def of(self, bits):
        return self.weight(self.log_off + bits @ self.log_odds, *self.quadratics(bits))

    @property
    def covariance(self):
        return self.root @ self.root.T

    @property
    def gram(self):
        return self.mean @ self.mean.T

    def quadratics(self, bits, cov_z=None, gram_z=None):
        return jnp.sum((bits @ self.root) ** 2), jnp.sum((self.y - bits @ self.mean) ** 2)

    def table(self):
        k = self.log_odds.shape[0]
        return jax.vmap(self.of)(jnp.asarray(patterns(k))).reshape(2 ** (k // 2), -1)


def walk(visited: BitByBit, choose):
    """``BitByBit.walk`` with the residual and the whitened row of every visit taken afresh."""
    w: Any = visited.row
    bits = list(visited.current)
    for k in range(len(bits))[:: -1 if visited.backward else 1]:
        off = jnp.stack([*bits[:k], jnp.zeros_like(bits[k]), *bits[k + 1 :]])
        white, residual = off @ w.root, w.y - off @ w.mean
        dv = w.root[k] @ (2 * white + w.root[k])
        dr = w.mean[k] @ (w.mean[k] - 2 * residual)
        bits[k] = choose(k, jnp.sum(white**2), jnp.sum(residual**2), dv, dr)
    row = jnp.stack(bits)
    return row, w.quadratics(row)


class CarefulBits(BitByBit):
    walk = walk


class CarefulFlips(FlipByFlip):
    walk = walk


@dataclasses.dataclass(frozen=True, eq=False)
class CarefulGibbs(BinaryGibbs):
    """The same draws up to rounding, which stays small. The cache is the attributes themselves."""

    model: "CarefulBinaryAttributes" = dataclasses.field(kw_only=True)
    draw = GibbsScan.draw

    def cache(self, latents):
        return latents

    def remove(self, cache, row, latent):
        others = jnp.arange(cache.shape[0]) != row.number
        features = self.model._features(cache, self.rows.y, others * self.rows.c)
        return FeaturesWithout(cache, row.number, *features.posterior())

    def insert(self, cache, row, latent):
        return cache.latents.at[cache.number].set(latent)

    def conditional(self, cache, row, latent):
        odds = self.model._log_odds()
        weight: Any = ResidualWeight(*odds, cache.mean, cache.root, row.y, row.c, row.y.shape[0])
        if self.whole_row:
            return WholeRow(weight)
        one_bit_at_a_time = CarefulFlips if self.model.row_update == "flips" else CarefulBits
        return one_bit_at_a_time(weight, latent, self.backward)


@pytree_dataclass
class CarefulBinaryAttributes(BinaryAttributes):
    """``BinaryAttributes``, computed from residuals and singular values."""

    def doubtful(self, y, states=None):
        return False

    def suited_to(self, y):
        return self

    def _features(self, z, y, c) -> Ridge:
        """The features given the attributes."""
        root = jnp.sqrt(c)[:, None]
        return Ridge(root * z, root * y, self.feature_variance)

    def log_annealed(self, state, y, powers):
        z, d = state.attributes, y.shape[1]
        prior = self.components * jnp.log(2 * jnp.pi * self.feature_variance)
        noise = jnp.sum(powers) * jnp.log(2 * jnp.pi * self.noise_variance)
        features = self._features(z, y, powers / self.noise_variance)
        return self._log_prior(z) - 0.5 * d * (prior + noise) + features.log_normalizer

    def _gibbs(self, y, powers, whole_row):
        rows = NumberedRow(y, powers / self.noise_variance, jnp.arange(y.shape[0]))
        return CarefulGibbs(rows, model=self, whole_row=whole_row)

    def parameter_conditional(self, state, y, powers):
        return self._features(state.attributes, y, powers / self.noise_variance)

    def row_conditional(self, fixed, row, power):
        k = self.components
        c = power / self.noise_variance
        odds = self._log_odds()
        weight: Any = ResidualWeight(*odds, fixed, jnp.zeros((k, k)), row, c, row.shape[0])
        return WholeRow(weight, row_log_constant(jnp.zeros_like(row), power, self.noise_variance))
