"""The three models with their hyperparameters in the state.

    eta ~ prior,   everything else as in the model with hyperparameters eta

Variances have inverse-gamma priors, mixture probabilities a Dirichlet, each attribute probability a
beta. The state holds probabilities as logs or log-odds: under sparse priors (concentrations of 0.01
and less) they are too small for numbers. The density is log p(eta) + the model's own at eta, so
what is integrated out there stays integrated out. A sweep at powers b is

    1. the model's own sweep at the present eta;
    2. theta | state, y (what is integrated out is instantiated), then all of eta | theta, state, y;
       theta is forgotten;
    3. whatever else the model moves (``further_moves``).

Given theta and the latents the hyperparameters are independent, each with its conjugate posterior
(``conjugate``), so step 2 draws them as one block. With the latents fixed it is reversible: p(eta)
p(theta | eta) p(eta' | theta) = p(theta) p(eta | theta) p(eta' | theta), symmetric in eta and eta'.
So the exact reversal is step 2, then the model's reversed sweep. Cost: a sweep, one draw of theta,
and one gamma variable per hyperparameter (two per probability).
"""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Collapsed, Enumerable, Predictive
from bracketz.core.kernel import Kernel, Reversible, ScoredKernel, Visit
from bracketz.core.model import Model
from bracketz.core.pytree import unchecked
from bracketz.core.validation import require_components, require_positive, require_squares
from bracketz.errors import InputError
from bracketz.kernels.compose import Compose
from bracketz.numerics.gamma import log_gamma


class InferredState(NamedTuple):
    latent: Any  # the state of the model with fixed hyperparameters
    hyper: Any  # a NamedTuple, one field per hyperparameter


