"""Clustering where the noise is far below the data: the same model in other arithmetic.

The usual scan keeps |S_k|^2 and S_k . y, whose errors grow with the data's squares over the noise
variance, and an emptied cluster keeps the rounding of everybody who left. Here a visit takes the
distances from the centres themselves, and who is in a cluster is counted. About twice the cost.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.kernels.gibbs import GibbsScan
from bracketz.models.clustering.gibbs import ClusteringGibbs
from bracketz.models.clustering.model import Clustering
from bracketz.numerics.conditionals import Categorical


class SharedRow(NamedTuple):
    y: jax.Array  # (D,)
    c: jax.Array  # b_i / noise_variance
    share: jax.Array  # c over the largest one: whole numbers on the shipped paths


class Members(NamedTuple):
    """Sums over the members of each cluster."""

    members: jax.Array  # how many with a say, (K,)
    share: jax.Array  # (K,)
    weighted_sum: jax.Array  # of share * y, (K, D)


@dataclasses.dataclass(frozen=True, eq=False)
class CarefulGibbs(ClusteringGibbs):
    """The same draws up to rounding, which stays small."""

    draw = GibbsScan.draw

    def _posterior(self, kept: Members):
        """Precisions (K,) and means (K, D) of the centres."""
        unit = jnp.max(self.rows.c)
        here = kept.members > 0
        precision = 1 / self.model.center_variance + unit * jnp.where(here, kept.share, 0.0)
        sums = jnp.where(here[:, None], kept.weighted_sum, 0.0)
        return precision, (unit / precision)[:, None] * sums

    def _moved(self, kept: Members, row, latent, sign):
        at = sign * (jnp.arange(self.model.components) == latent)
        return Members(
            kept.members + at * (row.share > 0),
            kept.share + at * row.share,
            kept.weighted_sum + (at * row.share)[:, None] * row.y,
        )

    def cache(self, latents):
        at = 1.0 * (latents[:, None] == jnp.arange(self.model.components))
        share = self.rows.share
        return Members((share > 0) @ at, share @ at, (share[:, None] * at).T @ self.rows.y)

    def remove(self, cache, row, latent):
        return self._moved(cache, row, latent, -1.0)

    def insert(self, cache, row, latent):
        return self._moved(cache, row, latent, 1.0)

    def conditional(self, cache, row, latent):
        precision, mean = self._posterior(cache)
        ratio = 1 + row.c / precision
        distance = jnp.sum((row.y - mean) ** 2, axis=1)
        log_density = -0.5 * (row.y.shape[0] * jnp.log(ratio) + row.c / ratio * distance)
        return Categorical(self.model.log_mixture + log_density)


@pytree_dataclass
class CarefulClustering(Clustering):
    """``Clustering``, computed from residuals."""

    def doubtful(self, y, states=None):
        return False

    def suited_to(self, y):
        return self

    def log_annealed(self, state, y, powers):
        gibbs = self._gibbs(y, powers)
        precision, mean = gibbs._posterior(gibbs.cache(state.assignments))
        d = y.shape[1]
        misfit = jnp.sum(gibbs.rows.c * jnp.sum((y - mean[state.assignments]) ** 2, axis=1))
        return (
            jnp.sum(self.log_mixture[state.assignments])
            - 0.5 * d * jnp.sum(powers) * jnp.log(2 * jnp.pi * self.noise_variance)
            - 0.5 * d * jnp.sum(jnp.log(self.center_variance * precision))
            - 0.5 * (misfit + jnp.sum(mean**2) / self.center_variance)
        )

    def _gibbs(self, y, powers) -> CarefulGibbs:
        most = jnp.max(powers)
        share = powers / jnp.where(most > 0, most, 1.0)
        return CarefulGibbs(SharedRow(y, powers / self.noise_variance, share), model=self)

    def point_conditional(self, state, y, powers, i):
        gibbs = self._gibbs(y, powers)
        row = jax.tree.map(lambda a: a[i], gibbs.rows)
        latent = state.assignments[i]
        cache = gibbs.remove(gibbs.cache(state.assignments), row, latent)
        scale = -0.5 * y.shape[1] * powers[i] * jnp.log(2 * jnp.pi * self.noise_variance)
        return Categorical(gibbs.conditional(cache, row, latent).logits + scale)
