"""Maximum-likelihood fits with the latent variables summed or integrated out, for BIC.

The hyperparameters are known, as everywhere here; what is fitted are the centres, V or A.
"""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.errors import InputError
from bracketz.models.base import Fit, row_log_constant
from bracketz.models.binary_row import patterns
from bracketz.pytree import pytree_dataclass

MAX_PATTERN_BITS = 14


@pytree_dataclass
class ClusteringFit(Fit):
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
        return jnp.where(total[:, None] > 1e-12, (r.T @ self.y) / jnp.maximum(total, 1e-12)[:, None], centers)

    def log_likelihood(self, centers):
        return jnp.sum(jax.nn.logsumexp(self._logits(centers), axis=1))


@pytree_dataclass
class LowRankFit(Fit):
    """Probabilistic PCA with known noise, in closed form.

    Rows are N(0, s_n I + s_u V^T V), so the optimum V aligns with the top K eigenvectors of Y^T Y / N and
    gives them variance max(eigenvalue, s_n). Rotations of V do not change the likelihood: K D - K (K - 1) / 2 free
    parameters.
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


@pytree_dataclass
class BinaryFit(Fit):
    """EM over the features, with the sum over all 2^K attribute rows done exactly. K D free parameters."""

    model: Any
    y: jax.Array

    def __post_init__(self):
        if self.model.components > MAX_PATTERN_BITS:
            raise InputError(
                f"bic sums over 2^K attribute rows and takes at most {MAX_PATTERN_BITS} components, got"
                f" {self.model.components}"
            )

    @property
    def num_parameters(self):
        return self.model.components * self.y.shape[1]

    def start(self, key):
        scale = jnp.sqrt(self.model.feature_variance)
        return scale * jax.random.normal(key, (self.model.components, self.y.shape[1]))

    def _logits(self, features):
        """log p(z) p(y_i | z, A) for every row i and pattern z, (N, 2^K)."""
        bits = jnp.asarray(patterns(self.model.components))
        log_odds, log_off = self.model._log_odds()
        mean = bits @ features
        noise = self.model.noise_variance
        constant = jax.vmap(lambda row: row_log_constant(row, 1.0, noise))(self.y)
        energy = self.y @ mean.T - 0.5 * jnp.sum(mean**2, axis=1)
        return log_off + bits @ log_odds + constant[:, None] + energy / noise

    def update(self, features):
        bits = jnp.asarray(patterns(self.model.components))
        r = jax.nn.softmax(self._logits(features), axis=1)
        zz = (bits * jnp.sum(r, axis=0)[:, None]).T @ bits  # E[Z^T Z]
        zy = (r @ bits).T @ self.y  # E[Z]^T Y
        # An attribute nobody has leaves zz singular; a speck of ridge keeps it where the data say nothing.
        return jnp.linalg.solve(zz + 1e-9 * jnp.eye(zz.shape[0]), zy)

    def log_likelihood(self, features):
        return jnp.sum(jax.nn.logsumexp(self._logits(features), axis=1))
