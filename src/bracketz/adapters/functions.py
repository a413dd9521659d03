"""A model from plain functions: a likelihood, and a prior as functions, distributions or draws."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.translate import name_of, source_of, translated
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.models.factored.model import one_of

#: Fewer draws than this are no stand-in for a prior.
FEWEST_DRAWS = 1000
#: Draws from a prior given by distributions that must be finite numbers.
TRIAL_DRAWS = 256


def from_functions(
    log_likelihood: Callable,
    *,
    log_prior: Callable | None = None,
    sample_prior: Callable | None = None,
    prior: Mapping[str, Any] | None = None,
    prior_draws: Any = None,
    simulate: Callable | None = None,
    data: tuple = (),
    name: str | None = None,
) -> "FunctionModel":
    """A model made of functions you have written.

    The prior is one of

    - ``prior``: NumPyro distributions by name, independent of each other. The functions then get a
      dict of values each in its own support (a ``HalfNormal`` is positive), and bracketz does the
      change of variables.
    - ``log_prior(x)`` and ``sample_prior(key)``: on a state of real numbers, each of which may take
      any value. A positive parameter is kept as its logarithm, and the Jacobian of that belongs to
      ``log_prior``, which must integrate to 1.
    - ``log_prior(x)`` and ``prior_draws``: a prior known by independent draws. One half of them
      makes data, the other half a reference for runs to begin at, which has a sampler of its own:
      chains that began at the draws would share them. Nothing depends on how many there are but
      how good the reference is.

    Args:
        log_likelihood: (x, y, *data) -> log p(y_i | x), one per data point (N,), or their sum.
        log_prior: x -> log p(x), normalised.
        sample_prior: key -> x, an exact draw.
        prior: NumPyro distributions by name; proper and continuous.
        prior_draws: arrays in the structure of a state with a leading axis of draws, 1000 or more.
        simulate: (key, x, *data) -> y, an exact draw; without it the model has a lower bound on
            observed data, and no sandwich.
        data: covariates, handed to ``log_likelihood`` and ``simulate``; arrays, or a pytree each.
        name: what to call the model; the likelihood's name by default.

    Returns:
        The model.

    Raises:
        InputError: the prior is missing, given twice or improper, or a function does not run.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> import numpyro.distributions as dist
        >>> from bracketz.adapters.functions import from_functions
        >>> def rates(x, y, hours):
        ...     return jax.scipy.stats.poisson.logpmf(y, x["rate"] * hours)
        >>> model = from_functions(
        ...     rates, prior={"rate": dist.Gamma(2.0, 1.0)}, data=(jnp.array([1.0, 2.0, 4.0]),)
        ... )
        >>> model
        FunctionModel(rates)
        >>> model.log_likelihood(model.unconstrain({"rate": 1.5}), jnp.array([1, 3, 7])).shape
        (3,)
    """
    use_all_cores()
    for what, function in (
        ("log_likelihood", log_likelihood),
        ("log_prior", log_prior),
        ("sample_prior", sample_prior),
        ("simulate", simulate),
    ):
        if not (callable(function) or (function is None and what != "log_likelihood")):
            raise InputError(f"`{what}` must be a function, got {type(function).__name__}")
    _check_one_prior(log_prior, sample_prior, prior, prior_draws)
    if not isinstance(data, tuple):
        raise InputError(
            f"`data` must be a tuple of covariates, got {type(data).__name__}: write data=(X,)"
        )
    with double_precision():
        model = FunctionModel(
            data=jax.tree.map(_as_double, data),
            prior=None if prior is None else _distributions(prior),
            draws=None if prior_draws is None else _draws(prior_draws),
            functions=(log_likelihood, log_prior, sample_prior, simulate),
            called=name or name_of(log_likelihood),
        )
        _try(model)
    return model


@pytree_dataclass
class FunctionModel(Factored):
    """A model made by ``from_functions``, which is how to make one.

    Args:
        data: the covariates.
        prior: distributions by name, or None.
        draws: draws that stand for the prior, or None.
        functions: log_likelihood, log_prior, sample_prior, simulate; None where there is none.
        called: the model's name.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from bracketz.adapters.functions import from_functions
        >>> normal = jax.scipy.stats.norm.logpdf
        >>> model = from_functions(
        ...     lambda x, y: normal(y, x),
        ...     log_prior=normal,
        ...     sample_prior=jax.random.normal,
        ...     simulate=lambda key, x: x + jax.random.normal(key, (5,)),
        ...     name="mean of five",
        ... )
        >>> model.simulate(jax.random.key(0), 0.0).shape
        (5,)
    """

    data: tuple
    prior: dict[str, Any] | None
    draws: Any
    functions: tuple[Callable | None, ...] = static()
    called: str = static()

    def log_prior(self, x):
        if self.prior is None:
            return self._call(1, "computing log_prior", x)
        return sum(_log_density(fn, x[name]) for name, fn in self.prior.items())

    def log_likelihood(self, x, y):
        return self._call(0, "computing log_likelihood", self._seen(x), y, *self.data)

    def sample_prior(self, key, shape=None):
        if self.prior is not None:
            keys = jax.random.split(key, len(self.prior))
            named = zip(self.prior.items(), keys, strict=True)
            return {name: _to_support(fn).inv(fn.sample(k)) for (name, fn), k in named}
        if self.draws is not None:
            return one_of(self.draws, key, half=0)
        return self._call(2, "drawing from the prior", key)

    def sample_pilot(self, key):
        return self.sample_prior(key) if self.draws is None else one_of(self.draws, key, half=1)

    @property
    def pooled(self):
        return self.draws is not None

    def simulate(self, key, x, shape=None):
        if self.functions[3] is None:
            return super().simulate(key, x, shape)
        return self._call(3, "simulating data", key, self._seen(x), *self.data)

    def constrain(self, x):
        if self.prior is None:
            return x
        return {name: _to_support(fn)(x[name]) for name, fn in self.prior.items()}

    def unconstrain(self, values):
        if self.prior is None:
            return values
        if missing := [name for name in self.prior if name not in values]:
            raise InputError(f"values of {self.label} have no `{missing[0]}`")
        return {
            name: _to_support(fn).inv(jnp.asarray(values[name])) for name, fn in self.prior.items()
        }

    @property
    def label(self):
        return self.called

    @property
    def source(self):
        return "\n".join("" if f is None else source_of(f) for f in self.functions)

    def __repr__(self) -> str:
        return f"FunctionModel({self.label})"

    def _seen(self, x):
        """The state as the user's functions get it."""
        return x if self.prior is None else self.constrain(x)

    def _call(self, which: int, doing: str, *args):
        function = self.functions[which]
        assert function is not None
        with translated(function, doing):
            return function(*args)


