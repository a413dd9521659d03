"""The collapsed Gibbs sweep of the clustering model."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.kernels.gibbs import GibbsScan
from bracketz.models.clustering.pallas import clustering_draw
from bracketz.models.clustering.row import cluster_logits, square_with
from bracketz.models.clustering.state import ClusteringState
from bracketz.numerics import pallas
from bracketz.numerics.conditionals import Categorical

if TYPE_CHECKING:
    from bracketz.models.clustering.model import Clustering


class ScanCache(NamedTuple):
    """What a sweep keeps: the statistics, and |S_k|^2 so that no visit sums squares again."""

    precision: jax.Array  # (K,)
    weighted_sum: jax.Array  # (K, D)
    square: jax.Array  # (K,)


class WithoutPoint(NamedTuple):
    """The cache less one point. S itself is written once a visit, when the point comes back: until
    then it still holds the point, and the products that matter are corrected instead."""

    precision: jax.Array  # (K,), without the point
    weighted_sum: jax.Array  # (K, D), *with* the point
    square: jax.Array  # (K,), without
    dots: jax.Array  # S_k . y, without, (K,)
    removed: jax.Array  # c at the point's old cluster, 0 elsewhere, (K,)


@dataclasses.dataclass(frozen=True, eq=False)
class ClusteringGibbs(GibbsScan):
    """Collapsed Gibbs: each z_i from its conditional with the centres integrated out."""

    model: "Clustering" = dataclasses.field(kw_only=True)

    def noise(self, key, latents):
        return jax.random.uniform(key, latents.shape)

    def latents(self, state):
        return state.assignments

    def with_latents(self, state, latents):
        return ClusteringState(latents)

    def draw(self, latents, noise):
        if pallas.chosen(self.model.components, self.rows.y.shape[1]):
            return clustering_draw(self, latents, noise)
        return super().draw(latents, noise)

    def cache(self, latents):
        precision, weighted_sum = self.model._statistics(latents, self.rows.y, self.rows.c)
        return ScanCache(precision, weighted_sum, jnp.sum(weighted_sum**2, axis=1))

    def _share(self, row, latent):
        return row.c * (jnp.arange(self.model.components) == latent)

    def remove(self, cache, row, latent):
        w = self._share(row, latent)
        dots = cache.weighted_sum @ row.y
        return WithoutPoint(
            cache.precision - w,
            cache.weighted_sum,
            square_with(cache.square, dots, -w, row.square),
            dots - w * row.square,
            w,
        )

    def insert(self, cache, row, latent):
        w = self._share(row, latent)
        return ScanCache(
            cache.precision + w,
            cache.weighted_sum + (w - cache.removed)[:, None] * row.y,
            square_with(cache.square, cache.dots, w, row.square),
        )

    def conditional(self, cache, row, latent):
        """Common factors of row i are dropped."""
        log_prior = self.model.log_mixture
        return Categorical(
            cluster_logits(
                log_prior,
                cache.precision,
                cache.square,
                cache.dots,
                row.c,
                row.square,
                row.y.shape[0],
            )
        )
