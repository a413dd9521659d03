"""Clustering: a mixture of K spherical Gaussians with known variances and unknown centres.

    z_i ~ Categorical(mixture),  theta_kj ~ N(0, center_variance),  y_ij ~ N(theta_{z_i j},
    noise_variance)

The state is z; the centres are integrated out. With c_i = b_i / s_n^2, lam_k = 1/s_t^2 + sum_{i in
k} c_i and S_k = sum_{i in k} c_i y_i,

    log f(z; b) = sum_i log pi_{z_i} + const(b) + sum_k [ -(D/2) log(s_t^2 lam_k) + |S_k|^2 / (2
    lam_k) ].

One Gibbs sweep costs O(N K D).
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import (
    Conjugate,
    ConstrainedPrior,
    Enumerable,
    PointFit,
    Predictive,
    RowLatents,
    TransitionDensity,
    Variational,
)
from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import Array, pytree_dataclass, static, unchecked
from bracketz.core.validation import require_components, require_positive
from bracketz.errors import InputError
from bracketz.models.clustering.constrained_prior import ClusteringConstrained
from bracketz.models.clustering.gibbs import ClusteringGibbs
from bracketz.models.clustering.maximum_likelihood import ClusteringFit
from bracketz.models.clustering.state import Centers, ClusteringState
from bracketz.models.clustering.variational import ClusteringMeanField
from bracketz.models.collapsed import CollapsedChain, Row
from bracketz.models.stiff import stiff
from bracketz.numerics.conditionals import Categorical, Gaussian
from bracketz.numerics.gaussian import gaussian_log_constant, normal_log_density, row_log_constant

MAX_ENUMERATION = 2_000_000


class ClusterStatistics(NamedTuple):
    """Posterior of the centres under powers: precision lam_k, precision-weighted sum S_k."""

    precision: jax.Array  # (K,)
    weighted_sum: jax.Array  # (K, D)


@pytree_dataclass
class Clustering(
    Conjugate,
    Model,
    Predictive,
    RowLatents,
    TransitionDensity,
    ConstrainedPrior,
    Variational,
    PointFit,
    Enumerable,
):
    """A mixture of K spherical Gaussians with known variances and unknown centres.

    z_i ~ Categorical(mixture), theta_kj ~ N(0, center_variance), y_ij ~ N(theta_{z_i j},
    noise_variance). The state is z; the centres are integrated out. One Gibbs sweep costs O(N K D).

    Args:
        components: K.
        center_variance: prior variance of a centre's coordinate.
        noise_variance: of a data point's coordinate around its centre.
        mixture: probabilities of the components, (K,); uniform by default.

    Raises:
        InputError: a value out of range, or a mixture that is none.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2, noise_variance=0.5)
        >>> bz.simulate(model, rows=6, columns=2).exact.assignments.shape
        (6,)
    """

    components: int = static(default=10)
    center_variance: float = 0.8
    noise_variance: float = 1.98
    mixture: Array | None = None  # (K,)

    name = "clustering"
    fixed = "centers"

    def __post_init__(self):
        require_components(self.components)
        require_positive(center_variance=self.center_variance, noise_variance=self.noise_variance)
        given = self.mixture
        if given is None:
            given = np.full(self.components, 1.0 / self.components)
        mixture = np.asarray(given, dtype=float)
        if mixture.shape != (self.components,):
            raise InputError(
                f"mixture needs one probability for each of the {self.components} components, got"
                f" {mixture.size}"
            )
        single = self.components == 1
        if not np.all((mixture > 0) & ((mixture < 1) | single)) or abs(mixture.sum() - 1) > 1e-6:
            raise InputError(
                f"mixture must be probabilities inside (0, 1) that sum to 1, got {mixture.tolist()}"
            )
        object.__setattr__(self, "mixture", mixture / mixture.sum())

    @property
    def log_mixture(self) -> jax.Array:
        """log of the mixture's probabilities, (K,)."""
        assert self.mixture is not None  # the default has been filled in
        return jnp.log(self.mixture)

    def doubtful(self, y, states=None):
        return stiff(y, self.noise_variance, self.center_variance / self.noise_variance)

    def suited_to(self, y):
        if type(self) is not Clustering or not self.doubtful(y):
            return self
        from bracketz.models.clustering.careful import CarefulClustering

        return unchecked(CarefulClustering, **vars(self))

    # The four methods.

    def sample_prior(self, key, shape):
        u = jax.random.uniform(key, shape[:1])
        prior = Categorical(self.log_mixture)
        return ClusteringState(jax.vmap(prior.from_noise)(u))

    def log_annealed(self, state, y, powers):
        stats = self._statistics(state.assignments, y, powers / self.noise_variance)
        d = y.shape[1]
        return (
            jnp.sum(self.log_mixture[state.assignments])
            + gaussian_log_constant(y, powers, self.noise_variance)
            - 0.5 * d * jnp.sum(jnp.log(self.center_variance * stats.precision))
            + 0.5 * jnp.sum(jnp.sum(stats.weighted_sum**2, axis=1) / stats.precision)
        )

    def kernel(self, y, powers) -> Kernel:
        return self._gibbs(y, powers)

    def _gibbs(self, y, powers) -> ClusteringGibbs:
        rows = Row(y, jnp.sum(y * y, axis=1), powers / self.noise_variance)
        return ClusteringGibbs(rows, model=self)

    # Integrated-out centres.

    def sample_parameters(self, key, state, shape):
        scale = jnp.sqrt(self.center_variance)
        return Centers(scale * jax.random.normal(key, (self.components, shape[1])))

    def sample_data(self, key, state, parameters):
        mean = self.mean(state, parameters)
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def log_joint(self, state, parameters, y, powers):
        mean = self.mean(state, parameters)
        rows = jax.vmap(lambda row, m: normal_log_density(row, m, self.noise_variance))(y, mean)
        return (
            jnp.sum(self.log_mixture[state.assignments])
            + normal_log_density(parameters.centers, 0.0, self.center_variance)
            + jnp.sum(powers * rows)
        )

    # What conjugate hyperparameters need.

    parameters = Centers

    @property
    def coefficient_variance(self):
        return self.center_variance

    def design(self, state):
        return 1.0 * (state.assignments[:, None] == jnp.arange(self.components))

    def mean(self, state, parameters):
        return parameters.centers[state.assignments]

    def parameter_conditional(self, state, y, powers):
        stats = self._statistics(state.assignments, y, powers / self.noise_variance)
        return Gaussian(jnp.diag(jnp.sqrt(stats.precision)), stats.weighted_sum)

    def latent_statistics(self, state, parameters):
        return {
            "center_variance": (parameters.centers.size, jnp.sum(parameters.centers**2)),
            "log_mixture": (jnp.sum(self.design(state), axis=0),),
        }

    # Capabilities.

    def point_conditional(self, state, y, powers, i):
        gibbs = self._gibbs(y, powers)
        row = jax.tree.map(lambda a: a[i], gibbs.rows)
        latents = gibbs.latents(state)
        cache = gibbs.remove(gibbs.cache(latents), row, latents[i])
        measure = gibbs.conditional(cache, row, latents[i])
        return Categorical(measure.logits + row_log_constant(row.y, powers[i], self.noise_variance))

    def replace_latent(self, state, i, latent):
        return ClusteringState(state.assignments.at[i].set(latent))

    def row_conditional(self, fixed, row, power):
        rows = jax.vmap(lambda center: normal_log_density(row, center, self.noise_variance))(fixed)
        return Categorical(self.log_mixture + power * rows)

    def sample_row(self, key, fixed, latent):
        mean = jnp.asarray(fixed)[latent]
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def scored_chain(self, y):
        return CollapsedChain(self, y)

    def constrained_prior(self, y):
        return ClusteringConstrained(self, y)

    def variational(self, y):
        return ClusteringMeanField(self, y)

    def maximum_likelihood(self, y):
        return ClusteringFit(self, y)

    def nodes(self, shape):
        n = shape[0]
        if self.components**n > MAX_ENUMERATION:
            raise InputError(
                f"{self.components}^{n} assignments are too many to enumerate; use fewer rows or"
                " components"
            )
        every = np.indices((self.components,) * n, dtype=np.int32).reshape(n, -1).T
        return ClusteringState(every), 0.0

    def check_state(self, state):
        assignments = np.asarray(state.assignments)
        if wrong := assignments[(assignments < 0) | (assignments >= self.components)].tolist():
            raise InputError(
                f"an assignment is {wrong[0]}, and {self.components} components are numbered from"
                f" 0 to {self.components - 1}"
            )

    def tiny(self):
        mixture = np.array([0.5, 0.3, 0.2])[: self.components]
        small = dataclasses.replace(
            self,
            components=len(mixture),
            center_variance=1.3,
            noise_variance=0.7,
            mixture=mixture / mixture.sum(),
        )
        return small, (4, 2)

    def _statistics(self, assignments, y, c) -> ClusterStatistics:
        weights = c[:, None] * (assignments[:, None] == jnp.arange(self.components))  # (N, K)
        return ClusterStatistics(1 / self.center_variance + jnp.sum(weights, axis=0), weights.T @ y)
