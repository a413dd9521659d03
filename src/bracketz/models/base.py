"""What a model is, and the small capabilities it may add.

Every intermediate distribution of every estimator here is

    f(x; b) = p(x) * prod_i p(y_i | x)^(b_i),     b in [0, 1]^N

for a row of powers b. Four methods make a model; each optional capability below names the estimator
that gains from it. Capabilities are found with ``isinstance``.

States are NamedTuples of arrays (their field names are the names in a saved simulation). Data ``y``
is an (N, D) array, one row a data point. ``shape`` is (N, D).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.conditional import Conditional
from bracketz.errors import InputError
from bracketz.kernel import Kernel, ScoredKernel
from bracketz.runtime import double_precision

State = Any  # a NamedTuple of arrays
Parameters = Any  # a NamedTuple of arrays
Shape = tuple[int, int]


class Model(ABC):
    """The four methods. Subclasses are frozen dataclasses made by ``bracketz.pytree_dataclass``."""

    default_shape: ClassVar[Shape] = (50, 25)

    @abstractmethod
    def sample_prior(self, key, shape: Shape) -> State:
        """An exact draw from p(x)."""

    @abstractmethod
    def simulate(self, key, state: State, shape: Shape) -> jax.Array:
        """An exact draw of y from p(y | x)."""

    @abstractmethod
    def log_annealed(self, state: State, y, powers) -> jax.Array:
        """log f(x; b), all constants included: log p(x) at b = 0, the log joint at b = 1."""

    @abstractmethod
    def kernel(self, y, powers) -> Kernel:
        """A kernel that leaves f(.; b) invariant, for any row of powers."""

    def check_shape(self, shape: Shape) -> None:
        """Refuse data this model cannot describe (an ``InputError``)."""


class Predictive(ABC):
    """Sharper SMC and SHME: one data point's latent can be integrated out.

    With the unnormalised measure p(l) p(y_i | l, rest)^(b_i) over the latent l of point i, its
    total mass is the predictive density of the point, the weight of the posterior particle filter.
    """

    @abstractmethod
    def point_conditional(self, state: State, y, powers, i) -> Conditional:
        """That measure, given everything else in the state. Its mass is 1 when powers[i] = 0."""

    @abstractmethod
    def replace_latent(self, state: State, i, latent) -> State:
        """The state with the latent of point i replaced (unchanged where the state keeps none)."""


class Collapsed(ABC):
    """Some variables are integrated out of the state. Simulated data keep them.

    Fixed hyperparameters leave these variables independent of the state a priori; hyperparameters in the state
    (``models.inferred``) do not.
    """

    @abstractmethod
    def sample_parameters(self, key, state: State, shape: Shape) -> Parameters:
        """The integrated-out variables, from their prior given the state."""

    @abstractmethod
    def sample_data(self, key, state: State, parameters: Parameters) -> jax.Array:
        """y given everything."""

    @abstractmethod
    def log_joint(self, state: State, parameters: Parameters, y, powers) -> jax.Array:
        """log of the uncollapsed f: integrating it over the parameters gives ``log_annealed``."""

    def simulate(self, key, state: State, shape: Shape) -> jax.Array:
        key_parameters, key_data = jax.random.split(key)
        return self.sample_data(key_data, state, self.sample_parameters(key_parameters, state, shape))


class Conjugate(Collapsed):
    """Hyperparameters may join the state (``models.inferred``): with the integrated-out variables instantiated, each
    has a conjugate prior."""

    #: The NamedTuple of what is integrated out; it has one field.
    parameters: ClassVar[type]
    #: Given the latents, each column of y (or each row) is a regression of its own on K coefficients.
    by_rows: ClassVar[bool] = False

    @property
    @abstractmethod
    def coefficient_variance(self):
        """Prior variance of a coefficient."""

    @abstractmethod
    def design(self, state: State) -> jax.Array:
        """What the coefficients multiply, (N, K), or (D, K) where ``by_rows``."""

    def coefficients(self, value) -> Parameters:
        """Parameters from coefficients, one regression a row of ``value``."""
        return self.parameters(value if self.by_rows else value.T)

    @abstractmethod
    def mean(self, state: State, parameters: Parameters) -> jax.Array:
        """E[y | everything], (N, D)."""

    @abstractmethod
    def parameter_conditional(self, state: State, y, powers) -> Conditional:
        """The integrated-out variables given the state, under powers."""

    @abstractmethod
    def latent_statistics(self, state: State, parameters: Parameters) -> dict[str, tuple]:
        """By hyperparameter: the sufficient statistics its prior's ``given`` takes (see ``conjugate``)."""


class RowLatents(ABC):
    """Held-out likelihood: with the parameters fixed, rows are independent (see ``held_out``)."""

    #: The names, in a simulation, of the parameters that are held fixed.
    fixed: ClassVar[str]

    @abstractmethod
    def row_conditional(self, fixed, row, power) -> Conditional:
        """p(l) p(row | l, fixed)^power as a measure over the row's latent l."""

    @abstractmethod
    def sample_row(self, key, fixed, latent) -> jax.Array:
        """A new row given its latent."""


class ExactEvidence(ABC):
    """Tiny instances have a known answer: enumeration or quadrature, for tests and the check kit."""

    @abstractmethod
    def exact_evidence(self, y) -> float:
        """log p(y), refusing (``InputError``) when the instance is too large."""


