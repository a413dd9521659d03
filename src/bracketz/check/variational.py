"""Variational updates: each is a stationary point of the objective in its own factor, and never
lowers it."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.subject import Subject, draw, jit_once
from bracketz.core.capabilities import Variational


def updates(subject: Subject) -> Finding:
    """After an update of some leaves of q, the objective's derivative towards any other belief in
    those leaves is 0, its second derivative not positive, and its value not below the one before.

    Directions are differences of two beliefs, so that they stay inside the family (probabilities
    that sum to 1, symmetric covariances).
    """
    if not isinstance(subject.model, Variational):
        raise NotApplicable("the model has no Variational capability")
    cases = []
    for instance in subject.instances:
        key_data, key_q, key_other = jax.random.split(subject.key("variational"), 3)
        _, _, y = draw(instance.model, instance.shape, key_data)
        family = instance.model.variational(y)

        def errors(key_q, key_other, family=family):
            other = family.start(key_other)
            for update in family.updates:  # the other belief: somewhere else, still inside
                other = update(other)
            # Halfway to it: a start may be certain of everything, which hides what an update does
            # with doubt.
            q = jax.tree.map(lambda a, b: (a + b) / 2, family.start(key_q), other)
            before = family.objective(q)
            out = []
            for update in family.updates:
                new = update(q)
                changed = jax.tree.map(lambda a, b: a != b, q, new)
                toward = jax.tree.map(lambda o, n, c: jnp.where(c, o - n, 0.0), other, new, changed)

                def along(s, new=new, toward=toward):
                    return family.objective(jax.tree.map(lambda a, d, s=s: a + s * d, new, toward))

                value, slope, curvature = _second_order(along)
                # A scale for "zero": what the slope would be without the cancellation of its terms.
                size = 1 + jnp.abs(value) + jnp.abs(curvature)
                fall = jnp.maximum(before - value, 0.0)
                out.append(jnp.stack([jnp.abs(slope), jnp.maximum(curvature, 0.0), fall]) / size)
                q, before = new, value
            return jnp.stack(out)

        keys = [jax.random.split(k, 3) for k in (key_q, key_other)]
        found = np.asarray(jit_once(jax.vmap(errors))(*keys))  # (starts, updates, 3)
        s, u, w = np.unravel_index(np.argmax(found), found.shape)
        what = ("is not stationary", "is not a maximum", "lowers the objective")[w]
        cases.append(
            Discrepancy(
                float(found[s, u, w]), f"update {u + 1} {what}, by {found[s, u, w]:.2g} (relative)."
            )
        )
    return worst(cases, "")


def _second_order(along):
    """(value, slope, curvature) of a function of one number at 0."""

    def first(s):
        return jax.jvp(along, (s,), (1.0,))

    (value, slope), (_, curvature) = jax.jvp(first, (0.0,), (1.0,))
    return value, slope, curvature


def bound(subject: Subject) -> Finding:
    """The objective never exceeds the exact evidence of a tiny instance; by how much it does is the
    statistic."""
    if not isinstance(subject.model, Variational):
        raise NotApplicable("the model has no Variational capability")
    instance = subject.enumerable
    cases = []

    @jit_once
    def best(y, keys):
        family = instance.model.variational(y)

        def sweep(_, q):
            for update in family.updates:
                q = update(q)
            return q

        return jax.vmap(
            lambda k: family.objective(jax.lax.fori_loop(0, 30, sweep, family.start(k)))
        )(keys)

    for s in range(3):
        _, _, y = draw(
            instance.model, instance.shape, jax.random.fold_in(subject.key("vb bound"), s)
        )
        truth = instance.model.exact_evidence(np.asarray(y))
        top = float(np.max(best(y, jax.random.split(subject.key(f"start {s}"), 8))))
        cases.append(
            Discrepancy(
                max(top - truth, 0.0),
                f"the variational bound exceeds the exact evidence by {top - truth:.3g} nats.",
            )
        )
    return worst(cases, "")


def relabelings(subject: Subject) -> Finding:
    """The symmetry correction is the log of a number of permutations: K! for K exchangeable
    components."""
    if not isinstance(subject.model, Variational):
        raise NotApplicable("the model has no Variational capability")
    cases = []
    for instance in subject.instances:
        if not hasattr(instance.model, "components"):
            raise NotApplicable("the model has no components to relabel")
        _, _, y = draw(instance.model, instance.shape, subject.key("relabelings"))
        claimed = float(instance.model.variational(y).log_relabelings)
        error = abs(claimed - math.lgamma(instance.model.components + 1))
        cases.append(
            Discrepancy(
                error,
                f"{instance.model.components} components are said to have exp({claimed:.4g})"
                " relabelings.",
            )
        )
    return worst(cases, "")


CHECKS = (
    Check(
        "variational.updates",
        Kind.EXACT,
        "an update misses a term of the objective (a variance, a cross term), or the objective"
        " misses one of the update's.",
        updates,
    ),
    Check("variational.relabelings", Kind.EXACT, "the factorial is off by one.", relabelings),
    Check(
        "variational.bound",
        Kind.EXACT,
        "the objective lacks a normalising constant or an entropy.",
        bound,
    ),
)
