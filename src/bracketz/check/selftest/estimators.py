"""Nested sampling, Chib-style estimators and BIC on probes: models so simple that the right answer
can be written down."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, worst
from bracketz.check.selftest.loop import TrailModel
from bracketz.check.subject import Subject, jit_once
from bracketz.core.capabilities import Constrained, ConstrainedPrior, LikelihoodFit, PointFit
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.estimators.base import estimate
from bracketz.estimators.bic import BIC
from bracketz.estimators.chib import ChibProgram
from bracketz.estimators.nested import STOP, NestedProgram
from bracketz.paths import Tempered


def chib(subject: Subject) -> Finding:
    """CMS: one step of the reversed kernel from x*, then forwards S - s times, then from there
    again s - 1 times backwards; Chib: S steps forwards. What is averaged is the forward density to
    x*."""
    cases = []
    samples, y = 4, jnp.zeros((2, 1))
    for cms in (True, False):
        program = ChibProgram(
            TrailModel(), y, Tempered().through(2), samples, None, murray_salakhutdinov=cms
        )
        step = jit_once(program.step)
        for seed in range(6):
            key = jax.random.key(seed)
            carry = program.start(key)
            split = int(carry.split)
            for index in range(1 + samples):
                carry = step(jax.random.fold_in(key, index), carry, index)
            ahead = samples - 1 - split
            trails = [
                2,
                *(int("2" + "1" * k) for k in range(1, ahead + 1)),
                *(int("2" + "2" * k) for k in range(1, split + 1)),
            ]
            if not cms:
                trails = [int("1" * k) for k in range(1, samples + 1)]
            expected = -np.log(np.mean(trails))
            error = abs(float(program.log_value(carry)) - expected)
            what = "CMS" if cms else "Chib"
            cases.append(
                Discrepancy(
                    error,
                    f"{what} with s = {split + 1} of {samples} is {error:.3g} nats off the"
                    " average it is defined by.",
                )
            )
    return worst(cases, "")


class Level(NamedTuple):
    x: jax.Array


@pytree_dataclass
class Ramp(Constrained):
    """x uniform on [0, 1], log L = 5 x: the constrained prior can be drawn exactly."""

    y: Any

    def sample_prior(self, key):
        return Level(jax.random.uniform(key))

    def log_likelihood(self, state):
        return 5 * state.x

    def step(self, key, state, cutoff):
        low = cutoff / 5
        return Level(low + (1 - low) * jax.random.uniform(key, minval=1e-6))


@pytree_dataclass
class RampModel(Model, ConstrainedPrior, PointFit):
    """For nested sampling and BIC only."""

    def sample_prior(self, key, shape):
        return Level(jax.random.uniform(key))

    def simulate(self, key, state, shape):
        return jnp.zeros(shape)

    def log_annealed(self, state, y, powers):
        return 5 * state.x * jnp.mean(powers)

    def kernel(self, y, powers):
        raise NotImplementedError

    def constrained_prior(self, y):
        return Ramp(y)

    def maximum_likelihood(self, y):
        return Flat(y)


@pytree_dataclass
class Flat(LikelihoodFit):
    """A likelihood of e^-3 whatever the two parameters."""

    y: Any

    @property
    def num_parameters(self):
        return 2

    def start(self, key):
        return jnp.zeros(2)

    def update(self, parameters):
        return parameters

    def log_likelihood(self, parameters):
        return -3.0 + 0.0 * jnp.sum(parameters)


def nested(subject: Subject) -> Finding:
    """Each step adds (V_{t-1} - V_t) times the lowest likelihood, V_t = e^(-t/P), replaces that
    particle alone by one above it, and stops by the paper's rule."""
    cases = []
    y = jnp.zeros((1, 1))
    for particles in (2, 5):
        program = NestedProgram(RampModel(), y, 1, particles)
        step = jit_once(program.step)
        key = jax.random.key(particles)
        carry = program.start(key)
        log_sum = -np.inf
        for index in range(40 * particles):
            levels = np.asarray(carry.levels)
            after = step(jax.random.fold_in(key, index), carry, index)
            if bool(carry.done):
                same = float(np.abs(np.asarray(after.levels) - levels).max())
                cases.append(Discrepancy(same, "a stopped nested-sampling chain went on."))
                break
            low = int(np.argmin(levels))
            term = -index / particles + np.log(-np.expm1(-1 / particles)) + levels[low]
            stops = np.logaddexp(log_sum, term) - log_sum < STOP
            log_sum = np.logaddexp(log_sum, term)
            new = np.asarray(after.levels)
            others = np.delete(np.abs(new - levels), low).max()
            cases.append(
                Discrepancy(
                    float(others), "nested sampling replaced another particle than the lowest."
                )
            )
            cases.append(
                Discrepancy(
                    max(0.0, float(levels[low] - new[low])), "a replacement lies below the cutoff."
                )
            )
            kept = float(np.abs(5 * np.asarray(after.states.x) - new).max())
            cases.append(
                Discrepancy(
                    kept,
                    "nested sampling keeps states and likelihoods that do not belong together.",
                )
            )
            cases.append(
                Discrepancy(
                    abs(float(after.log_sum) - log_sum),
                    "nested sampling's sum misses (V_{t-1} - V_t) times the cutoff.",
                )
            )
            cases.append(
                Discrepancy(
                    float(bool(after.done) != bool(stops)),
                    "nested sampling stopped by another rule.",
                )
            )
            carry = after
        steps = int(carry.steps)
        rest = -steps / particles + np.log(np.mean(np.exp(np.asarray(carry.levels))))
        error = abs(float(program.log_value(carry)) - np.logaddexp(log_sum, rest))
        cases.append(
            Discrepancy(
                error,
                f"what is left at the end is {error:.3g} nats off V_T times the mean likelihood.",
            )
        )
    return worst(cases, "")


def bic(subject: Subject) -> Finding:
    """log-likelihood at the maximum less half the number of parameters times log N."""
    cases = []
    for n in (1, 7):
        answer = estimate(RampModel(), np.zeros((n, 3)), BIC(restarts=2), trials=1)
        error = abs(answer.log_ml - (-3.0 - np.log(n)))
        cases.append(Discrepancy(error, f"BIC of {n} rows is {error:.3g} nats off its definition."))
    return worst(cases, "")


CHECKS = (
    Check(
        "estimators.nested",
        Kind.EXACT,
        "a volume, a shell or the replaced particle is wrong.",
        nested,
    ),
    Check(
        "estimators.chib",
        Kind.EXACT,
        "the chain does not start from the reversed kernel at x*, turns at the wrong step, or"
        " averages the wrong density.",
        chib,
    ),
    Check(
        "estimators.bic",
        Kind.EXACT,
        "the penalty counts something else than rows, or is added.",
        bic,
    ),
)
