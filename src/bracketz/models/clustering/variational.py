"""The mean-field family of the clustering model."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.mean_field import Relabelled


class ClusterBelief(NamedTuple):
    responsibilities: jax.Array  # (N, K)
    means: jax.Array  # (K, D)
    variances: jax.Array  # (K,)


@pytree_dataclass
class ClusteringMeanField(Relabelled):
    """q(z_i) categorical, q(theta_k) a spherical Gaussian."""

    model: Any
    y: jax.Array

    @property
    def updates(self):
        return self.update_centers, self.update_assignments

    def start(self, key):
        logits = 3 * jax.random.normal(key, (self.y.shape[0], self.model.components))
        return self._from_responsibilities(jax.nn.softmax(logits, axis=1))

    def start_at(self, state, parameters):
        return self._from_responsibilities(jax.nn.one_hot(state.assignments, self.model.components))

    def _from_responsibilities(self, responsibilities):
        k, d = self.model.components, self.y.shape[1]
        return self.update_centers(ClusterBelief(responsibilities, jnp.zeros((k, d)), jnp.ones(k)))

    def update_centers(self, q):
        noise = self.model.noise_variance
        variances = 1 / (
            1 / self.model.center_variance + jnp.sum(q.responsibilities, axis=0) / noise
        )
        means = variances[:, None] * (q.responsibilities.T @ self.y) / noise
        return q._replace(means=means, variances=variances)

    def _expected_distance(self, q):
        """E |y_i - theta_k|^2, (N, K)."""
        square = jnp.sum((self.y[:, None, :] - q.means) ** 2, axis=2)
        return square + self.y.shape[1] * q.variances

    def update_assignments(self, q):
        logits = (
            self.model.log_mixture - 0.5 * self._expected_distance(q) / self.model.noise_variance
        )
        return q._replace(responsibilities=jax.nn.softmax(logits, axis=1))

    def objective(self, q):
        n, d = self.y.shape
        r = q.responsibilities
        second_moments = jnp.sum(q.means**2, axis=1) + d * q.variances
        kl_centers = 0.5 * jnp.sum(
            second_moments / self.model.center_variance
            - d * (1 + jnp.log(q.variances / self.model.center_variance))
        )
        return (
            jnp.sum(r * self.model.log_mixture)
            - jnp.sum(xlogy(r, r))
            - 0.5 * n * d * jnp.log(2 * jnp.pi * self.model.noise_variance)
            - 0.5 * jnp.sum(r * self._expected_distance(q)) / self.model.noise_variance
            - kl_centers
        )
