"""Runs of a NumPyro function in which the value of every site is decided by name.

One handler (``handlers.substitute`` with a function) does everything: it reaches inside
``numpyro.contrib.control_flow.scan``, it overrules an ``obs=`` the function was given, and the
distribution it sees is the one the plates, masks and reparameterisations of the function have made.
Latent sites get the value of the state, mapped to the support their distribution has in this very
run; observed sites get the data, or a fresh draw.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import biject_to, constraints

from bracketz.adapters.translate import name_of, translated
from bracketz.errors import InputError

_REAL = constraints.real
#: What decides the value at a site: a message of NumPyro -> an array, or None to leave it alone.
Decide = Callable[[dict[str, Any]], Any]
Trace = dict[str, dict[str, Any]]


class ByIdentity:
    """A value compared and hashed by what it is, not by what it holds."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self):
        return id(self.value)


class Constant(NamedTuple):
    """An argument that is part of the compiled program. Its type counts: 1, 1.0 and True differ."""

    type: type
    value: Any


class Observed(NamedTuple):
    """A site that is data, and the shape its data have."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """The user's function with its arguments; arrays among them are handed over at every run."""

    of: ByIdentity
    tree: Any  # the structure of (args, kwargs)
    leaves: tuple[Constant | None, ...]  # None where an array goes

    @property
    def function(self) -> Callable:
        return self.of.value

    @property
    def name(self) -> str:
        return name_of(self.function)

    def run(self, arrays, decide: Decide, key=None, doing: str = "") -> Trace:
        """The sites of one run, with the values ``decide`` gives them."""
        args, kwargs = self.arguments(arrays)

        def at_samples(site):
            return decide(site) if site["type"] == "sample" else None

        model = handlers.substitute(self.function, substitute_fn=at_samples)
        if key is not None:
            model = handlers.seed(model, key)
        with translated(self.function, doing):
            return handlers.trace(model).get_trace(*args, **kwargs)

    def arguments(self, arrays) -> tuple[tuple, dict[str, Any]]:
        """(args, kwargs) around these arrays."""
        handed = iter(arrays)
        leaves = [jnp.asarray(next(handed)) if c is None else c.value for c in self.leaves]
        return jax.tree.unflatten(self.tree, leaves)


@dataclass(frozen=True)
class Program:
    """A call whose sites are known: which are the state, which the data, which the rest."""

    call: Call
    latents: tuple[str, ...]
    discrete: frozenset[str]  # those of the latents that are whole numbers
    observed: tuple[Observed, ...]
    prior_factors: tuple[str, ...]
    likelihood_factors: tuple[str, ...]  # factors, and the names of scaled observed sites
    summed: tuple[str, ...]  # discrete sites that are summed out
    nesting: int  # of plates, for the summing out
    no_simulator: str = field(default="")  # why there is none

    # What a model is made of.

    def log_prior(self, arrays, x, y=None, summed=None) -> jax.Array:
        """Sum of the log densities of the state, Jacobians included. The density of a model must
        not change with ``y`` and ``summed``: they are here for the check of that."""
        sites = self.sites(arrays, self.decide(x=x, y=y, others=summed), "computing log_prior")
        total = jnp.zeros(())
        for name in self.latents:
            total += jnp.sum(log_prob(sites[name])) + self.log_jacobian(sites[name], x[name])
        for name in self.prior_factors:
            total += jnp.sum(log_prob(sites[name]))
        return total

    def log_likelihood(self, arrays, x, y) -> jax.Array:
        if self.summed:
            return self._summed_out(arrays, self.decide(x=x, y=y, summing=True))
        sites = self.sites(arrays, self.decide(x=x, y=y), "computing log_likelihood")
        return by_row([log_prob(sites[name]) for name in self.likelihood_sites])

    def sample_prior(self, arrays, key) -> dict[str, jax.Array]:
        sites = self.sites(arrays, self.decide(key=key), "drawing from the prior")
        return {
            name: self.transform(sites[name]).inv(sites[name]["value"]) for name in self.latents
        }

    def simulate(self, arrays, key, x) -> dict[str, jax.Array]:
        if self.no_simulator:
            raise InputError(self.no_simulator)
        sites = self.sites(arrays, self.decide(x=x, key=key), "simulating data")
        return {name: sites[name]["value"] for name, _ in self.observed}

    def constrain(self, arrays, x) -> dict[str, jax.Array]:
        sites = self.sites(arrays, self.decide(x=x), "mapping the state to its support")
        return {name: sites[name]["value"] for name in self.latents}

    def unconstrain(self, arrays, values) -> dict[str, jax.Array]:
        sites = self.sites(arrays, self.decide(others=values), "mapping values to the state")
        return {name: self.transform(sites[name]).inv(values[name]) for name in self.latents}

    # How.

    @property
    def likelihood_sites(self) -> tuple[str, ...]:
        names = [name for name, _ in self.observed]
        return (*names, *(name for name in self.likelihood_factors if name not in names))

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.latents, *self.likelihood_sites, *self.prior_factors, *self.summed))

    def decide(self, *, x=None, y=None, others=None, key=None, summing: bool = False) -> Decide:
        """Values by what is known: the state, the data, constrained values; then draws, if there
        is a key; then zeros, which nothing that is asked for depends on. Where discrete sites are
        being summed out they are left alone."""
        shapes = dict(self.observed)
        drawn = frozenset(self.latents) | frozenset(self.summed) | frozenset(shapes)

        def value(site):
            name = site["name"]
            if summing and name.startswith("_PREV_"):  # the first steps of a scan, done already
                return None
            if x is not None and name in self.latents:
                return self.transform(site)(step(x[name], site))
            if y is not None and name in shapes:
                return _padded(step(y[name], site), site) if summing else step(y[name], site)
            if others is not None and name in others:
                return step(others[name], site)
            if name not in self.names:
                raise changing(self.call.name, [name])
            if name not in drawn or (summing and name in self.summed):
                return None
            if key is not None:
                return draw(site, key, shapes.get(name))
            like = jax.eval_shape(lambda k: draw(site, k, shapes.get(name)), jax.random.key(0))
            return jnp.zeros(like.shape, like.dtype)

        return value

    def sites(self, arrays, decide: Decide, doing: str) -> Trace:
        """A run; refused where its sites are not those of the first."""
        sites = self.call.run(arrays, decide, doing=doing)
        now = {name for name, site in sites.items() if site["type"] == "sample"}
        if now != self.names:
            raise changing(self.call.name, now ^ self.names)
        return sites

    def transform(self, site):
        """Unconstrained numbers -> the support the site has in this run."""
        if site["name"] in self.discrete:
            return biject_to(_REAL)
        return transform(site, self.call.name)

    def log_jacobian(self, site, unconstrained):
        if site["name"] in self.discrete:
            return 0.0
        found = self.transform(site).log_abs_det_jacobian(unconstrained, site["value"])
        return jnp.sum(found)

    def _summed_out(self, arrays, decide: Decide):
        """log sum_z p(z | x) p(y | x, z): the sites of the prior are hidden from the sum."""
        from numpyro.contrib.funsor import config_enumerate, enum, log_density

        prior = {*self.latents, *self.prior_factors}

        def hidden(site):
            return site["type"] == "sample" and site["name"].replace("_PREV_", "") in prior

        def model(*args, **kwargs):
            with handlers.block(hide_fn=hidden), handlers.condition(condition_fn=decide):
                return self.call.function(*args, **kwargs)

        args, kwargs = self.call.arguments(arrays)
        with translated(self.call.function, "summing out its discrete sites"):
            summed = enum(config_enumerate(model), -self.nesting - 1)
            return log_density(summed, args, kwargs, {})[0]


