"""Which sites of a NumPyro function are the state, and which the data.

The evidence of p(x) p(y | x) needs a prior that integrates to 1 and exact draws from it, and a
sandwich needs data drawn from p(y | x). NumPyro programs can say more than that: factors, scales,
masks, flat priors, data used twice. Each of these is refused at construction, by a sentence, here
or in ``numpyro_checks``.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bracketz.adapters.numpyro_checks import (
    check_data_used_once,
    check_draws,
    check_prior,
    check_roles,
    is_one,
)
from bracketz.adapters.numpyro_program import (
    ByIdentity,
    Call,
    Constant,
    Observed,
    Program,
    Trace,
    as_double,
    changing,
    draw,
)
from bracketz.adapters.translate import name_of
from bracketz.errors import InputError, unknown

#: Runs that must agree about the sites.
LOOKS = 3
_WRAPPERS = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)


def bind(function, args, kwargs) -> inspect.BoundArguments:
    """The arguments by the names the function has for them."""
    name = name_of(function)
    if not callable(function):
        raise InputError(f"from_numpyro takes a model function, got {type(function).__name__}")
    signature = inspect.signature(function)
    already = getattr(function, "keywords", {})  # those a functools.partial has bound
    for own in ("observed", "factors", "enumerate", "kernel"):
        if own in signature.parameters and own not in already:
            raise InputError(
                f"{name} has an argument `{own}`, which from_numpyro has too: rename it, or bind it"
                " with functools.partial"
            )
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        if missing := re.match(
            r"missing a required (?:keyword-only )?argument: '(\w+)'", str(error)
        ):
            raise InputError(
                f"{name} needs `{missing[1]}`: pass it to from_numpyro, as None if it is the data"
            ) from error
        raise InputError(f"{name} cannot be called like this: {error}") from error


def call_of(function, bound: inspect.BoundArguments) -> tuple[Call, tuple]:
    """The call, and the arrays among its arguments."""
    leaves, tree = jax.tree.flatten((bound.args, bound.kwargs))
    arrays: list[Any] = []
    kept: list[Constant | None] = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray | jax.Array):
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "biufc":
                raise InputError(
                    f"an argument of {name_of(function)} is an array of {leaf.dtype}, and JAX has"
                    " numbers only: code words as whole numbers"
                )
            arrays.append(as_double(leaf))
            kept.append(None)
            continue
        try:
            hash(leaf)
            hashable = not hasattr(leaf, "__array__") or isinstance(leaf, np.generic)
        except TypeError:
            hashable = False
        if not hashable:
            raise InputError(
                f"an argument of {name_of(function)} is a {type(leaf).__name__}: pass its numbers"
                " as NumPy arrays"
            )
        kept.append(Constant(type(leaf), leaf))
    return Call(ByIdentity(function), tree, tuple(kept)), tuple(arrays)


def inspect_model(function, bound, observed, factors: Mapping[str, str], enumerate_, has_kernel):
    """(the program, its arrays, the data it was given or None)."""
    for role in factors.values():
        if role not in ("prior", "likelihood"):
            raise unknown("role of a factor", str(role), ("prior", "likelihood"))
    call, arrays = call_of(function, bound)
    looks = [look(call, arrays, jax.random.key(seed)) for seed in range(LOOKS)]
    first = looks[0]
    for other in looks[1:]:
        if _signature(other) != _signature(first):
            changed = dict(_signature(other) ^ _signature(first))
            raise changing(call.name, changed)
    _check_plates_and_params(call.name, first)
    samples = {name: site for name, site in first.items() if site["type"] == "sample"}
    tied = _factors(call.name, looks, samples, factors)
    data, is_given = _data(function, bound, call, arrays, samples, observed, tied)
    latents = [n for n, site in samples.items() if n not in data and n not in tied]
    discrete = [n for n in latents if samples[n]["fn"].is_discrete]
    summed = _summed(call.name, samples, discrete, enumerate_, has_kernel)
    latents = [n for n in latents if n not in summed]
    if not latents:
        raise InputError(
            f"{call.name} has no latent site to anneal: its log evidence is its log likelihood"
        )
    scaled = _scaled(call.name, samples, data, tied, factors)
    likelihood = [n for n in tied if factors[n] == "likelihood"]
    program = Program(
        call=call,
        latents=tuple(latents),
        discrete=frozenset(discrete) - frozenset(summed),
        observed=tuple(Observed(n, _shape(call.name, samples[n])) for n in data),
        prior_factors=tuple(n for n in tied if factors[n] == "prior"),
        likelihood_factors=(*likelihood, *scaled),
        summed=tuple(summed),
        nesting=_nesting(samples),
        no_simulator=_no_simulator(call.name, likelihood, scaled),
    )
    check_draws(program, arrays)
    check_prior(program, looks)
    check_roles(program, arrays, looks[0])
    check_data_used_once(program, arrays, looks[0], bound)
    given = {n: as_double(np.asarray(samples[n]["value"])) for n in data} if is_given else None
    return program, arrays, given


def look(call: Call, arrays, key) -> Trace:
    """A run with every site drawn that has no value, after a check that it can be."""
    draws, others = jax.random.split(key)

    def decide(site):
        if site["value"] is None:
            _check_distribution(call.name, site)
            return draw(site, draws)
        if not site["is_observed"]:
            raise InputError(
                f"the site `{site['name']}` of {call.name} has a value without being observed, as"
                " handlers.substitute makes it: use handlers.condition or handlers.do"
            )
        if not isinstance(site["value"], np.ndarray | jax.Array | np.generic | int | float):
            raise InputError(
                f"the observed value at the site `{site['name']}` of {call.name} is a"
                f" {type(site['value']).__name__}: one site has one array"
            )
        return None

    try:
        return call.run(arrays, decide, others, "looking for its sites")
    except InputError as error:
        if "NoneType" not in str(error.__cause__):
            raise
        raise InputError(
            f"{call.name} does not run where an argument is None: {error.__cause__}; pass the data,"
            " or write it so that y=None draws them (a recursion with"
            " numpyro.contrib.control_flow.scan)"
        ) from error


def _signature(trace: Trace) -> set:
    samples = (site for site in trace.values() if site["type"] == "sample")
    return {(site["name"], tuple(np.shape(site["value"]))) for site in samples}


def _check_distribution(function: str, site) -> None:
    """Refuse what cannot be drawn from, and what is no density."""
    fn = site["fn"]
    while isinstance(fn, (*_WRAPPERS, dist.TransformedDistribution)):
        fn = fn.base_dist
    if isinstance(fn, dist.ImproperUniform):
        raise InputError(
            f"the prior of `{site['name']}` in {function} is improper, so there is no log evidence:"
            " give it a distribution that integrates to 1"
        )
    if isinstance(fn, dist.Delta):
        raise InputError(
            f"the site `{site['name']}` of {function} is a point mass: write numpyro.deterministic"
        )


def _check_plates_and_params(function: str, trace: Trace) -> None:
    for name, site in trace.items():
        if site["type"] == "plate":
            size, subsample = site["args"]
            if subsample is not None and subsample != size:
                raise InputError(
                    f"the plate `{name}` of {function} takes {subsample} of {size} at random: log"
                    " evidence is of all the data, so leave `subsample_size` out"
                )
        if site["type"] in ("param", "mutable"):
            raise InputError(
                f"{function} has the parameter `{name}`, which has a value and no prior: make it a"
                " numpyro.sample site, or pass its value as an argument"
            )


# Factors and scales.


def _factors(function: str, looks: list[Trace], samples: Trace, declared) -> list[str]:
    """Sites that are observed and are no data: factors, and sites observed at what other sites
    gave, as reparameterisations make them. Each must be declared."""
    found = []
    for name, site in samples.items():
        if not site["is_observed"]:
            continue
        if isinstance(_bare(site["fn"]), dist.Unit):
            what = f"the factor `{name}` of {function}"
        elif not all(_same(trace[name]["value"], site["value"]) for trace in looks):
            what = f"the site `{name}` of {function} is observed at a value other sites give, so it"
        else:
            continue
        found.append(name)
        if name not in declared:
            raise InputError(
                f"{what} is neither a prior one can draw from nor data one can simulate: write it"
                " as a numpyro.sample site of its own, or declare"
                f" factors={{'{name}': 'likelihood'}}, whose evidence has a lower bound only"
            )
    return found


def _bare(fn):
    while isinstance(fn, _WRAPPERS):
        fn = fn.base_dist
    return fn


def _same(a, b) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def _scaled(function: str, samples: Trace, data, factors: list[str], declared) -> list[str]:
    """Observed sites with a scale, each declared; nothing else may be declared but factors."""
    scaled = [n for n in data if not is_one(samples[n]["scale"])]
    for name in scaled:
        if declared.get(name) != "likelihood":
            raise InputError(
                f"the observed site `{name}` of {function} is scaled: a scale is a power of the"
                " likelihood, which is no longer the distribution data are simulated from; leave"
                f" it out, or declare factors={{'{name}': 'likelihood'}}, whose evidence has a"
                " lower bound only"
            )
    for name in declared:
        if name not in samples:
            raise unknown("site", name, samples)
        if name not in factors and name not in scaled:
            raise InputError(
                f"`factors` declares `{name}`, which is an ordinary site of {function}: leave it"
                " out"
            )
    return scaled


def _no_simulator(function: str, factors, scaled) -> str:
    if factors:
        return (
            f"data cannot be simulated from {function}: its factor `{factors[0]}` is a density"
            " without draws; estimate gives a lower bound on observed data"
        )
    if scaled:
        return (
            f"data cannot be simulated from {function}: its site `{scaled[0]}` is scaled, and a"
            " power of a likelihood is no distribution of data; estimate gives a lower bound on"
            " observed data"
        )
    return ""


# The data.


def _data(function, bound, call: Call, arrays, samples: Trace, observed, factors):
    """(names of the observed sites, whether the function has values for all of them)."""
    fixed = [n for n, site in samples.items() if site["is_observed"] and n not in factors]
    if observed is not None:
        named = (observed,) if isinstance(observed, str) else tuple(observed)
        for name in named:
            if name not in samples:
                raise unknown("site", name, samples)
            if name in factors:
                raise InputError(f"`{name}` is a factor of {call.name}, not data")
        if left := [n for n in fixed if n not in named]:
            raise InputError(
                f"`observed` leaves out `{left[0]}`, which {call.name} observes too: name it as"
                " well, or do not pass its data"
            )
        data = [n for n in samples if n in named]
        return data, bool(data) and set(data) == set(fixed)
    if fixed:
        return fixed, True
    full = inspect.signature(function).bind(*bound.args, **bound.kwargs)
    full.apply_defaults()
    absent = [name for name, value in full.arguments.items() if value is None]
    found: set[str] = set()
    for parameter in absent:
        found |= _fed_by(function, bound, samples, parameter)
    if not found and not factors:
        sites = ", ".join(f"`{n}`" for n in samples)
        why = f"none of {', '.join(f'`{a}`' for a in absent)} feeds one" if absent else "none is"
        raise InputError(
            f"no site of {call.name} is data ({why}): pass the data, give the function an argument"
            f" y=None that goes to obs=, or name one of {sites} as `observed`"
        )
    return [n for n in samples if n in found], False


def _fed_by(function, bound, samples: Trace, parameter: str) -> set[str]:
    """The sites that become observed when an argument is given what a site drew."""
    order = [n for n in samples if n == parameter]
    order += [n for n in reversed(samples) if n != parameter and not samples[n]["is_observed"]]
    for candidate in order:
        fed = inspect.signature(function).bind_partial(*bound.args, **bound.kwargs)
        fed.arguments[parameter] = np.asarray(samples[candidate]["value"])
        fed = inspect.BoundArguments(fed.signature, _ordered(fed))
        try:
            trace = look(*call_of(function, fed), jax.random.key(0))
        except InputError:
            continue
        new = {
            name
            for name, site in trace.items()
            if site["type"] == "sample"
            and site["is_observed"]
            and name in samples
            and not samples[name]["is_observed"]
        }
        if new:
            return new
    return set()


def _ordered(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments in the order of the signature, which ``args`` and ``kwargs`` rely on."""
    return {n: bound.arguments[n] for n in bound.signature.parameters if n in bound.arguments}


