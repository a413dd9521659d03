"""Mean-field families for the three models: q(latents) q(parameters), by coordinate ascent.

Every update is the exact optimum of one factor given the other, so the objective never falls (paper, eqn.
variational-bayes-objfn). Notation: s_n noise variance, N x D data, K components.
"""

from math import lgamma
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy

from bracketz.models.base import MeanField, gaussian_log_constant
from bracketz.pytree import pytree_dataclass


def _gaussian_kl(total_second_moment, covariance, count, variance):
    """KL of ``count`` Gaussians sharing ``covariance`` from N(0, variance I), given sum of E[x^T x]."""
    k = covariance.shape[0]
    log_det = jnp.linalg.slogdet(covariance)[1]
    return 0.5 * (total_second_moment / variance - count * (k + log_det - k * jnp.log(variance)))


class _Relabelled(MeanField):
    """K exchangeable components have K! labelings."""

    model: Any

    @property
    def log_relabelings(self):
        return lgamma(self.model.components + 1)


class ClusterBelief(NamedTuple):
    responsibilities: jax.Array  # (N, K)
    means: jax.Array  # (K, D)
    variances: jax.Array  # (K,)


@pytree_dataclass
class ClusteringMeanField(_Relabelled):
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
        variances = 1 / (1 / self.model.center_variance + jnp.sum(q.responsibilities, axis=0) / noise)
        means = variances[:, None] * (q.responsibilities.T @ self.y) / noise
        return q._replace(means=means, variances=variances)

    def _expected_distance(self, q):
        """E |y_i - theta_k|^2, (N, K)."""
        square = jnp.sum((self.y[:, None, :] - q.means) ** 2, axis=2)
        return square + self.y.shape[1] * q.variances

    def update_assignments(self, q):
        logits = jnp.log(self.model.mixture) - 0.5 * self._expected_distance(q) / self.model.noise_variance
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
            jnp.sum(r * jnp.log(self.model.mixture))
            - jnp.sum(xlogy(r, r))
            - 0.5 * n * d * jnp.log(2 * jnp.pi * self.model.noise_variance)
            - 0.5 * jnp.sum(r * self._expected_distance(q)) / self.model.noise_variance
            - kl_centers
        )


class FactorBelief(NamedTuple):
    left: jax.Array  # mean of U, (N, K)
    left_covariance: jax.Array  # (K, K), shared by rows
    right: jax.Array  # mean of V, (K, D)
    right_covariance: jax.Array  # (K, K), shared by columns


@pytree_dataclass
class LowRankMeanField(_Relabelled):
    """q(U) and q(V) Gaussian; rows of U share a covariance at the optimum, and so do columns of V."""

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
            - _gaussian_kl(jnp.trace(uu), q.left_covariance, n, self.model.left_variance)
            - _gaussian_kl(jnp.trace(vv), q.right_covariance, d, self.model.right_variance)
        )


class AttributeBelief(NamedTuple):
    probabilities: jax.Array  # (N, K)
    features: jax.Array  # mean of A, (K, D)
    covariance: jax.Array  # (K, K), shared by columns


@pytree_dataclass
class BinaryMeanField(_Relabelled):
    """q(z_ik) independent Bernoullis, q(A) Gaussian with columns sharing a covariance."""

    model: Any
    y: jax.Array

    @property
    def updates(self):
        bits = (lambda q, k=k: self.update_bit(q, k) for k in range(self.model.components))
        return self.update_features, *bits

    def start(self, key):
        """The prior, lightly shaken: of seven kinds of random start tried on the paper-size data, among the two best."""
        noise = 0.05 * jax.random.normal(key, (self.y.shape[0], self.model.components))
        return self._from_probabilities(jnp.clip(self.model.attribute_probability + noise, 0.01, 0.99))

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
            - _gaussian_kl(second_moment, q.covariance, d, self.model.feature_variance)
        )
