"""Low rank: Y = U V + noise, with Gaussian factors.

    u_ik ~ N(0, left_variance),  v_kj ~ N(0, right_variance),  y_ij ~ N(u_i . v_j, noise_variance)

The state is V; U is integrated out and appears only inside the kernel (draw U | V, then V | U).
With c_i = b_i / s_n^2 and Lam_i = I/s_u^2 + c_i V V^T,

    log f(V; b) = log p(V) + const(b) + sum_i [ -(1/2) log det(s_u^2 Lam_i) + (c_i^2/2) y_i^T V^T Lam_i^-1 V y_i ].

The sum is the log-mass of U | V, so density and kernel share one conditional. Up to K = 8 every Lam_i is factored
by itself, O(N K D + N K^3), which is the fastest for a few components; beyond, one eigendecomposition of V V^T serves
every row, O(N K D + K^3).
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.conditional import Gaussian
from bracketz.elementary import log
from bracketz.errors import InputError
from bracketz.kernel import Reversible, Visit
from bracketz.linear import MAX_WRITTEN_OUT, cholesky, written_out_factor, written_out_solve
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
        left = self.kernel(y, powers).left_conditional(state.right)
        latents = y.shape[0] * self.components
        return (
            normal_log_density(state.right, 0.0, self.right_variance)
            + gaussian_log_constant(y, powers, self.noise_variance)
            - 0.5 * latents * jnp.log(2 * jnp.pi * self.left_variance)
            + left.log_normalizer
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
        return Gaussian(cholesky(precision), c * fixed @ row, log_scale)

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


class RowGaussians(NamedTuple):
    """Independent rows u_i ~ exp(<s_i, u> - u^T Lam_i u / 2), Lam_i = precision I + c_i Gram.

    A few components factor every row by itself; many share the eigenvectors of the Gram matrix. Inside, K comes first and
    the rows last: every entry of a factor is one array over the rows.
    """

    gram: jax.Array  # V V^T, (K, K)
    c: jax.Array  # (N,)
    precision: jax.Array | float  # a priori
    shift: jax.Array  # (K, N)

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return self.shift.shape

    @property
    def _written_out(self) -> bool:
        return self.gram.shape[0] <= MAX_WRITTEN_OUT

    def _factor(self):
        k = self.gram.shape[0]
        return written_out_factor(
            [[self.c * self.gram[p, q] + self.precision * (p == q) for q in range(p + 1)] for p in range(k)]
        )

    def _eigen(self):
        """Gram = Q diag(e) Q^T: Q, the precisions (K, N) and the shift in that basis."""
        values, vectors = jnp.linalg.eigh(self.gram)
        precision = self.precision + jnp.maximum(values, 0.0)[:, None] * self.c
        return vectors, precision, vectors.T @ self.shift

    def from_noise(self, noise):
        if not self._written_out:
            vectors, precision, shift = self._eigen()
            return (vectors @ (shift / precision + noise / jnp.sqrt(precision))).T
        factor = self._factor()
        whitened = written_out_solve(factor, self.shift)
        moved = [mean + step for mean, step in zip(whitened, noise, strict=True)]
        return jnp.stack(written_out_solve(factor, moved, transposed=True)).T

    def sample(self, key):
        return self.from_noise(standard_normal(key, self.shift.shape))

    def log_density(self, value):
        quadratic = self.precision * jnp.sum(value**2) + jnp.sum(
            self.c[:, None] * (value @ self.gram) * value
        )
        return jnp.sum(self.shift.T * value) - 0.5 * quadratic

    @property
    def log_normalizer(self):
        if self._written_out:
            factor = self._factor()
            # The diagonal holds reciprocals: their logs are minus half the log-determinant.
            half_log_det = -sum(jnp.sum(log(row[-1])) for row in factor)
            fit = sum(jnp.sum(x * x) for x in written_out_solve(factor, self.shift))
        else:
            _, precision, shift = self._eigen()
            half_log_det, fit = 0.5 * jnp.sum(jnp.log(precision)), jnp.sum(shift**2 / precision)
        return 0.5 * self.shift.size * jnp.log(2 * jnp.pi) - half_log_det + 0.5 * fit


@dataclasses.dataclass(frozen=True, eq=False)
class LowRankGibbs(Reversible):
    """U | V as a block, then V | U as a block.

    As a chain on V it is reversible: p(V) p(U|V) p(V'|U) = p(U) p(V|U) p(V'|U) is symmetric in V, V'.
    """

    model: LowRank
    y: jax.Array  # (N, D)
    c: jax.Array  # (N,)

    def left_conditional(self, right) -> RowGaussians:
        """U | V: rows are independent, with precisions Lam_i."""
        shift = self.c * (right @ self.y.T)
        return RowGaussians(right @ right.T, self.c, 1 / self.model.left_variance, shift)

    def right_conditional(self, left) -> Gaussian:
        """V | U: columns are independent and share the precision I/s_v^2 + U^T C U."""
        weighted = self.c[:, None] * left
        precision = jnp.eye(self.model.components) / self.model.right_variance + left.T @ weighted
        return Gaussian(cholesky(precision), weighted.T @ self.y)

    def step(self, key, state):
        n, d = self.y.shape
        noise = standard_normal(key, (self.model.components, n + d))
        left = self.left_conditional(state.right).from_noise(noise[:, :n])
        return LowRankState(self.right_conditional(left).from_noise(noise[:, n:]))

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
