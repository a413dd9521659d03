"""Missing entries, treated as unobserved: exactly, for any model whose integrated-out variables are regression weights.

    f(x; b) = p(x) * integral over theta of p(theta) prod_{ij observed} N(y_ij | mean_ij(x, theta), s^2)^(b_i)

Given the latents each column of y (each row, for low rank) is a Gaussian linear regression on K coefficients, so the
integral is one K x K Cholesky factor a column. A sweep completes the data and uses the model's own:

    theta | x;   y_ij ~ N(mean_ij, s^2 / b_i) for the missing ij;   the model's sweep on the completed data;   both forgotten.

The missing entries' law is N(mean, s^2)^(b_i) normalised, and its constant depends on b and s alone, so completing adds a
variable and leaves f as its marginal. The reversal completes in the same way and runs the model's reversed sweep.
Cost: a sweep, and O(K^2 (N D + K max(N, D))) for the factors.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.errors import InputError
from bracketz.kernel import Compose, Kernel
from bracketz.models.base import Collapsed, Conjugate, Model
from bracketz.models.inferred import HyperUpdate, Inferred
from bracketz.pytree import pytree_dataclass


class Regressions(NamedTuple):
    """A batch of regressions' coefficients: exp(<shift_b, x_b> - |L_b^T x_b|^2 / 2) each. A ``Conditional``."""

    cholesky: jax.Array  # (B, K, K)
    shift: jax.Array  # (B, K)

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
    def whitened(self):
        return jax.scipy.linalg.solve_triangular(self.cholesky, self.shift[..., None], lower=True)[..., 0]

    @property
    def log_det(self):
        """Of the precision's root, all of the batch."""
        return jnp.sum(jnp.log(jnp.diagonal(self.cholesky, axis1=-2, axis2=-1)))

    def from_noise(self, noise):
        right = (self.whitened + noise)[..., None]
        return jax.scipy.linalg.solve_triangular(self.cholesky, right, lower=True, trans="T")[..., 0]

    def sample(self, key):
        return self.from_noise(jax.random.normal(key, self.shift.shape))

    def log_density(self, value):
        projected = jnp.einsum("bij,bi->bj", self.cholesky, value)
        return jnp.sum(self.shift * value) - 0.5 * jnp.sum(projected**2)

    @property
    def log_normalizer(self):
        return 0.5 * jnp.sum(self.whitened**2) + 0.5 * self.shift.size * jnp.log(2 * jnp.pi) - self.log_det


@pytree_dataclass
class Incomplete(Collapsed, Model):
    """``model`` on data of which only the entries in ``observed`` are seen; the others of y may hold anything finite."""

    model: Any  # a Conjugate model, or an inferred one
    observed: Any  # (N, D), 1 or 0

    def __post_init__(self):
        if not isinstance(self.model, (Conjugate, Inferred)):
            raise InputError(
                f"{type(self.model).__name__} cannot leave out missing entries exactly: it lacks Conjugate;"
                " fill them in or remove the rows"
            )
        object.__setattr__(self, "observed", np.asarray(self.observed, dtype=float))

    @property
    def components(self) -> int:
        return self.model.components

    def check_shape(self, shape):
        if tuple(shape) != self.observed.shape:
            raise InputError(
                f"the pattern of missing entries is {self.observed.shape} and the data {tuple(shape)}"
            )
        self.model.check_shape(shape)

    def plain(self, state):
        """(the model with fixed hyperparameters, its state)."""
        if isinstance(self.model, Inferred):
            return self.model.at(state.hyper), state.latent
        return self.model, state

    def weights(self, powers):
        return powers[:, None] * self.observed

    def regressions(self, state, y, powers) -> Regressions:
        """theta | state, one regression a column (a row, where the model says so)."""
        own, latent = self.plain(state)
        w = self.weights(powers) / own.noise_variance
        y, w = (y.T, w.T) if own.by_rows else (y, w)
        design = own.design(latent)
        prior = jnp.eye(design.shape[1]) / own.coefficient_variance
        precision = prior + jnp.einsum("nk,nb,nl->bkl", design, w, design)
        return Regressions(jnp.linalg.cholesky(precision), (w * y).T @ design)

    # The four methods.

    def sample_prior(self, key, shape):
        return self.model.sample_prior(key, shape)

    def log_annealed(self, state, y, powers):
        own, _ = self.plain(state)
        w = self.weights(powers)
        found = self.regressions(state, y, powers)
        return (
            self.model.log_annealed(state, jnp.zeros_like(y), jnp.zeros_like(powers))
            - 0.5 * jnp.sum(w * (jnp.log(2 * jnp.pi * own.noise_variance) + y**2 / own.noise_variance))
            - found.log_det
            - 0.5 * found.shift.size * jnp.log(own.coefficient_variance)
            + 0.5 * jnp.sum(found.whitened**2)
        )

    def sample_parameters(self, key, state, shape):
        return self.model.sample_parameters(key, state, shape)

    def sample_data(self, key, state, parameters):
        return self.model.sample_data(key, state, parameters)

    def log_joint(self, state, parameters, y, powers):
        own, latent = self.plain(state)
        each = jax.scipy.stats.norm.logpdf(y, own.mean(latent, parameters), jnp.sqrt(own.noise_variance))
        prior = self.model.log_joint(state, parameters, jnp.zeros_like(y), jnp.zeros_like(powers))
        return prior + jnp.sum(self.weights(powers) * each)

    def kernel(self, y, powers) -> Kernel:
        sweep = CompletedSweep(self, y, powers)
        if not isinstance(self.model, Inferred):
            return sweep
        return Compose((sweep, IncompleteHyperUpdate(self.model, y, powers, self)))


@dataclasses.dataclass(frozen=True, eq=False)
class CompletedSweep(Kernel):
    """Complete the data, sweep, forget what was filled in; see the module docstring."""

    model: Incomplete
    y: jax.Array
    powers: jax.Array
    backward: bool = False

    def step(self, key, state):
        key_theta, key_data, key_sweep = jax.random.split(key, 3)
        own, latent = self.model.plain(state)
        theta = own.coefficients(self.model.regressions(state, self.y, self.powers).sample(key_theta))
        # A row of power 0 has no say: any value will do.
        spread = jnp.where(
            self.powers > 0, jnp.sqrt(own.noise_variance / jnp.maximum(self.powers, 1e-300)), 0.0
        )
        filled = own.mean(latent, theta) + spread[:, None] * jax.random.normal(key_data, self.y.shape)
        kernel = own.kernel(jnp.where(self.model.observed > 0, self.y, filled), self.powers)
        moved = (kernel.reversed() if self.backward else kernel).step(key_sweep, latent)
        return state._replace(latent=moved) if isinstance(self.model.model, Inferred) else moved

    def reversed(self):
        return dataclasses.replace(self, backward=not self.backward)


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteHyperUpdate(HyperUpdate):
    """The same update with the observed entries only."""

    incomplete: Incomplete

    @property
    def weights(self):
        return self.incomplete.weights(self.powers)

    def parameter_conditional(self, state):
        return self.incomplete.regressions(state, self.y, self.powers)

    def wrap(self, own, value):
        return own.coefficients(value)

    def unwrap(self, own, parameters):
        (value,) = parameters
        return value if own.by_rows else value.T
