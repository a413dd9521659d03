"""The maximum-likelihood right factor, the left one integrated out."""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import LikelihoodFit
from bracketz.core.pytree import pytree_dataclass


@pytree_dataclass
class LowRankFit(LikelihoodFit):
    """Probabilistic PCA with known noise, in closed form.

    Rows are N(0, s_n I + s_u V^T V), so the optimum V aligns with the top K eigenvectors of Y^T Y /
    N and gives them variance max(eigenvalue, s_n). Rotations of V do not change the likelihood: K D
    - K (K - 1) / 2 free parameters.
    """

    model: Any
    y: jax.Array

    @property
    def num_parameters(self):
        k = min(self.model.components, self.y.shape[1])
        return k * self.y.shape[1] - k * (k - 1) // 2

    def start(self, key):
        n, d = self.y.shape
        k = self.model.components
        values, vectors = jnp.linalg.eigh(self.y.T @ self.y / n)
        top = min(k, d)
        excess = jnp.maximum(values[::-1][:top] - self.model.noise_variance, 0.0)
        scale = jnp.sqrt(excess / self.model.left_variance)
        return jnp.zeros((k, d)).at[:top].set(scale[:, None] * vectors[:, ::-1][:, :top].T)

    def update(self, right):
        return right

    def log_likelihood(self, right):
        rows = jax.vmap(lambda row: self.model.row_conditional(right, row, 1.0).log_normalizer)
        return jnp.sum(rows(self.y))