def _check_one_prior(log_prior, sample_prior, prior, prior_draws) -> None:
    if prior is not None:
        if any(given is not None for given in (log_prior, sample_prior, prior_draws)):
            raise InputError(
                "`prior` says everything about the prior: leave `log_prior`, `sample_prior` and"
                " `prior_draws` out"
            )
        return
    if log_prior is None:
        raise InputError(
            "a model needs a prior: pass `prior` (NumPyro distributions by name), or `log_prior`"
            " with `sample_prior`"
        )
    if (sample_prior is None) == (prior_draws is None):
        raise InputError(
            "`log_prior` needs one of `sample_prior` and `prior_draws` beside it: a run starts at"
            " an exact draw from the prior"
        )


# A prior made of distributions.


def _distributions(prior: Mapping[str, Any]) -> dict[str, Any]:
    """The distributions with their parameters in double precision; refused where one is no prior
    of real numbers."""
    from bracketz.adapters.numpyro import require_numpyro

    require_numpyro()
    import numpyro.distributions as dist

    if not isinstance(prior, Mapping) or not prior:
        raise InputError("`prior` must be a dict of NumPyro distributions by name")
    for name, fn in prior.items():
        if not isinstance(fn, dist.Distribution):
            raise InputError(
                f"`prior` of `{name}` must be a NumPyro distribution, got {type(fn).__name__}"
            )
        base = fn
        while hasattr(base, "base_dist"):
            if isinstance(base, dist.MaskedDistribution):
                raise InputError(
                    f"`prior` of `{name}` is masked: where it is, it does not integrate to 1"
                )
            base = base.base_dist
        if isinstance(base, dist.ImproperUniform):
            raise InputError(
                f"`prior` of `{name}` is improper, so there is no log evidence: give it a"
                " distribution that integrates to 1"
            )
        if isinstance(base, dist.Delta):
            raise InputError(f"`prior` of `{name}` is a point mass: pass its value in `data`")
        if fn.is_discrete:
            raise InputError(
                f"`prior` of `{name}` is discrete, and the kernels here move real numbers: sum it"
                " out in `log_likelihood`"
            )
        _to_support(fn, name)
    return {name: jax.tree.map(_as_double, fn) for name, fn in prior.items()}


