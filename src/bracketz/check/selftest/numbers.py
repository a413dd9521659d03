"""Weights, schedules, resampling, averages and random numbers against their definitions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.conditionals import conditional_error
from bracketz.check.engine import tempered_rows
from bracketz.check.report import Check, Discrepancy, Finding, Kind, worst
from bracketz.check.selftest.loop import TrailModel
from bracketz.check.statistics import bonferroni, counts_p, white_p
from bracketz.check.subject import Subject, jit_once
from bracketz.core.betting import PRIOR, STAKES
from bracketz.core.path import Path
from bracketz.core.results import Certificate, Combine, lower_share
from bracketz.core.weights import (
    RESAMPLERS,
    bennett,
    effective_sample_size,
    logmeanexp,
    resample_indices,
)
from bracketz.engine.anneal import Particles, Resampling
from bracketz.numerics.conditionals import Categorical, Gaussian, TruncatedNormal
from bracketz.numerics.noise import standard_normal
from bracketz.paths import Linear, Prefix, Sigmoid, Tempered

_powers = jit_once(lambda path, t, n: path.powers(t, n), static_argnames="n")


def _first_rows(path: Path, n: int, count: int) -> np.ndarray:
    """Rows of powers as the path gives them."""
    return np.stack([np.asarray(_powers(path, t, n=n)) for t in range(count)])


def paths(subject: Subject) -> Finding:
    """Rows of powers: the tempered schedules as printed in the paper, and prefixes that grow by one
    point."""
    n = 6
    cases = []
    for count in (2, 5, 40):
        schedules = ((Sigmoid(), tempered_rows(count)), (Linear(), np.linspace(0, 1, count)))
        for schedule, expected in schedules:
            path = Tempered(schedule).through(count)
            rows = _first_rows(path, n, count)
            error = float(np.abs(rows - expected[:, None]).max()) + abs(
                path.num_edges - (count - 1)
            )
            cases.append(
                Discrepancy(
                    error,
                    f"the {schedule.name} schedule of {count} distributions is off by {error:.2g}.",
                )
            )
    for shuffle in (None, 3):
        growing = Prefix(shuffle=shuffle).over(TrailModel(), n)
        order = np.asarray(growing.order)
        for t, row in enumerate(_first_rows(growing, n, n + 1)):
            expected = np.zeros(n)
            expected[order[:t]] = 1.0
            error = float(np.abs(row - expected).max())
            cases.append(Discrepancy(error, f"the prefix row after {t} points is wrong."))
    return worst(cases, "")


class Number(NamedTuple):
    number: jax.Array | np.ndarray


def resampling(subject: Subject) -> Finding:
    """Resampling keeps the mean weight, makes weights equal, and copies states of positive weight
    only; below the threshold it happens, above it nothing changes."""
    cases = []
    log_weights = np.log(np.array([0.05, 0.3, 0.0, 0.4, 0.25]) + 1e-300) + 3.0
    states = Number(np.arange(5.0))
    key = jax.random.key(1)
    particles = Particles(states, jnp.asarray(log_weights))
    expected = float(np.log(np.mean(np.exp(log_weights))))
    for scheme in RESAMPLERS:

        @jit_once
        def resampled(key, particles, scheme=scheme):
            at = [Resampling(threshold, scheme)(key, particles) for threshold in (1.0, 0.0)]
            return *at, resample_indices(scheme, key, particles.log_weights)

        always, never, index = jax.tree.map(np.asarray, resampled(key, particles))
        spread = float(np.abs(always.log_weights - expected).max())
        cases.append(
            Discrepancy(
                spread,
                f"after {scheme} resampling the weights are off their mean by {spread:.2g} nats.",
            )
        )
        cases.append(
            Discrepancy(
                float(np.sum(always.states.number == 2.0)),
                f"{scheme} resampling copied a particle of weight 0.",
            )
        )
        kept = float(np.abs(always.states.number - states.number[index]).max())
        cases.append(Discrepancy(kept, f"{scheme} resampling moved other states than it drew."))
        moved = float(
            np.abs(never.states.number - states.number).max()
            + np.abs(never.log_weights - log_weights)[3]
        )
        cases.append(Discrepancy(moved, f"{scheme} resampling at threshold 0 changed something."))
    size = float(jit_once(effective_sample_size)(np.log([1.0, 2.0, 3.0])))
    cases.append(
        Discrepancy(
            abs(size - 36 / 14), "the effective sample size of weights 1, 2, 3 is not 36/14."
        )
    )
    return worst(cases, "")


def ancestors(subject: Subject) -> Finding:
    """Expected number of copies P w / sum(w), for every scheme, over many keys."""
    weights = np.array([0.05, 0.3, 0.0, 0.4, 0.25])
    keys = jax.random.split(subject.key("ancestors"), subject.sizes.draws)
    p_values = []
    for scheme in RESAMPLERS:
        log_weights = (
            jnp.log(jnp.asarray(weights)) - 7.0
        )  # never normalised when resampling is called
        index = jit_once(jax.vmap(lambda k, s=scheme, w=log_weights: resample_indices(s, k, w)))(
            keys
        )
        copies = np.stack([np.bincount(row, minlength=5) for row in np.asarray(index)])
        centred = copies - 5 * weights
        error = np.maximum(centred.std(axis=0, ddof=1), 1e-6) / np.sqrt(len(keys))
        z = centred.mean(axis=0) / error
        p_values += list(2 * np.exp(-0.5 * z**2))  # an upper bound on the normal tail
    return Finding(bonferroni(np.minimum(p_values, 1.0)), "copies a particle gets on average.")


def averages(subject: Subject) -> Finding:
    """Weights become numbers as defined: means of weights, combinations of trials, the certificate,
    and BAR."""
    cases = []
    values = np.array([-3.0, 0.5, 1.25, 2.0])
    arithmetic = np.log(np.mean(np.exp(values)))
    expected = {
        Combine.ARITHMETIC: arithmetic,
        Combine.HARMONIC: -np.log(np.mean(np.exp(-values))),
        Combine.MAXIMUM: 2.0,
        Combine.MEAN_LOG: values.mean(),
    }
    for combine, value in expected.items():
        got = combine(values)[0]
        cases.append(
            Discrepancy(
                abs(got - value), f"the {combine.value} of {values.tolist()} came out as {got:.4g}."
            )
        )
    got = float(jit_once(logmeanexp)(values))
    cases.append(
        Discrepancy(
            abs(got - arithmetic), f"logmeanexp of {values.tolist()} came out as {got:.4g}."
        )
    )
    # One weight each: the wealth is linear in it, so that the lower end has a closed form.
    certificate = Certificate.from_weights(np.array([-10.0]), np.array([-9.0]), 0.9)
    below = 0.1 * lower_share(1)
    low = -10 - np.log1p((1 / below - 1) / (PRIOR @ STAKES))
    high = -9 - np.log(0.1 - below)
    error = max(0.0, abs(certificate.low - low) + abs(certificate.high - high) - 1e-5)
    cases.append(
        Discrepancy(
            error,
            f"the 90 % certificate of weights of -10 and -9 is [{certificate.low:.3f},"
            f" {certificate.high:.3f}].",
        )
    )
    # Work values with q_B(l) / q_F(l) = exp(l - log Z) exactly: -l exponential of rates 1 and 2,
    # log Z = -log 2. Their midpoint is not the answer, so that only the right equation finds it.
    quantiles = (np.arange(2000) + 0.5) / 2000
    forward, reverse = np.log(quantiles), np.log(quantiles) / 2
    for few in (1, 4):
        got = bennett(forward, reverse[few // 2 :: few]).log_ml
        error = max(0.0, abs(got + np.log(2)) - 0.01)
        cases.append(
            Discrepancy(error, f"BAR gives {got:.3f} where the answer is {-np.log(2):.3f}.")
        )
    return worst(cases, "")


@jit_once
def _error(conditional, key):
    return conditional_error(conditional, key, grid_points=4_000)


def distributions(subject: Subject) -> Finding:
    """The library's own conditionals at hard arguments: far tails, tiny and huge weights,
    correlated Gaussians."""
    cases = []
    key = subject.key("distributions")

    def look(conditional, slack, what):
        error = float(_error(jax.tree.map(lambda a: np.asarray(a, float), conditional), key))
        cases.append(Discrepancy(error / slack, f"{what} is drawn wrongly, by {error:.2g}."))

    for low, high, variance in (
        (-1, 2, 1),
        (3, 3.5, 0.25),
        (9, 11, 1.3),
        (-14, -12, 2),
        (-50, 50, 0.6),
    ):
        what = f"a normal of variance {variance:g} cut to [{low:g}, {high:g}]"
        look(
            TruncatedNormal(jnp.asarray(low), jnp.asarray(high), variance), 10.0, what
        )  # erfc rounds a little more than the rest
    for logits in ([0.0, -1.0, 2.0], [500.0, 499.0, -800.0]):
        look(Categorical(jnp.array(logits)), 1.0, f"a categorical with logits {logits}")
    root = jnp.array([[1.3, 0.0, 0.0], [0.4, 0.7, 0.0], [-0.5, 0.2, 2.0]])
    for shift in ([0.5, -1.0, 2.0], [[0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]]):
        look(Gaussian(root, jnp.array(shift), 0.7), 1.0, f"a Gaussian of shift {shift}")
    return worst(cases, "")


def noise(subject: Subject) -> Finding:
    """Normals are normal and uniforms uniform, with independent entries."""
    draws = subject.sizes.draws
    normals = np.asarray(jit_once(lambda k: standard_normal(k, (draws, 4)))(subject.key("noise")))
    uniform = jit_once(lambda k: jax.vmap(jax.random.uniform)(jax.random.split(k, draws)))(
        subject.key("uniform")
    )
    counts = np.bincount((np.asarray(uniform) * 20).astype(int), minlength=20)
    p = [white_p(normals), counts_p(counts, np.full(20, 0.05))]
    return Finding(bonferroni(p), "the noise sweeps are made of.")


CHECKS = (
    Check(
        "numbers.paths",
        Kind.EXACT,
        "the schedule is off by one, or does not start at 0 and end at 1.",
        paths,
    ),
    Check(
        "numbers.resampling",
        Kind.EXACT,
        "weights are not reset to their mean when particles are resampled.",
        resampling,
    ),
    Check(
        "numbers.averages",
        Kind.EXACT,
        "a harmonic mean in place of an arithmetic one, a wrong count, or a wrong sign.",
        averages,
    ),
    Check(
        "numbers.distributions",
        Kind.EXACT,
        "a tail formula loses its precision or an index is off by one.",
        distributions,
    ),
    Check(
        "numbers.ancestors",
        Kind.STATISTICAL,
        "resampling does not draw in proportion to the weights.",
        ancestors,
    ),
    Check(
        "numbers.noise",
        Kind.STATISTICAL,
        "the random numbers do not have the law they should.",
        noise,
    ),
)
