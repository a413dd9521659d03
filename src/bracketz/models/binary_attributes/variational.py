"""The mean-field family of the binary attribute model."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.mean_field import Relabelled, gaussian_kl
from bracketz.numerics.gaussian import gaussian_log_constant


class AttributeBelief(NamedTuple):
    probabilities: jax.Array  # (N, K)
    features: jax.Array  # mean of A, (K, D)
    covariance: jax.Array  # (K, K), shared by columns


@pytree_dataclass
class BinaryMeanField(Relabelled):
    """q(z_ik) independent Bernoullis, q(A) Gaussian with columns sharing a covariance."""

    model: Any
    y: jax.Array

    @property
    def updates(self):
        bits = (lambda q, k=k: self.update_bit(q, k) for k in range(self.model.components))
        return self.update_features, *bits

    def start(self, key):
        """The prior, lightly shaken: of seven kinds of random start tried on the paper-size data,
        among the two best."""
        noise = 0.05 * jax.random.normal(key, (self.y.shape[0], self.model.components))
        return self._from_probabilities(
            jnp.clip(self.model.attribute_probability + noise, 0.01, 0.99)
        )

    def start_at(self, state, parameters):
        return self._from_probabilities(jnp.asarray(state.attributes))

    def _from_probabilities(self, probabilities):
        k, d = self.model.components, self.y.shape[1]
        return self.update_features(AttributeBelief(probabilities, jnp.zeros((k, d)), jnp.eye(k)))

    def update_features(self, q):
        p, noise = q.probabilities, self.model.noise_variance
        zz = p.T @ p + jnp.diag(jnp.sum(p * (1 - p), axis=0))  # E[Z^T Z]
        covariance = jnp.linalg.inv(jnp.eye(zz.shape[0]) / self.model.feature_variance + zz / noise)
        return q._replace(features=covariance @ p.T @ self.y / noise, covariance=covariance)

    def _gram(self, q):
        """E[A A^T]."""
        return q.features @ q.features.T + self.y.shape[1] * q.covariance

    def update_bit(self, q, k):
        gram, p = self._gram(q), q.probabilities
        others = p @ gram[:, k] - p[:, k] * gram[k, k]
        energy = gram[k, k] + 2 * others - 2 * self.y @ q.features[k]
        log_odds, _ = self.model._log_odds()
        logit = log_odds[k] - 0.5 * energy / self.model.noise_variance
        return q._replace(probabilities=p.at[:, k].set(jax.nn.sigmoid(logit)))

    def objective(self, q):
        n, d = self.y.shape
        p, gram = q.probabilities, self._gram(q)
        log_odds, log_off = self.model._log_odds()
        entropy = -jnp.sum(xlogy(p, p) + xlogy(1 - p, 1 - p))
        fit = (
            jnp.sum((p @ gram) * p)
            + jnp.sum((p * (1 - p)) @ jnp.diagonal(gram))
            - 2 * jnp.sum(self.y * (p @ q.features))
        )
        second_moment = jnp.sum(q.features**2) + d * jnp.trace(q.covariance)
        return (
            jnp.sum(p @ log_odds)
            + n * log_off
            + entropy
            + gaussian_log_constant(self.y, jnp.ones(n), self.model.noise_variance)
            - 0.5 * fit / self.model.noise_variance
            - gaussian_kl(second_moment, q.covariance, d, self.model.feature_variance)
        )
