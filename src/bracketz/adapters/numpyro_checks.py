"""Whether the parts found in a NumPyro function are a prior and a likelihood, checked at draws.

A lower bound starts at exact draws from a prior that integrates to 1, and an upper bound at data
drawn given the state alone; each check here guards one of these words.
"""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bracketz.adapters.numpyro_program import Program, Trace, depends, log_prob, step
from bracketz.errors import InputError

#: Draws from the prior that must be finite numbers.
DRAWS = 256


def is_one(scale) -> bool:
    """Whether a scale changes nothing."""
    return scale is None or bool(np.all(np.asarray(scale) == 1))


def check_prior(program: Program, looks: list[Trace]) -> None:
    """The density of the prior must be that of its draws, which know no masks, scales, factors."""
    name = program.call.name
    for trace in looks:
        drawn = {
            n: np.sum(_unmasked(trace[n]["fn"]).log_prob(trace[n]["value"]))
            for n in program.latents
        }
        said = {n: np.sum(log_prob(trace[n])) for n in (*program.latents, *program.prior_factors)}
        if np.isclose(sum(drawn.values()), sum(said.values()), rtol=1e-8, atol=1e-8):
            continue
        for site in program.latents:
            if not is_one(trace[site]["scale"]):
                raise InputError(
                    f"the latent site `{site}` of {name} is scaled: a power of a prior does not"
                    " integrate to 1, so leave the scale out"
                )
            if not program.prior_factors and not np.isclose(drawn[site], said[site]):
                raise InputError(
                    f"the latent site `{site}` of {name} is masked: where it is, its prior is flat"
                    " and does not integrate to 1; mask the observed site alone"
                )
        raise InputError(
            f"the factor `{program.prior_factors[0]}` of {name} is declared a part of the prior,"
            " and draws of the function do not follow it: write the prior as numpyro.sample sites,"
            " or declare the factor 'likelihood'"
        )


def _unmasked(fn):
    if isinstance(fn, dist.MaskedDistribution):
        return _unmasked(fn.base_dist)
    if isinstance(fn, dist.Independent):
        return dist.Independent(_unmasked(fn.base_dist), fn.reinterpreted_batch_ndims)
    if isinstance(fn, dist.ExpandedDistribution):
        return _unmasked(fn.base_dist).expand(fn.batch_shape)
    return fn


def check_roles(program: Program, arrays, trace: Trace) -> None:
    """p(x) must not depend on the data, nor on what is summed out."""
    values = {n: trace[n]["value"] for n in trace if trace[n]["type"] == "sample"}
    x = program.unconstrain(arrays, {n: values[n] for n in program.latents})
    for kind, names in (
        ("observed", [n for n, _ in program.observed]),
        ("summed out", program.summed),
    ):
        for name in names:
            others = {n: values[n] for n in names if n != name}

            def density(value, name=name, others=others, kind=kind):
                known = {**others, name: value}
                y, z = (known, None) if kind == "observed" else (None, known)
                return program.log_prior(arrays, x, y, z)

            if any(depends(density, jnp.asarray(values[name]))):
                raise InputError(
                    f"a latent site of {program.call.name} depends on the {kind} site `{name}`, so"
                    " prior and likelihood cannot be told apart: draw the latent sites first"
                )


def check_data_used_once(program: Program, arrays, trace: Trace, bound) -> None:
    """Data that also shape the distributions are no draw given the latent sites alone."""
    values = {n: trace[n]["value"] for n in trace if trace[n]["type"] == "sample"}
    latent = {n: values[n] for n in (*program.latents, *program.summed)}
    data = {n: values[n] for n, _ in program.observed}
    fixed = [n for n in data if trace[n]["is_observed"]]
    drawn = {n: data[n] for n in data if n not in fixed}
    if not fixed:
        return

    def given(arrays):
        sites = program.call.run(arrays, lambda site: _at(site, {**latent, **drawn}))
        return [sites[n]["value"] for n in fixed]

    def density(arrays):
        sites = program.call.run(arrays, lambda site: _at(site, {**latent, **data}))
        return [log_prob(site) for site in sites.values() if site["type"] == "sample"]

    twice = np.logical_and(depends(given, arrays), depends(density, arrays))
    if np.any(twice):
        argument = _argument_names(bound)[int(np.argmax(twice))]
        raise InputError(
            f"{program.call.name} uses its argument `{argument}` as data and elsewhere too, so"
            " fresh data cannot be simulated: pass covariates and first values as arguments of"
            " their own, and write a recursion with numpyro.contrib.control_flow.scan"
        )


def _at(site, values):
    return step(values[site["name"]], site) if site["name"] in values else None


def _argument_names(bound: inspect.BoundArguments) -> list[str]:
    """The parameter every array among the arguments belongs to."""
    parameters = list(bound.signature.parameters)
    names = []
    for path, leaf in jax.tree_util.tree_flatten_with_path((bound.args, bound.kwargs))[0]:
        if isinstance(leaf, np.ndarray | jax.Array):
            which, at = path[0].idx, path[1]
            names.append(parameters[min(at.idx, len(parameters) - 1)] if which == 0 else at.key)
    return names


def check_draws(program: Program, arrays) -> None:
    """Draws from the prior, and their density, are finite; the rest can be compiled."""

    @jax.jit
    def trial(arrays):
        keys = jax.random.split(jax.random.key(1), DRAWS)
        states = jax.vmap(lambda key: program.sample_prior(arrays, key))(keys)
        density = jax.vmap(lambda x: program.log_prior(arrays, x))(states)
        return {n: jnp.all(jnp.isfinite(v)) for n, v in states.items()}, jnp.isfinite(density)

    def once(arrays, key):
        x = program.sample_prior(arrays, key)
        if program.no_simulator:
            return program.constrain(arrays, x)
        return program.log_likelihood(arrays, x, program.simulate(arrays, key, x))

    states, density = trial(arrays)
    for name, finite in states.items():
        if not finite:
            raise InputError(
                f"draws of `{name}` in {program.call.name} lie on the edge of its support, where"
                " they have no unconstrained value: use a less extreme prior, or one on the"
                " logarithm"
            )
    if not np.all(density):
        raise InputError(
            f"the prior of {program.call.name} has no finite density at"
            f" {int(np.sum(~np.asarray(density)))} of {DRAWS} draws from it: its draws and its"
            " densities do not agree"
        )
    jax.eval_shape(once, arrays, jax.random.key(2))
