"""The collapsed Gibbs sweep of the binary attribute model."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.kernels.gibbs import GibbsScan
from bracketz.models.binary_attributes.flips import FlipByFlip
from bracketz.models.binary_attributes.pallas import binary_draw
from bracketz.models.binary_attributes.row import BitByBit, RowWeight, WholeRow, rank_one
from bracketz.models.binary_attributes.state import BinaryState
from bracketz.numerics import pallas

if TYPE_CHECKING:
    from bracketz.models.binary_attributes.model import BinaryAttributes


class FeaturePosterior(NamedTuple):
    """Gaussian posterior of A under powers; its columns share the covariance. M = P^-1 H is its
    mean."""

    covariance: jax.Array  # P^-1, (K, K)
    gram: jax.Array  # M M^T, (K, K)
    weighted_sum: jax.Array  # H, (K, D)


class WithoutRow(NamedTuple):
    """The posterior less one row. H is written once a visit, when the row comes back: until then it
    still holds the row, and only M y is corrected."""

    covariance: jax.Array  # (K, K), without the row
    gram: jax.Array  # (K, K), without
    cross: jax.Array  # M y, (K,), without
    weighted_sum: jax.Array  # (K, D), *with* the row
    removed: jax.Array  # the row's bits, (K,)


@dataclasses.dataclass(frozen=True, eq=False)
class BinaryGibbs(GibbsScan):
    """Collapsed Gibbs over rows, with the posterior of A kept by rank-one steps."""

    model: "BinaryAttributes" = dataclasses.field(kw_only=True)
    whole_row: bool = dataclasses.field(kw_only=True)

    def noise(self, key, latents):
        n, k = latents.shape
        return jax.random.uniform(key, (n, 2 if self.whole_row else k))

    def latents(self, state):
        return state.attributes

    def with_latents(self, state, latents):
        return BinaryState(latents)

    def draw(self, latents, noise):
        bits = not self.whole_row and self.model.row_update != "flips"
        if bits and pallas.chosen(self.model.components, self.rows.y.shape[1]):
            return binary_draw(self, latents, noise)
        return super().draw(latents, noise)

    def cache(self, latents):
        cholesky, h = self.model._precision(latents, self.rows.y, self.rows.c)
        covariance = jax.scipy.linalg.cho_solve((cholesky, True), jnp.eye(h.shape[0]))
        mean = covariance @ h
        return FeaturePosterior(covariance, mean @ mean.T, h)

    def remove(self, cache, row, latent):
        cross = cache.covariance @ (cache.weighted_sum @ row.y)
        covariance, gram, change = rank_one(
            cache.covariance, cache.gram, cross, row.square, latent, -row.c
        )
        return WithoutRow(covariance, gram, cross + change, cache.weighted_sum, latent)

    def insert(self, cache, row, latent):
        covariance, gram, _ = rank_one(
            cache.covariance, cache.gram, cache.cross, row.square, latent, row.c
        )
        weights = row.c * (latent - cache.removed)
        return FeaturePosterior(covariance, gram, cache.weighted_sum + weights[:, None] * row.y)

    def conditional(self, cache, row, latent):
        weight = RowWeight(
            *self.model._log_odds(),
            cache.covariance,
            cache.gram,
            cache.cross,
            row.square,
            row.c,
            row.y.shape[0],
        )
        if self.whole_row:
            return WholeRow(weight)
        one_bit_at_a_time = FlipByFlip if self.model.row_update == "flips" else BitByBit
        return one_bit_at_a_time(weight, latent, self.backward)
