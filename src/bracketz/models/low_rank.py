"""Low rank: Y = U V + noise, with Gaussian factors.

    u_ik ~ N(0, left_variance),  v_kj ~ N(0, right_variance),  y_ij ~ N(u_i . v_j, noise_variance)

The state is V; U is integrated out and appears only inside the kernel (draw U | V, then V | U).
With c_i = b_i / s_n^2 and Lam_i = I/s_u^2 + c_i V V^T,

    log f(V; b) = log p(V) + const(b) + sum_i [ -(1/2) log det(s_u^2 Lam_i) + (c_i^2/2) y_i^T V^T Lam_i^-1 V y_i ].

All Lam_i share the eigenvectors of V V^T, so one K x K eigendecomposition serves every row:
O(N K D + K^3) for a density or a sweep.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.conditional import Gaussian
from bracketz.errors import InputError
from bracketz.kernel import Reversible, Visit
from bracketz.models.base import (
    Conjugate,
    Enumerable,
    Model,
    Predictive,
    RowLatents,
    gaussian_log_constant,
    normal_log_density,
    require_components,
    require_positive,
    row_log_constant,
)
from bracketz.models.inference import ShippedInference
from bracketz.noise import standard_normal
from bracketz.pytree import pytree_dataclass, static


class LowRankState(NamedTuple):
    right: jax.Array  # V, (K, D)


class Left(NamedTuple):
    left: jax.Array  # U, (N, K)


class Factors(NamedTuple):
    """Both factors, where an algorithm cannot do without U."""

    left: jax.Array  # (N, K)
    right: jax.Array  # (K, D)


class Spectrum(NamedTuple):
    """V V^T = Q diag(e) Q^T, and every row projected: Q^T V y_i."""

    vectors: jax.Array  # Q, (K, K)
    values: jax.Array  # e, (K,)
    projected: jax.Array  # (N, K)

    def precision(self, c, left_variance):
        """Eigenvalues of Lam_i for every row, (N, K)."""
        return 1 / left_variance + c[:, None] * self.values


def spectrum(right, y) -> Spectrum:
    values, vectors = jnp.linalg.eigh(right @ right.T)
    return Spectrum(vectors, jnp.maximum(values, 0.0), (y @ right.T) @ vectors)


@pytree_dataclass
class LowRank(Conjugate, Model, Predictive, RowLatents, ShippedInference, Enumerable):
    """See the module docstring."""

    components: int = static(default=5)
    left_variance: float = 1.0
    right_variance: float = 1.0
    noise_variance: float = 0.63

    fixed = "right"
    family = "LowRank"
    chain = "LowRankChain"

    def __post_init__(self):
        require_components(self.components)
        require_positive(
            left_variance=self.left_variance,
            right_variance=self.right_variance,
            noise_variance=self.noise_variance,
        )

    # The four methods.

    def sample_prior(self, key, shape):
        scale = jnp.sqrt(self.right_variance)
        return LowRankState(scale * jax.random.normal(key, (self.components, shape[1])))

    def log_annealed(self, state, y, powers):
        c = powers / self.noise_variance
        basis = spectrum(state.right, y)
        precision = basis.precision(c, self.left_variance)
        return (
            normal_log_density(state.right, 0.0, self.right_variance)
            + gaussian_log_constant(y, powers, self.noise_variance)
            - 0.5 * jnp.sum(jnp.log(self.left_variance * precision))
            + 0.5 * jnp.sum((c[:, None] * basis.projected) ** 2 / precision)
        )

    def kernel(self, y, powers) -> "LowRankGibbs":
        return LowRankGibbs(self, y, powers / self.noise_variance)

    # The integrated-out left factor.

    def sample_parameters(self, key, state, shape):
        scale = jnp.sqrt(self.left_variance)
        return Left(scale * jax.random.normal(key, (shape[0], self.components)))

    def sample_data(self, key, state, parameters):
        mean = self.mean(state, parameters)
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def log_joint(self, state, parameters, y, powers):
        mean = self.mean(state, parameters)
        rows = jax.vmap(lambda row, m: normal_log_density(row, m, self.noise_variance))(y, mean)
        return (
            normal_log_density(parameters.left, 0.0, self.left_variance)
            + normal_log_density(state.right, 0.0, self.right_variance)
            + jnp.sum(powers * rows)
        )

    # What conjugate hyperparameters need.

    parameters = Left
    by_rows = True

    @property
    def coefficient_variance(self):
        return self.left_variance

    def design(self, state):
        return state.right.T

    def mean(self, state, parameters):
        return parameters.left @ state.right

    def parameter_conditional(self, state, y, powers):
        return self.kernel(y, powers).left_conditional(state.right)

    def latent_statistics(self, state, parameters):
        return {
            "left_variance": (parameters.left.size, jnp.sum(parameters.left**2)),
            "right_variance": (state.right.size, jnp.sum(state.right**2)),
        }

    # Capabilities.

    def point_conditional(self, state, y, powers, i):
        return self.row_conditional(state.right, y[i], powers[i])

    def replace_latent(self, state, i, latent):
        return state  # u_i is integrated out of the state

    def row_conditional(self, fixed, row, power):
        """p(u) N(row | u V, s_n^2)^power as a Gaussian measure over u."""
        c = power / self.noise_variance
        k = self.components
        precision = jnp.eye(k) / self.left_variance + c * fixed @ fixed.T
        constant = row_log_constant(row, power, self.noise_variance)
        log_scale = constant - 0.5 * k * jnp.log(2 * jnp.pi * self.left_variance)
        return Gaussian(jnp.linalg.cholesky(precision), c * fixed @ row, log_scale)

    def sample_row(self, key, fixed, latent):
        mean = latent @ fixed
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    finite = False

    def nodes(self, shape):
        """Trapezoid rule over V, for K = 1 and at most two columns."""
        d = shape[1]
        if self.components != 1 or d > 2:
            raise InputError(
                f"quadrature needs 1 component and at most 2 columns, got {self.components} and {d}"
            )
        # The prior bounds the integrand: 12 standard deviations hold all of it, and for an analytic
        # integrand the trapezoid rule converges exponentially.
        points = 2001 if d == 1 else 241
        half = 12.0 * np.sqrt(self.right_variance)
        axis = np.linspace(-half, half, points)
        grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, 1, d)
        return LowRankState(grid), d * float(np.log(axis[1] - axis[0]))

    def tiny(self):
        return LowRank(1, 1.2, 0.8, 1.7), (4, 1)


class EigenGaussian(NamedTuple):
    """Independent rows x_i ~ exp(<s_i, x> - x^T Lam_i x / 2), Lam_i = Q diag(precision_i) Q^T, s_i = Q shift_i."""

    vectors: jax.Array  # Q, (K, K)
    precision: jax.Array  # (N, K)
    shift: jax.Array  # (N, K), in the eigenbasis

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return self.shift.shape

    def from_noise(self, noise):
        return (self.shift / self.precision + noise / jnp.sqrt(self.precision)) @ self.vectors.T

    def sample(self, key):
        return self.from_noise(jax.random.normal(key, self.shift.shape))

    def log_density(self, value):
        rotated = value @ self.vectors
        return jnp.sum(self.shift * rotated - 0.5 * self.precision * rotated**2)

    @property
    def log_normalizer(self):
        return 0.5 * jnp.sum(self.shift**2 / self.precision + jnp.log(2 * jnp.pi / self.precision))


@dataclasses.dataclass(frozen=True, eq=False)
class LowRankGibbs(Reversible):
    """U | V as a block, then V | U as a block.

    As a chain on V it is reversible: p(V) p(U|V) p(V'|U) = p(U) p(V|U) p(V'|U) is symmetric in V, V'.
    """

    model: LowRank
    y: jax.Array  # (N, D)
    c: jax.Array  # (N,)

    def left_conditional(self, right) -> "EigenGaussian":
        """U | V: rows are independent, with precisions Lam_i that share the eigenvectors of V V^T."""
        basis = spectrum(right, self.y)
        precision = basis.precision(self.c, self.model.left_variance)
        return EigenGaussian(basis.vectors, precision, self.c[:, None] * basis.projected)

    def right_conditional(self, left) -> Gaussian:
        """V | U: columns are independent and share the precision I/s_v^2 + U^T C U."""
        weighted = self.c[:, None] * left
        precision = jnp.eye(self.model.components) / self.model.right_variance + left.T @ weighted
        return Gaussian(jnp.linalg.cholesky(precision), weighted.T @ self.y)

    def step(self, key, state):
        n, d = self.y.shape
        noise = standard_normal(key, (n + d, self.model.components))
        left = self.left_conditional(state.right).from_noise(noise[:n])
        return LowRankState(self.right_conditional(left).from_noise(noise[n:].T))

    def visits(self, state, parameters):
        u, v = parameters.left, state.right
        return (
            Visit("left factor", lambda: self.left_conditional(v), u, lambda new: (state, Left(new))),
            Visit(
                "right factor",
                lambda: self.right_conditional(u),
                v,
                lambda new: (LowRankState(new), parameters),
            ),
        )