def _to_support(fn, name: str = ""):
    """Unconstrained numbers -> the support of a distribution."""
    from numpyro.distributions import biject_to

    try:
        return biject_to(fn.support)
    except (NotImplementedError, KeyError) as error:
        raise InputError(
            f"`prior` of `{name}` lives on {fn.support}, and NumPyro knows no map from"
            " unconstrained numbers to it"
        ) from error


def _log_density(fn, unconstrained):
    """The log density of an unconstrained value: the distribution's, and the Jacobian."""
    to_support = _to_support(fn)
    value = to_support(unconstrained)
    jacobian = to_support.log_abs_det_jacobian(unconstrained, value)
    return jnp.sum(fn.log_prob(value)) + jnp.sum(jacobian)


# Arrays.


def _draws(draws):
    leaves = jax.tree.leaves(draws)
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in leaves}
    if len(lengths) != 1:
        raise InputError("`prior_draws` must be arrays with one leading axis of draws in common")
    if (number := lengths.pop()) < FEWEST_DRAWS:
        raise InputError(
            f"`prior_draws` has {number} draws, and a prior known by draws needs at least"
            f" {FEWEST_DRAWS}"
        )
    if not all(np.all(np.isfinite(leaf)) for leaf in leaves):
        raise InputError("`prior_draws` has values that are not finite numbers")
    return jax.tree.map(_as_double, draws)


def _as_double(value):
    """Floats as float64, so that double precision is not handed rounded numbers; the rest as is."""
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return value
    if isinstance(value, np.ndarray | jax.Array | float | np.floating):
        value = np.asarray(value)
        return value.astype(np.float64) if jnp.issubdtype(value.dtype, np.floating) else value
    return value


def _try(model: FunctionModel) -> None:
    """Run what can be run before there are data."""
    key = jax.random.key(0)
    x = jax.eval_shape(model.sample_prior, key)
    for leaf in jax.tree.leaves(x):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise InputError(
                f"the state of {model.label} holds {leaf.dtype} numbers: every value of a state is"
                " a real number"
            )
    density = jax.eval_shape(model.log_prior, x)
    if density.shape != ():
        raise InputError(
            f"`log_prior` of {model.label} gives an array of shape {density.shape}: it must give"
            " one number"
        )
    if model.prior is not None:
        draws = jax.jit(jax.vmap(model.sample_prior))(jax.random.split(key, TRIAL_DRAWS))
        for name, values in draws.items():
            if not np.all(np.isfinite(values)):
                raise InputError(
                    f"draws of `{name}` lie on the edge of its support, where they have no"
                    " unconstrained value: use a less extreme prior, or one on the logarithm"
                )
    if model.functions[3] is not None:
        y = jax.eval_shape(model.simulate, key, x)
        terms = jax.eval_shape(model.log_likelihood, x, y)
        if terms.ndim > 1:
            raise InputError(
                f"`log_likelihood` of {model.label} gives an array of shape {terms.shape}: it must"
                " give one number per data point, or one for all"
            )
