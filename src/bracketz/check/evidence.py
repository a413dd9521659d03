"""Step 3 of the appendix: every estimator the model supports against the exact evidence of a tiny
instance."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from bracketz.check.geweke import MAX_ENTRIES
from bracketz.check.pairs import affordable, both_directions, chib_both_ways, crooks_p
from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import bonferroni, mean_zero_p, same_law_p
from bracketz.check.subject import (
    Instance,
    Subject,
    draw,
    fewer_components,
    flatten,
    jit_draws,
    jit_once,
)
from bracketz.core.capabilities import ConstrainedPrior, PointFit, RowLatents
from bracketz.core.results import Side
from bracketz.data.dataset import Data
from bracketz.data.simulate import simulate
from bracketz.estimators.base import Estimator, estimate
from bracketz.estimators.registry import ESTIMATORS
from bracketz.paths import Prefix, Tempered
from bracketz.plots.kit import crooks

TRIALS = 64


def make(name: str, **knobs) -> Estimator:
    """An estimator with ``knobs``, or with its own generous ones."""
    estimator: Any = ESTIMATORS.find(name)
    return estimator(**(knobs or estimator.generous))


def runnable(model) -> list[str]:
    """The estimators that run on the model and claim something the exact evidence can
    contradict."""
    some = Data(np.zeros((1, 1)), exact=())
    return [
        name
        for name, estimator in ESTIMATORS.items()
        if (estimator.consistent or make(name).side(some) is not Side.NONE)
        and make(name).refusal(model, simulated=True) is None
    ]


def value_p(answer, truth: float) -> float:
    """p-value of an estimate, by what it claims.

    A deterministic bound: right or wrong. A bound without an error bar: Markov's inequality on its
    own side, always valid. Others: Student on the spread over trials, beyond the allowance, which
    covers what that spread does not show.
    """
    error = answer.log_ml - truth
    judged = ESTIMATORS[answer.estimator]
    if not judged.consistent:
        beyond = -error if answer.side is Side.UPPER else error
        return 1.0 if beyond <= 1e-6 else 0.0
    if judged.allowance is None and answer.side is Side.UPPER:
        return float(min(1.0, np.exp(error)))
    noise = max(judged.combine(np.array(answer.log_ml_trials))[1], 1e-9)
    beyond = max(0.0, abs(error) - (judged.allowance or 0.0))
    return float(2 * stats.t.sf(beyond / noise, answer.trials - 1))


def with_noise(instance: Instance, factor: float) -> Instance:
    """The instance with its noise variance multiplied."""
    if not hasattr(instance.model, "noise_variance"):
        raise NotApplicable("the model has no noise_variance to turn up or down")
    noise = float(instance.model.noise_variance) * factor
    return Instance(
        instance.label, dataclasses.replace(instance.model, noise_variance=noise), instance.shape
    )


def easy(instance: Instance) -> Instance:
    """Weak signal: relabelings and mirror images are one mode, which Chib-style estimators need."""
    try:
        return with_noise(instance, 5.0)
    except NotApplicable:
        return instance


def against_truth(instance: Instance, names, seed: int) -> Finding:
    """Each of the named estimators the model supports, on one data set of the instance."""
    rows, columns = instance.shape
    data = simulate(instance.model, rows, columns, seed=seed)
    truth = instance.model.exact_evidence(data.y)
    p_values, errors = {}, {}
    for name in names:
        if name in runnable(instance.model):
            answer = estimate(instance.model, data, make(name), trials=TRIALS, seed=seed)
            p_values[name], errors[name] = value_p(answer, truth), answer.log_ml - truth
    if not p_values:
        return Finding(1.0, "no estimator of this kind runs on the model.")
    name = min(p_values, key=lambda n: p_values[n])
    tried = f"{len(p_values)} estimators" if len(p_values) > 1 else "one estimator"
    return Finding(
        bonferroni(list(p_values.values())),
        f"{tried} against the exact {truth:.3f}; {name} is {errors[name]:+.3f} nats off.",
    )


def estimators(subject: Subject) -> Finding:
    """Each estimator, with generous effort, on one data set; Chib-style ones on an easy one."""
    instance = subject.enumerable
    one_mode = [name for name in ESTIMATORS if ESTIMATORS[name].one_mode]
    rest = against_truth(
        instance, [name for name in ESTIMATORS if name not in one_mode], subject.seed
    )
    found = min(
        rest, against_truth(easy(instance), one_mode, subject.seed), key=lambda f: f.statistic
    )
    return Finding(min(1.0, 2 * found.statistic), found.detail)


def _crooks(subject: Subject, name: str, path, **options) -> Finding:
    instance = subject.tiny
    runs = both_directions(instance, path, subject.sizes.data_sets, subject.key(name), **options)
    known = "with the exact evidence" if runs.truth is not None else "whatever the evidence"
    return Finding(
        crooks_p(runs),
        f"log q_F(l)/q_B(l) = log evidence - l along the whole range, {subject.sizes.data_sets}"
        f" data sets, {known} ({name}).",
        picture=functools.partial(crooks, name, runs),
    )


def crooks_tempered(subject: Subject) -> Finding:
    return _crooks(subject, "tempered path", Tempered().through(6))


def crooks_prefix(subject: Subject) -> Finding:
    return _crooks(subject, "prefix path", Prefix().over(subject.tiny.model, subject.tiny.shape[0]))


def particles(subject: Subject) -> Finding:
    """With particles and resampling, E[exp(l_F)] = Z and E[exp(-l_B)] = 1 / Z over simulated
    data."""
    instance = subject.enumerable
    count = affordable(instance, subject.sizes.data_sets)
    runs = both_directions(
        instance, Tempered().through(4), count, subject.key("particles"), chains=1, particles=3
    )
    assert runs.truth is not None
    surplus = np.exp(runs.forward[:, 0] - runs.truth) - 1
    # The reverse weights may have no variance: a bounded statement, P(U < log Z - b) <= e^-b, is
    # tested instead.
    p_values = [float(mean_zero_p(surplus))]
    for margin in (0.5, 1.0, 2.0):
        misses = int(np.sum(runs.reverse[:, 0] < runs.truth - margin))
        p_values.append(float(stats.binom.sf(misses - 1, len(runs.truth), np.exp(-margin))))
    return Finding(
        bonferroni(p_values),
        f"mean of exp(estimate - truth) is {1 + surplus.mean():.3f} with 3 resampled particles.",
    )


def chib(subject: Subject) -> Finding:
    """Crooks' relation for CMS, however short its chains. (Its estimates have mean Z, but often no
    variance.)"""
    instance = subject.enumerable
    if reason := make("cms").refusal(instance.model, simulated=True):
        raise NotApplicable(reason)
    count = affordable(instance, subject.sizes.data_sets)
    p_values = [
        crooks_p(chib_both_ways(instance, samples, 12, count, subject.key(f"cms {samples}")))
        for samples in (1, 4)
    ]
    return Finding(
        bonferroni(p_values),
        f"estimates of short CMS chains against chains from exact samples, {count} data sets.",
    )


def fit(subject: Subject) -> Finding:
    """``PointFit``: updates do not lower the likelihood and end where its gradient is 0; the
    likelihood is the one of ``RowLatents``; the parameters counted are those the likelihood can
    tell apart (rank of its gradients)."""
    if not isinstance(subject.model, PointFit):
        raise NotApplicable("the model has no PointFit capability")
    model: Any = fewer_components(subject.model, 2)
    shape = (12, 3)
    _, _, y = draw(model, shape, subject.key("fit"))
    fit = model.maximum_likelihood(y)

    @jit_once
    def climb(key):
        parameters = start = fit.start(key)

        def step(carry, _):
            parameters, value, fall = carry
            parameters = fit.update(parameters)
            new = fit.log_likelihood(parameters)
            return (parameters, new, jnp.maximum(fall, value - new)), None

        (parameters, value, fall), _ = jax.lax.scan(
            step, (parameters, fit.log_likelihood(parameters), 0.0), None, 3000
        )
        flat, back = flatten(parameters)

        def slopes(v):
            gradient = jax.grad(lambda v: fit.log_likelihood(back(v)))(v)
            return gradient, gradient

        hessian, gradient = jax.jacfwd(slopes, has_aux=True)(flat)
        return start, parameters, value, fall, gradient, hessian

    start, best, score, fall, gradient, hessian = climb(subject.key("fit start"))
    slope = float(np.abs(np.asarray(gradient)).max())
    curvature = float(np.linalg.eigvalsh(np.asarray(hessian))[-1])
    cases = [
        Discrepancy(
            max(0.0, curvature - 1e-3),
            f"the fit is no maximum: the likelihood curves upwards there, by {curvature:.2g}.",
        ),
        Discrepancy(float(fall), f"an update lowered the likelihood by {float(fall):.2g} nats."),
        Discrepancy(
            max(0.0, slope - 1e-3),
            f"after 3,000 updates the gradient of the likelihood is still {slope:.2g}.",
        ),
    ]
    if isinstance(model, RowLatents):
        rows = jit_once(jax.vmap(lambda row: model.row_conditional(best, row, 1.0).log_normalizer))
        gap = abs(float(np.sum(np.asarray(rows(y))) - float(score)))
        cases.append(
            Discrepancy(
                gap,
                f"the fit's likelihood misses the sum of row_conditional's masses by {gap:.2g}"
                " nats.",
            )
        )
    _, _, many = draw(model, (40, shape[1]), subject.key("fit rows"))
    generic = jax.tree.map(lambda a: np.asarray(a) + 0.1, start)
    gradients = jit_once(
        jax.vmap(
            lambda row: jax.grad(lambda p: model.maximum_likelihood(row[None]).log_likelihood(p))(
                generic
            )
        )
    )(many)
    table = np.concatenate(
        [np.asarray(g).reshape(40, -1) for g in jax.tree.leaves(gradients)], axis=1
    )
    rank = int(np.linalg.matrix_rank(table, tol=1e-9 * np.abs(table).max()))
    counted = fit.num_parameters
    cases.append(
        Discrepancy(
            float(abs(rank - counted)),
            f"{counted} free parameters are counted and the likelihood sees {rank}.",
        )
    )
    return worst(cases, "")


def constrained(subject: Subject) -> Finding:
    """A sweep on the prior above a cutoff keeps it: states drawn by rejection, moved once, against
    others not moved."""
    if not isinstance(subject.model, ConstrainedPrior):
        raise NotApplicable("the model has no ConstrainedPrior capability")
    model, shape = subject.tiny.model, subject.tiny.shape
    key_data, key_states, key_steps = jax.random.split(subject.key("constrained prior"), 3)
    _, _, y = draw(model, shape, key_data)
    prior = model.constrained_prior(y)
    count = subject.sizes.draws

    @jit_draws
    @jax.vmap
    def sample(key):
        state = prior.sample_prior(key)
        return state, prior.log_likelihood(state)

    def features(state):
        x = flatten(state)[0][:MAX_ENTRIES]
        return jnp.concatenate([x, x * jnp.roll(x, 1), prior.log_likelihood(state)[None]])

    @jit_draws
    @functools.partial(jax.vmap, in_axes=(0, 0, 0, None))
    def both(key, state, other, cutoff):
        return features(prior.step(key, state, cutoff)), features(other)

    states, levels = jax.tree.map(np.asarray, sample(jax.random.split(key_states, 2 * count)))
    shares = (0.4, 0.8)
    most = count - int(
        min(shares) * count
    )  # states to move, at the most: one size needs one program
    keys = jax.random.split(key_steps, most)
    p_values = []
    for share in shares:
        cutoff = np.quantile(levels, share) + 1e-6  # ties lie on one side, whatever the rounding
        inside = np.flatnonzero(levels > cutoff)
        half = min(len(inside) // 2, most)
        chosen = (np.resize(part, most) for part in (inside[:half], inside[half : 2 * half]))
        found = both(keys, *(jax.tree.map(lambda a, k=k: a[k], states) for k in chosen), cutoff)
        a, b = (np.round(np.asarray(f)[:half], 8) for f in found)
        p_values += [same_law_p(a[:, j], b[:, j]) for j in range(a.shape[1])]
    return Finding(
        bonferroni(p_values), f"{len(p_values)} functions of states above a cutoff, moved and not."
    )


CHECKS = (
    Check(
        "evidence.fit",
        Kind.EXACT,
        "an M-step misses a term, or symmetries are counted as parameters.",
        fit,
        thorough=True,
    ),
    Check(
        "evidence.constrained",
        Kind.STATISTICAL,
        "a variable is redrawn from the wrong part of its prior, or never.",
        constrained,
        thorough=True,
    ),
    Check(
        "evidence.crooks-tempered",
        Kind.STATISTICAL,
        "a kernel that does not keep the annealed density, a reversal that is none, a density"
        " with a constant missing, or (your own) nodes too coarse for the exact evidence.",
        crooks_tempered,
    ),
    Check(
        "evidence.crooks-prefix",
        Kind.STATISTICAL,
        "the entering or leaving point's weight or draw is wrong.",
        crooks_prefix,
        thorough=True,
    ),
    Check(
        "evidence.particles",
        Kind.STATISTICAL,
        "weights and resampling do not fit together.",
        particles,
        thorough=True,
    ),
    Check(
        "evidence.cms",
        Kind.STATISTICAL,
        "the chain does not start from the reversed kernel at x*, or the averaged transition"
        " density is another kernel's.",
        chib,
        thorough=True,
    ),
    Check(
        "evidence.estimators",
        Kind.STATISTICAL,
        "one estimator has a mistake of its own: a volume, a count, a constant.",
        estimators,
        thorough=True,
    ),
)