class Hierarchical(Collapsed, Model, Enumerable):
    """A model with hyperparameters in its state, wherever these begin: at their priors
    (``Inferred``) or at a reference (``bracketz.models.hyper_reference``)."""

    finite = False

    @property
    @abstractmethod
    def priors(self):
        """The hyperparameters' NamedTuple, holding priors."""

    @property
    @abstractmethod
    def typical(self) -> Any:
        """The model with some fixed hyperparameters, for what does not depend on them."""

    @abstractmethod
    def at(self, hyper) -> Any:
        """The model with these hyperparameters fixed; they may be traced."""

    @abstractmethod
    def hyper_law(self, share):
        """What the hyperparameters' updates take for their priors where the powers' mean is
        ``share``; at 0 they are drawn from it."""

    @abstractmethod
    def log_hyper(self, hyper, share):
        """The hyperparameters' factor of the density there, constants included."""

    def doubtful(self, y, states):
        hyper = states.hyper
        return any(
            self.at(jax.tree.map(lambda a, i=i: np.asarray(a)[i], hyper)).doubtful(y)
            for i in range(len(np.asarray(hyper[0])))
        )

    def check_data(self, y):
        require_squares(y)

    def check_state(self, state):
        self.typical.check_state(state.latent)
        for name, value in state.hyper._asdict().items():
            if name.endswith("_variance") and not np.all(np.asarray(value) > 0):
                raise InputError(f"{name} is {np.min(value):g}, and variances are positive")

    # The four methods.

    def sample_prior(self, key, shape):
        key_hyper, key_latent = jax.random.split(key)
        laws = self.hyper_law(0.0)
        keys = jax.random.split(key_hyper, len(laws))
        hyper = type(laws)(*(law.sample(k) for law, k in zip(laws, keys, strict=True)))
        return InferredState(self.at(hyper).sample_prior(key_latent, shape), hyper)

    def log_annealed(self, state, y, powers):
        own = self.at(state.hyper).log_annealed(state.latent, y, powers)
        return self.log_hyper(state.hyper, jnp.mean(powers)) + own

    def kernel(self, y, powers) -> Kernel:
        plain = self.typical.kernel(y, powers)
        sweep = ScoredLatentSweep if isinstance(plain, ScoredKernel) else LatentSweep
        own = (sweep(self, y, powers), HyperUpdate(self, y, powers))
        return Compose((*own, *self.further_moves(self.hyper_law(jnp.mean(powers)))))

    def further_moves(self, laws) -> tuple[Kernel, ...]:
        """Kernels at the end of a sweep, where the hyperparameters have these laws: for directions
        that no datum sees and the conjugate updates creep along. Missing entries change nothing."""
        return ()

    @property
    def twin_told(self):
        return "simulated with hyperparameters of the fit: exact samples but for these"

    def twin(self, key, state, y):
        key_latent, key_data = jax.random.split(key)
        fixed = self.at(state.hyper)
        latent = fixed.sample_prior(key_latent, y.shape)
        return InferredState(latent, state.hyper), fixed.simulate(key_data, latent, y.shape)

    # What is integrated out.

    def sample_parameters(self, key, state, shape):
        return self.at(state.hyper).sample_parameters(key, state.latent, shape)

    def sample_data(self, key, state, parameters):
        return self.at(state.hyper).sample_data(key, state.latent, parameters)

    def log_joint(self, state, parameters, y, powers):
        own = self.at(state.hyper).log_joint(state.latent, parameters, y, powers)
        return self.log_hyper(state.hyper, jnp.mean(powers)) + own

    def nodes(self, shape):
        """The model's own nodes times a grid over the hyperparameters (see ``conjugate``)."""
        priors = self.priors
        if max(np.size(prior.gammas) for prior in priors) > 2:
            raise InputError(
                "quadrature over the hyperparameters takes at most 2 mixture components or 1"
                f" attribute, got {self.typical.components} components"
            )
        grids = [prior.grid() for prior in priors]
        index = np.indices([len(values) for values, _ in grids]).reshape(len(grids), -1)
        hyper = type(priors)(*(values[i] for (values, _), i in zip(grids, index, strict=True)))
        log_weight = sum(weights[i] for (_, weights), i in zip(grids, index, strict=True))
        latent, scale = self._latent_nodes(shape)
        count = jax.tree.leaves(latent)[0].shape[0]
        hyper = jax.tree.map(lambda a: np.repeat(a, count, axis=0), hyper)
        latent = jax.tree.map(lambda a: np.tile(a, (index.shape[1], *[1] * (a.ndim - 1))), latent)
        log_weight = np.repeat(log_weight, count) + scale
        return self._scaled(InferredState(latent, hyper), log_weight)

    def _latent_nodes(self, shape):
        return self.typical.nodes(shape)

    def _scaled(self, state, log_weight):
        return state, log_weight


class Inferred(Hierarchical, Predictive):
    """What the three share. A subclass is a dataclass of the priors' parameters."""

    fixed_model: ClassVar[Any]  # a Conjugate model class
    around: ClassVar[Any] = None  # the same with fields named as in ``hyper``, where they differ
    components: int

    @property
    def typical(self):
        return self.fixed_model(self.components)

    def at(self, hyper):
        return unchecked(
            self.around or self.fixed_model, components=self.components, **hyper._asdict()
        )

    def named(self, hyper) -> dict[str, Any]:
        """The hyperparameters by the names they have in ``fixed_model``, which it would take."""
        return hyper._asdict()

    def summary(self, states):
        return self.named(states.hyper)

    def __post_init__(self):
        require_components(self.components)
        names = [f.name for f in dataclasses.fields(self) if not f.metadata.get("static")]
        require_positive(**{name: getattr(self, name) for name in names})

    def with_values(self, *values) -> Self:
        """The same model with its first fields replaced, in their order."""
        names = [field.name for field in dataclasses.fields(self)]
        return dataclasses.replace(self, **dict(zip(names, values, strict=False)))

    def hyper_law(self, share):
        return self.priors

    def log_hyper(self, hyper, share):
        return log_density(self.priors, hyper)

    def point_conditional(self, state, y, powers, i):
        return self.at(state.hyper).point_conditional(state.latent, y, powers, i)

    def replace_latent(self, state, i, latent):
        return state._replace(latent=self.at(state.hyper).replace_latent(state.latent, i, latent))