class Enumerable(ExactEvidence):
    """Exact evidence as a sum over nodes: all states of a finite space, or a quadrature grid."""

    #: The nodes are all the states there are.
    finite: ClassVar[bool] = True

    @abstractmethod
    def nodes(self, shape: Shape) -> tuple[State, Any]:
        """(states with a leading axis, log-weight w of each or of all): p(y) = sum over states of f(x; 1) e^w.

        Refuses (``InputError``) when there would be too many.
        """

    @abstractmethod
    def tiny(self) -> tuple[Model, Shape]:
        """An instance of this class with few nodes, its hyperparameters all different from each other and
        from 1, so that no mistake hides behind a symmetry."""

    def exact_evidence(self, y):
        with double_precision():
            return float(log_evidence(self, y, *self.nodes(y.shape)))


class TransitionDensity(ABC):
    """Chib-style estimators: a posterior chain whose transition density is known."""

    @abstractmethod
    def scored_chain(self, y) -> "ScoredChain":
        """The chain, on a state space of its own (low rank keeps U there)."""


class ScoredChain(ABC):
    """A posterior chain with everything written down (see ``TransitionDensity``)."""

    kernel: ScoredKernel

    @abstractmethod
    def begin(self, key, state: State) -> Any:
        """A state of this chain from a state of the model."""

    @abstractmethod
    def log_joint(self, state) -> jax.Array:
        """log p(x, y)."""


class ConstrainedPrior(ABC):
    """Nested sampling: moves that keep the prior restricted to a high-likelihood region."""

    @abstractmethod
    def constrained_prior(self, y) -> "Constrained":
        """The moves, for these data."""


class Constrained(ABC):
    """The prior above a likelihood cutoff (see ``ConstrainedPrior``)."""

    @abstractmethod
    def sample_prior(self, key) -> Any:
        """A free draw."""

    @abstractmethod
    def log_likelihood(self, state) -> jax.Array:
        """log L(x)."""

    @abstractmethod
    def step(self, key, state, cutoff) -> Any:
        """A sweep that leaves the prior restricted to log L > cutoff invariant, from a state inside."""


class Variational(ABC):
    """Variational Bayes."""

    @abstractmethod
    def variational(self, y) -> "MeanField":
        """The factored family q(latents) q(parameters), for these data."""


class MeanField(ABC):
    """Coordinate ascent on E_q[log p(x, y)] + H[q] (see ``Variational``)."""

    @property
    @abstractmethod
    def updates(self) -> tuple[Callable, ...]:
        """Functions q -> q, each the optimum of one factor given the others; applied in order."""

    @abstractmethod
    def start(self, key) -> Any:
        """A random q."""

    @abstractmethod
    def start_at(self, state: State, parameters: Parameters) -> Any:
        """q concentrated at the values that generated the data (the paper's hint experiment)."""

    @abstractmethod
    def objective(self, q) -> jax.Array:
        """The lower bound on log p(y), all constants included."""

    @property
    @abstractmethod
    def log_relabelings(self) -> float:
        """log of the number of relabelings that leave the model unchanged (VB's symmetry correction)."""


class PointFit(ABC):
    """BIC: maximum likelihood with the latent variables summed or integrated out."""

    @abstractmethod
    def maximum_likelihood(self, y) -> "Fit":
        """The fit, for these data."""


class Fit(ABC):
    """EM or a closed form (see ``PointFit``)."""

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """Free parameters, continuous symmetries removed."""

    @abstractmethod
    def start(self, key) -> Any:
        """Initial parameters."""

    @abstractmethod
    def update(self, parameters) -> Any:
        """One step that does not lower the likelihood."""

    @abstractmethod
    def log_likelihood(self, parameters) -> jax.Array:
        """log p(y | parameters)."""


@jax.jit
def log_evidence(model: Model, y, states: State, log_weight):
    """log of the sum over ``states`` (leading axis) of f(x; 1) times the weight; y may be a tracer."""
    ones = jnp.ones(y.shape[0])
    density = jax.lax.map(lambda state: model.log_annealed(state, y, ones), states, batch_size=4096)
    return jax.nn.logsumexp(density + log_weight)


def row_log_constant(row, power, noise_variance):
    """The terms of power * log N(row | m, s^2 I) that do not involve the mean m.

    -(D/2) power log(2 pi s^2)  -  power |row|^2 / (2 s^2)
    """
    scale = row.shape[0] * jnp.log(2 * jnp.pi * noise_variance)
    return -0.5 * power * (scale + jnp.sum(row * row) / noise_variance)


def gaussian_log_constant(y, powers, noise_variance):
    """``row_log_constant`` summed over the rows of y."""
    return jnp.sum(jax.vmap(row_log_constant, (0, 0, None))(y, powers, noise_variance))


def normal_log_density(x, mean, variance):
    """Sum of log N(x | mean, variance) over all entries."""
    return jnp.sum(-0.5 * jnp.log(2 * jnp.pi * variance) - 0.5 * (x - mean) ** 2 / variance)


def require_positive(**values) -> None:
    for name, value in values.items():
        if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, got {value}")


def require_components(components: int) -> None:
    if not isinstance(components, (int, np.integer)) or components < 1:
        raise InputError(f"components must be a whole number of at least 1, got {components}")
