"""Maximum-likelihood centres of the clustering model, assignments summed out."""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import LikelihoodFit
from bracketz.core.pytree import pytree_dataclass


@pytree_dataclass
class ClusteringFit(LikelihoodFit):
    """EM over the centres, mixture and noise known. K D free parameters."""

    model: Any
    y: jax.Array

    @property
    def num_parameters(self):
        return self.model.components * self.y.shape[1]

    def start(self, key):
        """Centres at distinct data points (with repeats only if there are too few)."""
        n, k = self.y.shape[0], self.model.components
        index = jax.random.choice(key, n, (k,), replace=n < k)
        return jnp.asarray(self.y)[index]

    def _logits(self, centers):
        rows = jax.vmap(lambda row: self.model.row_conditional(centers, row, 1.0).logits)
        return rows(self.y)

    def update(self, centers):
        r = jax.nn.softmax(self._logits(centers), axis=1)
        total = jnp.sum(r, axis=0)
        # A cluster nobody belongs to stays where it is.
        return jnp.where(
            total[:, None] > 1e-12, (r.T @ self.y) / jnp.maximum(total, 1e-12)[:, None], centers
        )

    def log_likelihood(self, centers):
        return jnp.sum(jax.nn.logsumexp(self._logits(centers), axis=1))
