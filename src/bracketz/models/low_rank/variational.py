"""The mean-field family of the low-rank model."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.mean_field import Relabelled, gaussian_kl
from bracketz.numerics.gaussian import gaussian_log_constant


class FactorBelief(NamedTuple):
    left: jax.Array  # mean of U, (N, K)
    left_covariance: jax.Array  # (K, K), shared by rows
    right: jax.Array  # mean of V, (K, D)
    right_covariance: jax.Array  # (K, K), shared by columns


@pytree_dataclass
class LowRankMeanField(Relabelled):
    """q(U) and q(V) Gaussian; rows of U share a covariance at the optimum, and so do columns
    of V."""

    model: Any
    y: jax.Array

    @property
    def updates(self):
        return self.update_left, self.update_right

    def start(self, key):
        k = self.model.components
        right = jnp.sqrt(self.model.right_variance) * jax.random.normal(key, (k, self.y.shape[1]))
        return self._from_right(right, 0.1 * self.model.right_variance)

    def start_at(self, state, parameters):
        return self._from_right(jnp.asarray(state.right), 1e-3 * self.model.right_variance)

    def _from_right(self, right, variance):
        n, k = self.y.shape[0], self.model.components
        q = FactorBelief(jnp.zeros((n, k)), jnp.eye(k), right, variance * jnp.eye(k))
        return self.update_left(q)

    def _second_moments(self, q):
        """E[U^T U] and E[V V^T]."""
        n, d = self.y.shape
        return (
            q.left.T @ q.left + n * q.left_covariance,
            q.right @ q.right.T + d * q.right_covariance,
        )

    def update_left(self, q):
        _, vv = self._second_moments(q)
        noise = self.model.noise_variance
        covariance = jnp.linalg.inv(jnp.eye(vv.shape[0]) / self.model.left_variance + vv / noise)
        return q._replace(left=self.y @ q.right.T @ covariance / noise, left_covariance=covariance)

    def update_right(self, q):
        uu, _ = self._second_moments(q)
        noise = self.model.noise_variance
        covariance = jnp.linalg.inv(jnp.eye(uu.shape[0]) / self.model.right_variance + uu / noise)
        return q._replace(right=covariance @ q.left.T @ self.y / noise, right_covariance=covariance)

    def objective(self, q):
        n, d = self.y.shape
        uu, vv = self._second_moments(q)
        noise = self.model.noise_variance
        fit = jnp.sum(uu * vv) - 2 * jnp.sum(self.y * (q.left @ q.right))
        return (
            gaussian_log_constant(self.y, jnp.ones(n), noise)
            - 0.5 * fit / noise
            - gaussian_kl(jnp.trace(uu), q.left_covariance, n, self.model.left_variance)
            - gaussian_kl(jnp.trace(vv), q.right_covariance, d, self.model.right_variance)
        )
