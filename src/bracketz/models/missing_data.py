"""Missing entries, treated as unobserved: exactly, for any model whose integrated-out variables are
regression weights.

    f(x; b) = p(x) * integral over theta of p(theta) prod_{ij observed} N(y_ij | mean_ij(x, theta),
    s^2)^(b_i)

Given the latents each column of y (each row, for low rank) is a Gaussian linear regression on K
coefficients, so the integral is one K x K Cholesky factor per column. A sweep completes the data
and uses the model's own:

    theta | x;   y_ij ~ N(mean_ij, s^2 / b_i) for the missing ij;   the model's sweep on the
    completed data;   both forgotten.

The missing entries' law is N(mean, s^2)^(b_i) normalised, and its constant depends on b and s
alone, so completing adds a variable and leaves f as its marginal. The reversal completes in the
same way and runs the model's reversed sweep. Cost: a sweep, and O(K^2 (N D + K max(N, D))) for the
factors.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Collapsed, Conjugate
from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError
from bracketz.kernels.compose import Compose
from bracketz.models.hierarchical import Hierarchical, HyperUpdate
from bracketz.numerics.conditionals import Gaussian


class Regressions(NamedTuple):
    """The coefficients of a batch of regressions, one ``Gaussian`` each. A ``Conditional``."""

    each: Gaussian  # leading axis B: cholesky (B, K, K), shift (B, K)

    @property
    def law(self):
        return self.each.law

    @property
    def support(self):
        return self.each.support

    @property
    def noise_shape(self):
        return self.each.noise_shape

    def from_noise(self, noise):
        return jax.vmap(Gaussian.from_noise)(self.each, noise)

    def sample(self, key):
        return self.from_noise(jax.random.normal(key, self.noise_shape))

    def log_density(self, value):
        return jnp.sum(jax.vmap(Gaussian.log_density)(self.each, value))

    @property
    def log_normalizer(self):
        return jnp.sum(jax.vmap(lambda one: one.log_normalizer)(self.each))


@pytree_dataclass
class Incomplete(Collapsed, Model):
    """A model on data of which only some entries are observed; the others are left out exactly.

    f(x; b) = p(x) * integral over theta of p(theta) prod_{ij observed} N(y_ij | mean_ij(x, theta),
    s^2)^(b_i). A sweep completes the data, runs the model's own and forgets what was filled in.
    Cost: a sweep, and O(K^2 (N D + K max(N, D))) for the factors.

    Args:
        model: a ``Conjugate`` model, or one with inferred hyperparameters.
        observed: (N, D), 1 where an entry of y is seen, else 0; entries of y that are not may hold
            anything finite.

    Raises:
        InputError: the model is not ``Conjugate``.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> seen = np.array([[1, 0], [1, 1], [0, 1]])
        >>> model = bz.Incomplete(bz.Clustering(components=2), seen)
        >>> data, powers = bz.simulate(model, rows=3, columns=2), np.ones(3)
        >>> whole = model.log_annealed(data.exact, data.y, powers)
        >>> cut = model.log_annealed(data.exact, data.y * seen, powers)
        >>> bool(np.isclose(whole, cut))
        True
    """

    model: Any  # a Conjugate model, or an inferred one
    observed: Any  # (N, D), 1 or 0

    def __post_init__(self):
        if not isinstance(self.model, (Conjugate, Hierarchical)):
            raise InputError(
                f"{type(self.model).__name__} cannot leave out missing entries exactly: it lacks"
                " Conjugate; fill them in or remove the rows"
            )
        object.__setattr__(self, "observed", np.asarray(self.observed, dtype=float))

    @property
    def components(self) -> int:
        """The model's."""
        return self.model.components

    def check_shape(self, shape):
        if tuple(shape) != self.observed.shape:
            raise InputError(
                f"the pattern of missing entries is {self.observed.shape} and the data"
                f" {tuple(shape)}"
            )
        self.model.check_shape(shape)

    def doubtful(self, y, states):
        return self.model.doubtful(np.where(self.observed > 0, y, 0.0), states)

    def suited_to(self, y):
        own = self.model.suited_to(np.where(self.observed > 0, y, 0.0))
        return self if own is self.model else Incomplete(own, self.observed)

    def check_data(self, y):
        self.model.check_data(np.where(self.observed > 0, y, 0.0))

    def plain(self, state):
        """(the model with fixed hyperparameters, its state)."""
        if isinstance(self.model, Hierarchical):
            return self.model.at(state.hyper), state.latent
        return self.model, state

    def seen(self, y):
        """y with 0 in its holes: a weight of 0 does not undo a filler whose square is infinite."""
        return jnp.where(self.observed > 0, y, 0.0)

    def weights(self, powers):
        """How often an entry of y counts, (N, D)."""
        return powers[:, None] * self.observed

    def regressions(self, state, y, powers) -> Regressions:
        """theta | state, one regression per column (per row, where the model says so)."""
        own, latent = self.plain(state)
        y, w = self.seen(y), self.weights(powers) / own.noise_variance
        y, w = (y.T, w.T) if own.by_rows else (y, w)
        design = own.design(latent)
        prior = jnp.eye(design.shape[1]) / own.coefficient_variance
        precision = prior + jnp.einsum("nk,nb,nl->bkl", design, w, design)
        cholesky = jnp.linalg.cholesky(precision)
        return Regressions(Gaussian(cholesky, (w * y).T @ design, jnp.zeros(len(cholesky))))

    # The four methods.

    def sample_prior(self, key, shape):
        return self.model.sample_prior(key, shape)

    def log_annealed(self, state, y, powers):
        own, latent = self.plain(state)
        y, w = self.seen(y), self.weights(powers)
        theta = self.regressions(state, y, powers)
        prior_scale = jnp.log(2 * jnp.pi * own.coefficient_variance)
        prior = own.log_annealed(latent, jnp.zeros_like(y), jnp.zeros_like(powers))
        return (
            self._log_hyper(state, powers)
            + prior
            - 0.5
            * jnp.sum(w * (jnp.log(2 * jnp.pi * own.noise_variance) + y**2 / own.noise_variance))
            + theta.log_normalizer
            - 0.5 * np.prod(theta.noise_shape) * prior_scale
        )

    @property
    def twin_told(self):
        return self.model.twin_told

    def twin(self, key, state, y):
        return self.model.twin(key, state, y)

    def summary(self, states):
        return self.model.summary(states)

    def sample_parameters(self, key, state, shape):
        return self.model.sample_parameters(key, state, shape)

    def sample_data(self, key, state, parameters):
        return self.model.sample_data(key, state, parameters)

    def log_joint(self, state, parameters, y, powers):
        own, latent = self.plain(state)
        each = jax.scipy.stats.norm.logpdf(
            self.seen(y), own.mean(latent, parameters), jnp.sqrt(own.noise_variance)
        )
        prior = own.log_joint(latent, parameters, jnp.zeros_like(y), jnp.zeros_like(powers))
        return self._log_hyper(state, powers) + prior + jnp.sum(self.weights(powers) * each)

    def _log_hyper(self, state, powers):
        """The hyperparameters' factor, which may change along a path; 0 where they are fixed."""
        if isinstance(self.model, Hierarchical):
            return self.model.log_hyper(state.hyper, jnp.mean(powers))
        return 0.0

    def kernel(self, y, powers) -> Kernel:
        sweep = CompletedSweep(self, y, powers)
        if not isinstance(self.model, Hierarchical):
            return sweep
        hyper = IncompleteHyperUpdate(self.model, self.seen(y), powers, self)
        laws = self.model.hyper_law(jnp.mean(powers))
        return Compose((sweep, hyper, *self.model.further_moves(laws)))


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
        theta = own.coefficients(
            self.model.regressions(state, self.y, self.powers).sample(key_theta)
        )
        # A row of power 0 has no say: any value will do.
        spread = jnp.where(
            self.powers > 0, jnp.sqrt(own.noise_variance / jnp.maximum(self.powers, 1e-300)), 0.0
        )
        filled = own.mean(latent, theta) + spread[:, None] * jax.random.normal(
            key_data, self.y.shape
        )
        kernel = own.kernel(jnp.where(self.model.observed > 0, self.y, filled), self.powers)
        moved = (kernel.reversed() if self.backward else kernel).step(key_sweep, latent)
        return state._replace(latent=moved) if isinstance(self.model.model, Hierarchical) else moved

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
