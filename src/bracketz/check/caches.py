"""Caches against rebuilds: what a sweep keeps up to date must be what one would compute from
scratch."""

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.subject import Subject, describe_powers, draw, jit_once, outline, power_rows
from bracketz.core.capabilities import ConstrainedPrior
from bracketz.kernels.gibbs import GibbsScan

SWEEPS = 25


def walk(subject: Subject) -> Finding:
    """Thousands of moves on one cache, never rebuilt, then compared with a rebuild, entry by
    entry."""
    cases = []
    for instance in (subject.tiny, subject.few_rows(20, 5)):
        model = instance.model
        key = subject.key("walk")
        state, _, y = draw(model, instance.shape, key)
        rows = power_rows(instance.shape[0])[1:]
        if not isinstance(outline(model.kernel, y, rows[0]), GibbsScan):
            raise NotApplicable("the kernel keeps no cache (GibbsScan)")

        def wander(powers, model=model, y=y, state=state, key=key):
            kernel = model.kernel(y, powers)
            latents = kernel.latents(state)

            def visit(carry, i):
                cache, latents, noise = carry
                row = jax.tree.map(lambda a: a[i], kernel.rows)
                cache = kernel.remove(cache, row, latents[i])
                new = kernel.conditional(cache, row, latents[i]).from_noise(noise[i])
                return (kernel.insert(cache, row, new), latents.at[i].set(new), noise), None

            def sweep(s, carry):
                cache, latents = carry
                noise = kernel.noise(jax.random.fold_in(key, s), latents)
                (cache, latents, _), _ = jax.lax.scan(
                    visit, (cache, latents, noise), jnp.arange(len(latents))
                )
                return cache, latents

            cache, latents = jax.lax.fori_loop(0, SWEEPS, sweep, (kernel.cache(latents), latents))
            return cache, kernel.cache(latents)

        kept, rebuilt = jit_once(lambda rows, wander=wander: jax.lax.map(wander, rows))(rows)
        for (path, a), b in zip(
            jax.tree_util.tree_leaves_with_path(kept), jax.tree.leaves(rebuilt), strict=True
        ):
            scale = 1 + np.abs(np.asarray(b))
            error = np.abs(np.asarray(a) - np.asarray(b)) / scale
            bad = np.unravel_index(np.argmax(error), error.shape)
            name = jax.tree_util.keystr(path).strip(".")
            cases.append(
                Discrepancy(
                    float(error.max()),
                    f"cache entry {name}{list(map(int, bad[1:]))} is off by {error.max():.2g}"
                    f" (relative) after {SWEEPS} sweeps at powers {describe_powers(rows[bad[0]])}"
                    f" ({instance.label}).",
                )
            )
    return worst(cases, "")


def constrained(subject: Subject) -> Finding:
    """Nested sampling's moves never leave the region log L > cutoff, over many sweeps from
    inside."""
    if not isinstance(subject.model, ConstrainedPrior):
        raise NotApplicable("the model has no ConstrainedPrior capability")
    cases = []
    for instance in (subject.tiny, subject.few_rows(8, 3)):
        model = instance.model
        key_data, key_states, key_steps = jax.random.split(subject.key("constrained"), 3)
        _, _, y = draw(model, instance.shape, key_data)

        def climb(key, key_step, model=model, y=y):
            """Half-way squeezed towards high likelihood: each step's own level, less a little, is
            the next cutoff."""
            prior = model.constrained_prior(y)
            state = prior.sample_prior(key)

            def step(s, carry):
                state, worst = carry
                cutoff = prior.log_likelihood(state) - 0.5
                state = prior.step(jax.random.fold_in(key_step, s), state, cutoff)
                return state, jnp.maximum(worst, cutoff - prior.log_likelihood(state))

            return jax.lax.fori_loop(0, 40, step, (state, -jnp.inf * jnp.ones(())))[1]

        count = 4 * subject.sizes.states
        keys = jax.random.split(key_states, count), jax.random.split(key_steps, count)
        excess = float(np.max(jit_once(jax.vmap(climb))(*keys)))
        cases.append(
            Discrepancy(
                max(excess, 0.0),
                f"a move ended {excess:.2g} nats below the cutoff ({instance.label}).",
            )
        )
    return worst(cases, "")


CHECKS = (
    Check(
        "caches.walk",
        Kind.EXACT,
        "an entry is not updated when a point leaves or enters, or is updated with a value that"
        " has just changed.",
        walk,
    ),
    Check(
        "caches.constrained",
        Kind.EXACT,
        "the running likelihood of a constrained sweep is not brought up to date, or a value is"
        " taken without asking the cutoff.",
        constrained,
    ),
)
