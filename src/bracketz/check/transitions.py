"""Whole sweeps, still step 1 of the appendix: transition densities, their reversal, and what
``step`` really draws."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.conditionals import balance, random_states
from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import counts_p
from bracketz.check.subject import (
    Instance,
    Subject,
    describe_powers,
    draw,
    jit_once,
    outline,
    power_rows,
    show,
    tally,
)
from bracketz.core.capabilities import TransitionDensity
from bracketz.core.kernel import Kernel, ScoredKernel
from bracketz.kernels.compose import Compose


def reversal(subject: Subject) -> Finding:
    """f(x) T(x'|x) = f(x') R(x|x') for random pairs: the kernel and, where there is one, the scored
    chain. The parts of a composed kernel that have a transition density are checked for moves they
    make themselves."""
    cases = []
    for instance in subject.instances:
        model = instance.model
        keys, states, _, y = random_states(subject, instance, "reversal")
        rows = power_rows(instance.shape[0])
        kernel = outline(model.kernel, y, rows[0])
        states, others = _both_ways(states)
        if isinstance(kernel, ScoredKernel):

            def pair(x, new, powers, model=model, y=y):
                kernel = model.kernel(y, powers)
                left = model.log_annealed(x, y, powers) + kernel.log_prob(new, x)
                return balance(
                    left, model.log_annealed(new, y, powers) + kernel.reversed().log_prob(x, new)
                )

            over = jit_once(jax.vmap(jax.vmap(pair, (None, None, 0)), (0, 0, None)))
            cases.append(
                _pair_case(over(states, others, rows), states, others, rows, instance, "the kernel")
            )
        for number, part in enumerate(_parts(kernel)):
            if isinstance(part, ScoredKernel):

                def moved(key, x, powers, model=model, y=y, number=number):
                    part = _parts(model.kernel(y, powers))[number]
                    new = part.step(key, x)
                    left = model.log_annealed(x, y, powers) + part.log_prob(new, x)
                    return (
                        left - model.log_annealed(new, y, powers) - part.reversed().log_prob(x, new)
                    )

                over = jit_once(jax.vmap(jax.vmap(moved, (None, None, 0)), (0, 0, None)))
                error = np.abs(np.asarray(over(keys, states, rows)))
                s, b = np.unravel_index(np.argmax(error), error.shape)
                cases.append(
                    Discrepancy(
                        float(error.max()),
                        f"part {number + 1} of the kernel and its reversal disagree by"
                        f" {error[s, b]:.2g} nats on a move from"
                        f" {show(jax.tree.map(lambda a, s=s: a[s], states))} at powers"
                        f" {describe_powers(rows[b])}.",
                    )
                )
        if isinstance(model, TransitionDensity):

            def chained(key, key_new, state, other, model=model, y=y):
                chain = model.scored_chain(y)
                x, new = chain.begin(key, state), chain.begin(key_new, other)
                here, there = chain.log_joint(x), chain.log_joint(new)
                left = here + chain.kernel.log_prob(new, x)
                error = balance(left, there + chain.kernel.reversed().log_prob(x, new))
                return x, new, error, here - _chain_density(model, x, y)

            over = jit_once(
                lambda keys, *ends, chained=chained: jax.vmap(chained)(keys, keys[::-1], *ends)
            )
            starts, ends, error, gaps = jax.tree.map(np.asarray, over(keys, states, others))
            one = np.ones((1, instance.shape[0]))
            cases.append(
                _pair_case(error[:, None], starts, ends, one, instance, "the scored chain")
            )
            gap = float(np.max(np.abs(gaps)))
            cases.append(
                Discrepancy(
                    gap,
                    f"log_joint of the scored chain misses the model's density by {gap:.2g} nats.",
                )
            )
    return worst(cases, "the kernel has no transition density (ScoredKernel)")


def _both_ways(states):
    """States, and the same from last to first: pairs of them are random pairs."""
    states = jax.tree.map(np.asarray, states)
    return states, jax.tree.map(lambda a: a[::-1], states)


def _parts(kernel) -> tuple[Kernel, ...]:
    """The kernels of a composition."""
    return kernel.kernels if isinstance(kernel, Compose) else ()


def _chain_density(model, x, y):
    """The chain's state scored by the model itself: by field names, collapsed or not."""
    ones = jnp.ones(y.shape[0])
    if not hasattr(x, "_asdict"):
        return model.log_annealed(x, y, ones)
    fields = x._asdict()
    key = jax.random.key(0)
    state = jax.eval_shape(lambda k: model.sample_prior(k, y.shape), key)
    own = type(state)(**{name: fields[name] for name in state._fields})
    if set(fields) == set(state._fields):
        return model.log_annealed(own, y, ones)
    parameters = jax.eval_shape(lambda k: model.sample_parameters(k, own, y.shape), key)
    rest = type(parameters)(**{name: fields[name] for name in parameters._fields})
    return model.log_joint(own, rest, y, ones)


def _pair_case(error, states, others, rows, instance: Instance, who: str) -> Discrepancy:
    error = np.abs(np.asarray(error))
    s, b = np.unravel_index(np.argmax(error), error.shape)
    x, new = (show(jax.tree.map(lambda a: a[s], t)) for t in (states, others))
    return Discrepancy(
        float(error.max()),
        f"{who} and its reversal disagree by {error[s, b]:.2g} nats between {x} and {new} at"
        f" powers {describe_powers(rows[b])} ({instance.label}).",
    )


def _matrix_instance(subject: Subject) -> tuple[Any, tuple[int, int], Any]:
    """A finite instance of at most 100 states, and all of them."""
    instance = subject.enumerable
    if not instance.model.finite:
        raise NotApplicable("the state space is not finite")
    rows, columns = instance.shape
    for n in range(min(rows, 3), 0, -1):
        states, _ = instance.model.nodes((n, columns))
        if jax.tree.leaves(states)[0].shape[0] <= 100:
            return instance.model, (n, columns), jax.tree.map(jnp.asarray, states)
    raise NotApplicable("even one row has more than 100 states")


def matrix(subject: Subject) -> Finding:
    """The whole transition matrix of a tiny instance: rows sum to 1, f T = f, and f(x) T(x'|x) =
    f(x') R(x|x')."""
    model, shape, states = _matrix_instance(subject)
    _, _, y = draw(model, shape, subject.key("matrix"))
    rows = power_rows(shape[0])
    if not isinstance(outline(model.kernel, y, rows[0]), ScoredKernel):
        raise NotApplicable("the kernel has no transition density (ScoredKernel)")

    def errors(powers):
        kernel = model.kernel(y, powers)

        def table(kernel):
            return jnp.exp(
                jax.lax.map(lambda x: jax.vmap(lambda new: kernel.log_prob(new, x))(states), states)
            )

        forward, backward = table(kernel), table(kernel.reversed())
        f = jax.nn.softmax(jax.vmap(lambda s: model.log_annealed(s, y, powers))(states))
        return jnp.stack(
            [
                jnp.max(jnp.abs(forward.sum(1) - 1)),
                jnp.max(jnp.abs(f @ forward - f)),
                jnp.max(jnp.abs(f[:, None] * forward - (f[:, None] * backward).T)),
            ]
        )

    found = np.asarray(jit_once(lambda rows: jax.lax.map(errors, rows))(rows))
    what = ("do not sum to 1", "do not keep the density", "are not matched by the reversed kernel")
    b, w = np.unravel_index(np.argmax(found), found.shape)
    where = f"by {found[b, w]:.2g}, at powers {describe_powers(rows[b])}"
    sentence = f"transition probabilities {what[w]}, {where}."
    return Finding(float(found.max()), sentence, 1e-9)


def steps(subject: Subject) -> Finding:
    """``step`` draws what ``log_prob`` scores: frequencies from fixed states of a tiny instance,
    both directions."""
    model, shape, states = _matrix_instance(subject)
    key = subject.key("steps")
    _, _, y = draw(model, shape, key)
    powers = jnp.asarray(power_rows(shape[0])[2])
    if not isinstance(outline(model.kernel, y, powers), ScoredKernel):
        raise NotApplicable("the kernel has no transition density (ScoredKernel)")
    count = jax.tree.leaves(states)[0].shape[0]
    keys = jax.random.split(key, subject.sizes.draws)
    p_values, names = [], []
    for backward in (False, True):

        @jit_once
        def sample(keys, s, backward=backward):
            kernel = model.kernel(y, powers)
            kernel = kernel.reversed() if backward else kernel
            start = jax.tree.map(lambda a: a[s], states)
            row = jax.vmap(lambda new: kernel.log_prob(new, start))(states)
            return jax.vmap(lambda k: kernel.step(k, start))(keys), row

        for s in (0, count // 2, count - 1):
            found, row = sample(keys, s)
            p_values.append(counts_p(tally(found, states), np.exp(np.asarray(row))))
            names.append(f"state {s + 1} of {count}, {'reversed' if backward else 'forward'} sweep")
    j = int(np.argmin(p_values))
    return Finding(
        min(1.0, len(p_values) * p_values[j]), f"frequencies of a sweep's outcomes from {names[j]}."
    )


CHECKS = (
    Check(
        "transitions.reversal",
        Kind.EXACT,
        "the reversed sweep does not visit in the opposite order, or the transition density"
        " leaves a sub-step out.",
        reversal,
    ),
    Check(
        "transitions.matrix",
        Kind.EXACT,
        "the sweep does not leave the annealed density invariant at some row of powers.",
        matrix,
    ),
    Check(
        "transitions.steps",
        Kind.STATISTICAL,
        "step does not draw what log_prob scores: noise of the wrong law, a variable that is"
        " never updated, randomness used twice.",
        steps,
    ),
)
