"""Maximum-likelihood features, the attributes summed out."""

from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import LikelihoodFit
from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError
from bracketz.models.binary_attributes.row import patterns
from bracketz.numerics.gaussian import row_log_constant

MAX_PATTERN_BITS = 14


@pytree_dataclass
class BinaryFit(LikelihoodFit):
    """EM over the features, with the sum over all 2^K attribute rows done exactly. K D free
    parameters."""

    model: Any
    y: jax.Array

    def __post_init__(self):
        if self.model.components > MAX_PATTERN_BITS:
            raise InputError(
                f"bic sums over 2^K attribute rows and takes at most {MAX_PATTERN_BITS}"
                f" components, got {self.model.components}"
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
        # An attribute nobody has leaves zz singular; a speck of ridge keeps it where the data say
        # nothing.
        return jnp.linalg.solve(zz + 1e-9 * jnp.eye(zz.shape[0]), zy)

    def log_likelihood(self, features):
        return jnp.sum(jax.nn.logsumexp(self._logits(features), axis=1))
