"""Low rank: Y = U V + noise, with Gaussian factors.

    u_ik ~ N(0, left_variance),  v_kj ~ N(0, right_variance),  y_ij ~ N(u_i . v_j, noise_variance)

The state is V; U is integrated out and appears only inside the kernel (draw U | V, then V | U).
With c_i = b_i / s_n^2 and Lam_i = I/s_u^2 + c_i V V^T,

    log f(V; b) = log p(V) + const(b) + sum_i [ -(1/2) log det(s_u^2 Lam_i) + (c_i^2/2) y_i^T V^T
    Lam_i^-1 V y_i ].

The sum is the log-mass of U | V, so density and kernel share one conditional. Up to K = 8 every
Lam_i is factored by itself, O(N K D + N K^3), which is the fastest for a few components; beyond,
one eigendecomposition of V V^T serves every row, O(N K D + K^3).
"""

import dataclasses

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
from bracketz.core.pytree import pytree_dataclass, static, unchecked
from bracketz.core.validation import require_components, require_positive
from bracketz.errors import InputError
from bracketz.models.low_rank.constrained_prior import LowRankConstrained
from bracketz.models.low_rank.gibbs import LowRankGibbs
from bracketz.models.low_rank.maximum_likelihood import LowRankFit
from bracketz.models.low_rank.state import Left, LowRankState
from bracketz.models.low_rank.transition_density import LowRankChain
from bracketz.models.low_rank.variational import LowRankMeanField
from bracketz.models.stiff import stiff
from bracketz.numerics.cholesky import cholesky
from bracketz.numerics.conditionals import Gaussian
from bracketz.numerics.gaussian import gaussian_log_constant, normal_log_density, row_log_constant


@pytree_dataclass
class LowRank(
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
    """Y = U V + noise, with Gaussian factors.

    u_ik ~ N(0, left_variance), v_kj ~ N(0, right_variance), y_ij ~ N(u_i . v_j, noise_variance).
    The state is V; U is integrated out. A sweep costs O(N K D + N K^3) up to K = 8 and O(N K D +
    K^3) beyond.

    Args:
        components: K, the rank.
        left_variance: prior variance of an entry of U.
        right_variance: prior variance of an entry of V.
        noise_variance: of an entry of Y around U V.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.LowRank(components=2)
        >>> bz.simulate(model, rows=6, columns=3).exact.right.shape
        (2, 3)
    """

    components: int = static(default=5)
    left_variance: float = 1.0
    right_variance: float = 1.0
    noise_variance: float = 0.63

    name = "low-rank"
    fixed = "right"

    def __post_init__(self):
        require_components(self.components)
        require_positive(
            left_variance=self.left_variance,
            right_variance=self.right_variance,
            noise_variance=self.noise_variance,
        )

    def doubtful(self, y, states=None):
        ratio = self.left_variance * self.right_variance * y.shape[1] / self.noise_variance
        return stiff(y, self.noise_variance, 1.0) or stiff(np.ones((len(y), 1)), 1.0, ratio)

    def suited_to(self, y):
        if type(self) is not LowRank or not self.doubtful(y):
            return self
        from bracketz.models.low_rank.careful import CarefulLowRank

        return unchecked(CarefulLowRank, **vars(self))

    # The four methods.

    def sample_prior(self, key, shape):
        scale = jnp.sqrt(self.right_variance)
        return LowRankState(scale * jax.random.normal(key, (self.components, shape[1])))

    def log_annealed(self, state, y, powers):
        left = self._gibbs(y, powers).left_conditional(state.right)
        latents = y.shape[0] * self.components
        return (
            normal_log_density(state.right, 0.0, self.right_variance)
            + gaussian_log_constant(y, powers, self.noise_variance)
            - 0.5 * latents * jnp.log(2 * jnp.pi * self.left_variance)
            + left.log_normalizer
        )

    def kernel(self, y, powers) -> Kernel:
        return self._gibbs(y, powers)

    def _gibbs(self, y, powers) -> LowRankGibbs:
        """The sweep, whose conditionals the density shares; a subclass may have another kernel."""
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
        return self._gibbs(y, powers).left_conditional(state.right)

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

    def scored_chain(self, y):
        return LowRankChain(self, y)

    def constrained_prior(self, y):
        return LowRankConstrained(self, y)

    def variational(self, y):
        return LowRankMeanField(self, y)

    def maximum_likelihood(self, y):
        return LowRankFit(self, y)

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
        small = dataclasses.replace(
            self, components=1, left_variance=1.2, right_variance=0.8, noise_variance=1.7
        )
        return small, (4, 1)
