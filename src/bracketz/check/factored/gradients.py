"""Gradients, which the tuned kernels follow, against finite differences."""

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.factored.bench import Bench, States
from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.subject import jit_once

#: Entries of a state looked at; of longer ones as many, evenly spread.
MOST_ENTRIES = 60
#: Steps of the differences, in standard deviations of the prior; the better one counts.
STEPS = (1e-3, 1e-5)
#: Relative error: differences round.
TOLERANCE = 1e-4


def prior(bench: Bench) -> Finding:
    """d log_prior / dx by JAX with central differences, entry by entry, at prior draws."""
    states = bench.states("gradients", bench.sizes.states)

    def density(vector, discrete):
        return bench.user.log_prior(bench.flat.join(vector, discrete))

    gradient = jit_once(jax.vmap(jax.grad(density)))
    return _compare(bench, "log_prior", states, gradient(*states), bench.log_prior)


def likelihood(bench: Bench) -> Finding:
    """The same for the sum of ``log_likelihood``."""
    states = bench.states("gradients", bench.sizes.states)
    data = bench.data("gradients data", states)

    def density(vector, discrete, y):
        state = bench.flat.join(vector, discrete)
        return jnp.sum(bench.user.log_likelihood(state, bench.as_data(y)))

    gradient = jit_once(jax.vmap(jax.grad(density)))
    width = len(data)

    def value(many: States):
        return bench.terms(many, np.repeat(data, len(many) // width, axis=0)).sum(1)

    return _compare(bench, "log_likelihood", states, gradient(*states, data), value)


def _compare(bench: Bench, what: str, states: States, gradient, value) -> Finding:
    """``value(states)``: n blocks, one per state, of as many states near it."""
    n, d = states.vectors.shape
    if not d:
        raise NotApplicable("the state has no real entries")
    gradient, here = np.asarray(gradient), value(states)
    bad = np.isnan(here) | (here == np.inf)
    if what == "log_prior":
        bad |= here == -np.inf
    if bad.any():
        k = int(np.argmax(bad))
        return Finding(
            np.inf,
            f"`{what}` is {here[k]} at a draw of its own prior, {described(bench, states, k)}.",
            TOLERANCE,
        )
    entries = np.unique(np.linspace(0, d - 1, min(d, MOST_ENTRIES)).astype(int))
    spread = np.maximum(bench.states("spread", 256).vectors.std(0), 1e-8)
    offsets = np.concatenate([np.array([-2, -1, 1, 2]) * step for step in STEPS])
    moves = np.zeros((len(entries), len(offsets), d))
    moves[np.arange(len(entries)), :, entries] = offsets * spread[entries, None]
    near = states.vectors[:, None, None, :] + moves
    count = len(entries) * len(offsets)
    index = np.repeat(np.arange(n), count)
    around = value(States(near.reshape(n * count, d), states.take(index).discrete))
    around = around.reshape(n, len(entries), len(STEPS), 4)
    slope = (8 * (around[..., 2] - around[..., 1]) - (around[..., 3] - around[..., 0])) / 12
    slope /= spread[entries, None] * np.array(STEPS)
    cases = []
    for k in range(n):
        if not np.isfinite(here[k]):
            continue  # a likelihood of 0 has no slope
        for j, entry in enumerate(entries):
            found, name = gradient[k, entry], bench.names[entry]
            near_by = slope[k, j][np.isfinite(slope[k, j])]
            if np.isfinite(found) and not near_by.size:
                continue  # on the edge of where it is positive
            if not np.isfinite(found):
                cases.append(
                    Discrepancy(
                        np.inf,
                        f"the gradient of `{what}` by `{name}` is {found} where its value is"
                        f" {here[k]:.6g} ({described(bench, states, k)}): usually a `jnp.where`"
                        " whose other branch is no number.",
                    )
                )
                continue
            scale = np.abs(found) + np.abs(near_by) + 1e-3 * (1 + abs(here[k]) / spread[entry])
            errors = np.abs(near_by - found) / scale
            best = int(np.argmin(errors))
            cases.append(
                Discrepancy(
                    float(errors[best]),
                    f"the gradient of `{what}` by `{name}` is {found:.6g}, and differences give"
                    f" {near_by[best]:.6g} ({described(bench, states, k)}).",
                )
            )
    return worst(cases, f"`{what}` is not finite at any prior draw looked at", TOLERANCE)


def described(bench: Bench, states: States, k: int, most: int = 4) -> str:
    """Where a state is, in words."""
    pairs = [f"{n} = {v:.4g}" for n, v in zip(bench.names, states.vectors[k], strict=True)]
    return ", ".join(pairs[:most]) + (", ..." if len(pairs) > most else "")


CHECKS = (
    Check(
        "gradients.prior",
        Kind.EXACT,
        "a `jnp.where` that hides a value which is no number, `stop_gradient`, or rounding inside"
        " `log_prior`.",
        prior,
    ),
    Check(
        "gradients.likelihood",
        Kind.EXACT,
        "a `jnp.where` that hides a value which is no number, `stop_gradient`, or rounding inside"
        " `log_likelihood`.",
        likelihood,
    ),
)
