"""The small capabilities a model may add; each names the estimator that gains from it.

Capabilities are found with ``isinstance``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from bracketz.core.conditional import Conditional
from bracketz.core.kernel import ScoredKernel
from bracketz.core.model import Model, Parameters, Shape, State
from bracketz.core.precision import double_precision
from bracketz.core.validation import require_squares


class Predictive(ABC):
    """Sharper SMC and SHME: one data point's latent can be integrated out.

    With the unnormalised measure p(l) p(y_i | l, rest)^(b_i) over the latent l of point i, its
    total mass is the predictive density of the point, the weight of the posterior particle filter.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> model.point_conditional(data.exact, data.y, jnp.ones(6), i=0).support.tolist()
        [0, 1]
    """

    @abstractmethod
    def point_conditional(self, state: State, y, powers, i) -> Conditional:
        """That measure, given everything else in the state. Its mass is 1 when powers[i] = 0.

        Args:
            state: the state; the latent it holds for point i has no say.
            y: the data, (N, D).
            powers: row of powers, (N,).
            i: the point; it may be traced.

        Returns:
            The measure, a ``Conditional``.
        """

    @abstractmethod
    def replace_latent(self, state: State, i, latent) -> State:
        """The state with the latent of point i replaced; the very same where it keeps none.

        Args:
            state: the state.
            i: the point; it may be traced.
            latent: a value of the point's conditional.

        Returns:
            The new state.
        """


class Collapsed(ABC):
    """Some variables are integrated out of the state. Simulated data keep them.

    Fixed hyperparameters leave these variables independent of the state a priori; hyperparameters
    in the state (``models.hierarchical``) do not. ``simulate`` follows from the methods here.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=3)
        >>> bz.simulate(model, rows=6, columns=2).parameters.centers.shape
        (3, 2)
    """

    @abstractmethod
    def sample_parameters(self, key, state: State, shape: Shape) -> Parameters:
        """The integrated-out variables, from their prior given the state.

        Args:
            key: a JAX random key.
            state: the state.
            shape: (N, D).

        Returns:
            A NamedTuple of arrays.
        """

    @abstractmethod
    def sample_data(self, key, state: State, parameters: Parameters) -> jax.Array:
        """y given everything.

        Args:
            key: a JAX random key.
            state: the state.
            parameters: what ``sample_parameters`` gave.

        Returns:
            The data, (N, D).
        """

    @abstractmethod
    def log_joint(self, state: State, parameters: Parameters, y, powers) -> jax.Array:
        """log of the uncollapsed f: integrating it over the parameters gives ``log_annealed``.

        Args:
            state: the state.
            parameters: values of what is integrated out.
            y: the data, (N, D).
            powers: row of powers, (N,).

        Returns:
            A scalar, all constants included.
        """

    def simulate(self, key, state: State, shape: Shape) -> jax.Array:
        """y given the state: the integrated-out variables are drawn on the way."""
        key_parameters, key_data = jax.random.split(key)
        return self.sample_data(
            key_data, state, self.sample_parameters(key_parameters, state, shape)
        )


class Conjugate(Collapsed):
    """Hyperparameters may join the state, and missing entries be left out exactly.

    With the integrated-out variables instantiated, each hyperparameter has a conjugate prior
    (``models.hierarchical``), and the data are regressions on K coefficients
    (``models.missing_data``).

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=3)
        >>> isinstance(model, bz.Conjugate)
        True
        >>> model.design(bz.simulate(model, rows=6, columns=2).exact).shape
        (6, 3)
    """

    #: The NamedTuple of what is integrated out; it has one field.
    parameters: ClassVar[type]
    #: Given the latents, each column of y (or each row) is a regression of its own on K
    #: coefficients.
    by_rows: ClassVar[bool] = False

    def check_data(self, y) -> None:
        """Refuse data whose squares are more than a float can hold."""
        require_squares(y, getattr(self, "noise_variance", None))

    @property
    @abstractmethod
    def coefficient_variance(self):
        """Prior variance of a coefficient."""

    @abstractmethod
    def design(self, state: State) -> jax.Array:
        """What the coefficients multiply, (N, K), or (D, K) where ``by_rows``."""

    def coefficients(self, value) -> Parameters:
        """Parameters from coefficients, one regression per row of ``value``."""
        return self.parameters(value if self.by_rows else value.T)

    @abstractmethod
    def mean(self, state: State, parameters: Parameters) -> jax.Array:
        """E[y | everything], (N, D)."""

    @abstractmethod
    def parameter_conditional(self, state: State, y, powers) -> Conditional:
        """The integrated-out variables given the state, under powers."""

    @abstractmethod
    def latent_statistics(self, state: State, parameters: Parameters) -> dict[str, tuple]:
        """By hyperparameter: the sufficient statistics its prior's ``given`` takes (see
        ``numerics.conjugate``).
        """


class RowLatents(ABC):
    """Held-out likelihood: with the parameters fixed, rows are independent (see ``HeldOut``).

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> model, centers = bz.Clustering(components=2), jnp.zeros((2, 3))
        >>> model.row_conditional(centers, jnp.ones(3), 1.0).support.tolist()
        [0, 1]
    """

    #: The names, in a simulation, of the parameters that are held fixed.
    fixed: ClassVar[str]

    @abstractmethod
    def row_conditional(self, fixed, row, power) -> Conditional:
        """p(l) p(row | l, fixed)^power as a measure over the row's latent l.

        Args:
            fixed: the parameters held fixed, (K, D).
            row: one data point, (D,).
            power: its power.

        Returns:
            The measure, a ``Conditional``.
        """

    @abstractmethod
    def sample_row(self, key, fixed, latent) -> jax.Array:
        """A new row given its latent.

        Args:
            key: a JAX random key.
            fixed: the parameters held fixed, (K, D).
            latent: the row's latent.

        Returns:
            The row, (D,).
        """


class ExactEvidence(ABC):
    """The evidence is known: in closed form, by enumeration or by quadrature. For tests of your
    own; the correctness kit wants ``Enumerable``.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> model.exact_evidence(bz.simulate(model, rows=4, columns=2).y) < 0
        True
    """

    @abstractmethod
    def exact_evidence(self, y) -> float:
        """log p(y).

        Args:
            y: the data, (N, D).

        Returns:
            A number, exact up to rounding (enumeration) or quadrature.

        Raises:
            InputError: the instance is too large.
        """


class Enumerable(ExactEvidence):
    """Exact evidence as a sum over nodes: all states of a finite space, or a quadrature grid.

    An ``ExactEvidence`` whose ``exact_evidence`` is written already, from ``nodes``; a closed form
    may replace it. The correctness kit compares estimators with it on the instance ``tiny`` gives,
    on thousands of data sets at once, so a grid should be fine enough for all of them and have at
    most some ten thousand nodes. A grid says ``finite = False``.

    Example:
        >>> import bracketz as bz
        >>> model, shape = bz.Clustering(components=2).tiny()
        >>> states, log_weight = model.nodes(shape)
        >>> states.assignments.shape == (2 ** shape[0], shape[0])
        True
    """

    #: Whether the nodes are all the states there are (False: a grid).
    finite: ClassVar[bool] = True

    @abstractmethod
    def nodes(self, shape: Shape) -> tuple[State, Any]:
        """The nodes of the sum p(y) = sum over states of f(x; 1) e^w.

        Args:
            shape: (N, D) of the data.

        Returns:
            (states with a leading axis, log-weight w of each or of all).

        Raises:
            InputError: there would be too many.
        """

    @abstractmethod
    def tiny(self) -> tuple[Model, Shape]:
        """An instance of this class with few nodes, its hyperparameters all different from each
        other and from 1, so that no mistake hides behind a symmetry.

        Returns:
            (the instance, the shape of its data).
        """

    def exact_evidence(self, y):
        with double_precision():
            return float(log_evidence(self, y, *self.nodes(y.shape)))


class TransitionDensity(ABC):
    """Chib-style estimators: a posterior chain whose transition density is known.

    Example:
        >>> import bracketz as bz
        >>> model = bz.LowRank(components=2)
        >>> chain = model.scored_chain(bz.simulate(model, rows=6, columns=2).y)
        >>> isinstance(chain, bz.ScoredChain)
        True
    """

    @abstractmethod
    def scored_chain(self, y) -> "ScoredChain":
        """The chain, on a state space of its own (low rank keeps U there).

        Args:
            y: the data, (N, D).

        Returns:
            The chain.
        """


class ScoredChain(ABC):
    """A posterior chain with everything written down (see ``TransitionDensity``).

    Attributes:
        kernel: leaves p(x | y) invariant, and scores its own transitions.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> chain = model.scored_chain(bz.simulate(model, rows=6, columns=2).y)
        >>> isinstance(chain.kernel, bz.ScoredKernel)
        True
    """

    @property
    @abstractmethod
    def kernel(self) -> ScoredKernel:
        """Its transitions."""

    @abstractmethod
    def begin(self, key, state: State) -> Any:
        """A state of this chain from a state of the model."""

    @abstractmethod
    def log_joint(self, state) -> jax.Array:
        """log p(x, y)."""


class ConstrainedPrior(ABC):
    """Nested sampling: moves that keep the prior restricted to a high-likelihood region.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> prior = model.constrained_prior(bz.simulate(model, rows=6, columns=2).y)
        >>> isinstance(prior, bz.Constrained)
        True
    """

    @abstractmethod
    def constrained_prior(self, y) -> "Constrained":
        """The moves, for these data.

        Args:
            y: the data, (N, D).

        Returns:
            The prior above a cutoff.
        """


class Constrained(ABC):
    """The prior above a likelihood cutoff (see ``ConstrainedPrior``).

    Example:
        >>> import bracketz as bz, jax
        >>> model = bz.Clustering(components=2)
        >>> prior = model.constrained_prior(bz.simulate(model, rows=6, columns=2).y)
        >>> state = prior.sample_prior(jax.random.key(0))
        >>> cutoff = prior.log_likelihood(state) - 1
        >>> bool(prior.log_likelihood(prior.step(jax.random.key(1), state, cutoff)) > cutoff)
        True
    """

    @abstractmethod
    def sample_prior(self, key) -> Any:
        """A free draw."""

    @abstractmethod
    def log_likelihood(self, state) -> jax.Array:
        """log L(x)."""

    @abstractmethod
    def step(self, key, state, cutoff) -> Any:
        """A sweep that leaves the prior restricted to log L > cutoff invariant.

        Args:
            key: a JAX random key.
            state: a state with log L > cutoff.
            cutoff: of the log-likelihood.

        Returns:
            The new state, inside too.
        """


class Variational(ABC):
    """Variational Bayes: a factored family in which coordinate ascent is exact.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> family = model.variational(bz.simulate(model, rows=6, columns=2).y)
        >>> isinstance(family, bz.MeanField)
        True
    """

    @abstractmethod
    def variational(self, y) -> "MeanField":
        """The factored family q(latents) q(parameters), for these data.

        Args:
            y: the data, (N, D).

        Returns:
            The family.
        """


class MeanField(ABC):
    """Coordinate ascent on E_q[log p(x, y)] + H[q] (see ``Variational``).

    Example:
        >>> import bracketz as bz, jax
        >>> model = bz.Clustering(components=2)
        >>> family = model.variational(bz.simulate(model, rows=6, columns=2).y)
        >>> q = first = family.start(jax.random.key(0))
        >>> for update in family.updates:
        ...     q = update(q)
        >>> bool(family.objective(q) > family.objective(first))
        True
    """

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
        """log of the number of relabelings that leave the model unchanged (VB's symmetry
        correction)."""


class PointFit(ABC):
    """BIC: maximum likelihood with the latent variables summed or integrated out.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> fit = model.maximum_likelihood(bz.simulate(model, rows=6, columns=2).y)
        >>> isinstance(fit, bz.LikelihoodFit)
        True
    """

    @abstractmethod
    def maximum_likelihood(self, y) -> "LikelihoodFit":
        """The fit, for these data.

        Args:
            y: the data, (N, D).

        Returns:
            The fit.

        Raises:
            InputError: the model is too large for it.
        """


class LikelihoodFit(ABC):
    """EM or a closed form (see ``PointFit``).

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=3)
        >>> fit = model.maximum_likelihood(bz.simulate(model, rows=6, columns=2).y)
        >>> fit.num_parameters
        6
    """

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
    """log of the sum over ``states`` (leading axis) of f(x; 1) times the weight; y may be a
    tracer."""
    ones = jnp.ones(y.shape[0])
    density = jax.lax.map(lambda state: model.log_annealed(state, y, ones), states, batch_size=4096)
    return jax.nn.logsumexp(density + log_weight)
