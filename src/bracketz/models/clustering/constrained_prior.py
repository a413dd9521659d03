"""Nested sampling's moves on the clustering model."""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.collapsed import CollapsedConstrained
from bracketz.numerics.conditionals import inverse_cdf


@pytree_dataclass
class ClusteringConstrained(CollapsedConstrained):
    """z_i from the mixture restricted to the clusters that keep p(y | z) above the cutoff."""

    model: Any
    y: jax.Array

    def _gibbs(self):
        return self.model.kernel(self.y, jnp.ones(self.y.shape[0]))

    def _redraw(self, gibbs, cache, row, latent, level, cutoff, u):
        prior = self.model.log_mixture
        gains = gibbs.conditional(cache, row, latent).logits - prior
        levels = level - gains[latent] + gains
        # The current value is inside; keep it allowed whatever rounding says.
        allowed = (levels > cutoff) | (jnp.arange(self.model.components) == latent)
        new = inverse_cdf(jnp.where(allowed, self.model.mixture, 0.0), u)
        return new, levels[new]