def _shape(function: str, site) -> tuple[int, ...]:
    """The shape of the data at a site; refused where it does not contain the distribution's."""
    shape = tuple(np.shape(site["value"]))
    own = (*site["kwargs"].get("sample_shape", ()), *site["fn"].shape())
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"the data at `{site['name']}` of {function} have shape {shape} and its distribution"
            f" {own}: reshape the data, or put the site in a plate"
        )
    return shape


# The state.


def _summed(function: str, samples: Trace, discrete, enumerate_: bool, has_kernel: bool):
    """The discrete sites to sum out."""
    if not discrete or (has_kernel and not enumerate_):
        return []
    if not enumerate_:
        raise InputError(
            f"the site `{discrete[0]}` of {function} is discrete, and the kernels here move real"
            " numbers: sum it out by `enumerate`=True, write the sum into the likelihood"
            " (dist.MixtureSameFamily), or bring a `kernel`"
        )
    for name in discrete:
        if not samples[name]["fn"].has_enumerate_support:
            raise InputError(
                f"the site `{name}` of {function} has no finite list of values to sum over: bring"
                " a `kernel`, or integrate it out by hand"
            )
    try:
        import funsor  # noqa: F401
    except ImportError as error:
        raise InputError(
            "`enumerate` needs funsor, which is not installed: pip install funsor"
        ) from error
    return discrete


def _nesting(samples: Trace) -> int:
    dims = [f.dim for s in samples.values() for f in s["cond_indep_stack"] if f.dim is not None]
    return -min(dims) if dims else 0