def log_density(laws, hyper):
    """log of the hyperparameters' density under independent laws, one per field."""
    return sum(law.log_density(value) for law, value in zip(laws, hyper, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class LatentSweep(Kernel):
    """The model's own sweep, at the hyperparameters of the state."""

    model: Hierarchical
    y: jax.Array
    powers: jax.Array
    backward: bool = False

    def _kernel(self, state):
        kernel = self.model.at(state.hyper).kernel(self.y, self.powers)
        return kernel.reversed() if self.backward else kernel

    def step(self, key, state):
        return state._replace(latent=self._kernel(state).step(key, state.latent))

    def drift(self, state, without):
        return self._kernel(state).drift(state.latent, lambda i: without(i)._kernel(state))

    def reversed(self):
        return dataclasses.replace(self, backward=not self.backward)

    def visits(self, state, parameters):
        def lifted(visit):
            def put(value):
                latent, new_parameters = visit.put(value)
                return state._replace(latent=latent), new_parameters

            return visit._replace(put=put)

        return tuple(lifted(v) for v in self._kernel(state).visits(state.latent, parameters))


class ScoredLatentSweep(LatentSweep, ScoredKernel):
    """The same where the model's own sweep knows its transition density; the kit looks at it."""

    def log_prob(self, new_state, state):
        return self._kernel(state).log_prob(new_state.latent, state.latent)


@dataclasses.dataclass(frozen=True, eq=False)
class HyperUpdate(Reversible):
    """theta | eta, then eta | theta, at fixed latents; see the module docstring."""

    model: Hierarchical
    y: jax.Array
    powers: jax.Array

    @property
    def weights(self):
        """How often an entry of y counts, (N, D)."""
        return jnp.broadcast_to(self.powers[:, None], self.y.shape)

    def parameter_conditional(self, state):
        return self.model.at(state.hyper).parameter_conditional(state.latent, self.y, self.powers)

    def wrap(self, own, value):
        """A draw of ``parameter_conditional`` as parameters."""
        return own.parameters(value)

    def unwrap(self, own, parameters):
        (value,) = parameters
        return value

    def posteriors(self, state, parameters):
        """The hyperparameters' conditionals given everything else, in the order of their
        NamedTuple."""
        own = self.model.at(state.hyper)
        squares = jnp.sum(self.weights * (self.y - own.mean(state.latent, parameters)) ** 2)
        statistics = own.latent_statistics(state.latent, parameters) | {
            "noise_variance": (jnp.sum(self.weights), squares)
        }
        laws = self.model.hyper_law(jnp.mean(self.powers))
        return type(laws)(*(law.given(*statistics[n]) for n, law in laws._asdict().items()))

    def step(self, key, state):
        key_parameters, key_hyper = jax.random.split(key)
        value = self.parameter_conditional(state).sample(key_parameters)
        posteriors = self.posteriors(state, self.wrap(self.model.at(state.hyper), value))
        shapes = [posterior.gammas for posterior in posteriors]
        noise = log_gamma(key_hyper, jnp.concatenate([jnp.ravel(s) for s in shapes]))
        ends = np.cumsum([0] + [np.size(s) for s in shapes])
        parts = [
            noise[a:b].reshape(jnp.shape(s))
            for a, b, s in zip(ends[:-1], ends[1:], shapes, strict=True)
        ]
        hyper = (
            posterior.from_noise(part) for posterior, part in zip(posteriors, parts, strict=True)
        )
        return state._replace(hyper=type(posteriors)(*hyper))

    def visits(self, state, parameters):
        own = self.model.at(state.hyper)
        (field,) = own.parameters._fields
        theta = Visit(
            f"{field}, instantiated",
            lambda: self.parameter_conditional(state),
            self.unwrap(own, parameters),
            lambda new: (state, self.wrap(own, new)),
        )

        def visit(name):
            return Visit(
                name.replace("_", " "),
                lambda: getattr(self.posteriors(state, parameters), name),
                getattr(state.hyper, name),
                lambda new: (state._replace(hyper=state.hyper._replace(**{name: new})), parameters),
            )

        return (theta, *(visit(name) for name in state.hyper._fields))