def transform(site, function: str):
    """Unconstrained numbers -> the support of a site; refused where there is no such map."""
    support = site["fn"].support
    try:
        return biject_to(support)
    except (NotImplementedError, KeyError, TypeError) as error:
        raise InputError(
            f"the site `{site['name']}` of {function} lives on {support}, and NumPyro knows no map"
            " from unconstrained numbers to it: write the site as a function of one that has"
        ) from error


def log_prob(site):
    """The log density at a site: masks are in its distribution, a scale is beside it."""
    found = site["fn"].log_prob(site["value"])
    return found if site["scale"] is None else site["scale"] * found


def by_row(terms):
    """One number for each index of the leading axis the terms share; else one for all of them."""
    lengths = {term.shape[0] if term.ndim else None for term in map(jnp.asarray, terms)}
    if len(lengths) == 1 and None not in lengths:
        return sum(jnp.sum(term.reshape(len(term), -1), axis=1) for term in terms)
    return sum(jnp.sum(term) for term in terms)


def draw(site, key, shape: tuple[int, ...] | None = None):
    """A draw at a site. Its key comes from its name, and inside a scan from the step. A ``shape``
    larger than the distribution's means independent draws of it, as its log_prob does."""
    fn = site["fn"]
    key = jax.random.fold_in(key, zlib.crc32(site["name"].encode()))
    if (index := _step(site)) is not None:
        key = jax.random.fold_in(key, index)
        shape = shape if shape is None else shape[1:]
    sample_shape = site["kwargs"].get("sample_shape", ())
    if shape is not None and not sample_shape:
        batch = shape[: len(shape) - fn.event_dim]
        fn = fn if tuple(fn.batch_shape) == batch else fn.expand(batch)
    return fn.sample(key, sample_shape)


def step(value, site):
    """The part of a value a site is given: inside a scan that of the present step."""
    index = _step(site)
    return value if index is None else jnp.asarray(value)[index]


def _padded(value, site):
    """A value inside a scan with as many axes as its distribution, which the values that are being
    summed over have given more."""
    if _step(site) is None:
        return value
    more = len(site["fn"].shape()) - jnp.ndim(value)
    return jnp.reshape(value, (1,) * more + jnp.shape(value))


def _step(site):
    return site["infer"].get("_scan_current_index")


def changing(function: str, names) -> InputError:
    return InputError(
        f"the sites of {function} differ from run to run"
        f" ({', '.join(f'`{name}`' for name in sorted(names))}): a state needs the same sites, of"
        " the same shapes, at every run"
    )


def depends(function: Callable, *values) -> list[bool]:
    """Which leaves of ``values`` anything the function returns depends on, by its program."""
    from jax.interpreters import partial_eval

    jaxpr = jax.make_jaxpr(function)(*values).jaxpr
    return list(partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1])


def as_double(array):
    """A NumPy array that double precision will not round: floats are float64."""
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return array
    array = np.asarray(array)
    return array.astype(np.float64) if jnp.issubdtype(array.dtype, np.floating) else array
