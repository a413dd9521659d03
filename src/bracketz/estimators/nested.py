"""Nested sampling (paper, section "Nested sampling")."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Constrained, ConstrainedPrior
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.core.weights import logmeanexp
from bracketz.engine.run import Program, run_chains
from bracketz.errors import unknown
from bracketz.estimators.base import Estimator

#: Stop when one more term multiplies the sum by less than 1 + e^-10 (the paper's rule).
STOP = np.log1p(np.exp(-10.0))
#: A bound on the steps, so that a constraint nobody can climb does not run for ever.
MAX_STEPS = 1_000_000
VOLUMES = ("geometric", "arithmetic")
#: Log-likelihoods this close, relative to their size, are equal: a sweep keeps its running one to
#: rounding.
EQUAL = 1e-9


class Live(NamedTuple):
    states: Any  # leading axis: particles
    levels: jax.Array  # log L of each, (P,)
    labels: jax.Array  # what parts equal levels, (P,), in [0, 1)
    log_sum: jax.Array  # log of the terms so far
    steps: jax.Array
    done: jax.Array


@pytree_dataclass
class NestedProgram(Program):
    """A step: the worst particle gives its likelihood as the next cutoff and is replaced.

    Step t adds (V_{t-1} - V_t) C_t; V_t is e^(-t/P) ("geometric") or (P / (P + 1))^t
    ("arithmetic"). The replacement is another particle, moved by ``transitions`` sweeps on the
    constrained prior. A chain that has met the stopping rule stands still while others go on. The
    value adds what is left, V_T times the mean likelihood of the particles.

    A step shrinks the volume by a Beta(P, 1) factor only if no two particles are equal, and in a
    discrete model states of one likelihood have a volume of their own, which a strict cutoff would
    skip at once. So x gets a label v, uniform on [0, 1) and independent of it, and the order is by
    (L, v): continuous, with the same p(y). Above a cutoff (C, c) lie the states with L > C, and
    those with L = C and v > c. Given v the moves are the model's own, above C or, if v > c, at C
    and above; given x, v is uniform on [0, 1), or on (c, 1) if L = C. Labels are drawn before the
    sweeps and after them: no further density is needed.
    """

    model: ConstrainedPrior
    y: jax.Array | np.ndarray
    transitions: Any
    particles: int = static(default=2)
    volume: str = static(default="geometric")

    open_ended = True

    def _prior(self) -> Constrained:
        return self.model.constrained_prior(self.y)

    def start(self, key):
        prior = self._prior()
        states = jax.vmap(prior.sample_prior)(jax.random.split(key, self.particles))
        levels = jax.vmap(prior.log_likelihood)(states)
        labels = jax.random.uniform(jax.random.fold_in(key, self.particles), (self.particles,))
        nothing, steps = -jnp.inf * jnp.ones(()), jnp.zeros((), int)
        return Live(states, levels, labels, nothing, steps, jnp.asarray(False))

    def _log_shrinkage(self):
        if self.volume == "geometric":
            return -1 / self.particles
        return float(np.log(self.particles / (self.particles + 1)))

    def _log_volume(self, steps):
        return steps * self._log_shrinkage()

    def step(self, key, carry, index):
        prior = self._prior()
        key_pick, key_move, key_before, key_after = jax.random.split(key, 4)
        lowest = jnp.min(carry.levels)
        near = jnp.where(jnp.isfinite(lowest), EQUAL * jnp.maximum(1.0, jnp.abs(lowest)), 0.0)
        worst = jnp.argmin(jnp.where(carry.levels <= lowest + near, carry.labels, jnp.inf))
        cutoff, least = carry.levels[worst], carry.labels[worst]
        shell = np.log(-np.expm1(self._log_shrinkage()))  # V_{t-1} - V_t = V_{t-1} (1 - shrinkage)
        term = self._log_volume(carry.steps) + shell + cutoff
        log_sum = jnp.logaddexp(carry.log_sum, term)
        other = (worst + jax.random.randint(key_pick, (), 1, self.particles)) % self.particles
        state = jax.tree.map(lambda a: a[other], carry.states)

        def label(key, level):
            """Given the state: above the least where it is at the cutoff."""
            low = jnp.where(level <= cutoff + near, least, 0.0)
            return low + (1 - low) * jax.random.uniform(key)

        free = label(key_before, carry.levels[other]) > least

        def move(s, state):
            edge = jnp.where(free, cutoff - near, cutoff + near)
            return prior.step(jax.random.fold_in(key_move, s), state, edge)

        state = jax.lax.fori_loop(0, self.transitions, move, state)
        level = prior.log_likelihood(state)
        new = Live(
            jax.tree.map(lambda a, v: a.at[worst].set(v), carry.states, state),
            carry.levels.at[worst].set(level),
            carry.labels.at[worst].set(label(key_after, level)),
            log_sum,
            carry.steps + 1,
            log_sum - carry.log_sum < STOP,
        )
        return jax.tree.map(lambda old, now: jnp.where(carry.done, old, now), carry, new)

    def log_value(self, carry):
        rest = self._log_volume(carry.steps) + logmeanexp(carry.levels)
        return jnp.logaddexp(carry.log_sum, rest)

    def done(self, carry):
        return carry.done


@dataclass(frozen=True)
class Nested(Estimator):
    """The prior squeezed step by step into the region of high likelihood. No bound.

    The volumes are only right on average, and exact constrained draws are out of reach. States of
    equal likelihood (discrete models) are put in order by random labels. The number of steps is
    found by the stopping rule and reported. Cost: steps * transitions sweeps.

    Args:
        transitions: sweeps per step on the constrained prior (the knob).
        particles: P; two by default, the paper's finding for modest time.
        volume: each step shrinks the prior volume by a Beta(P, 1) factor. Its mean is P / (P + 1),
            the paper's printed formula, but its log averages -1/P, and over t steps the two part by
            t (1/P - log(1 + 1/P)): 20 nats at 214 steps of 2 particles. Since log p(y) is what is
            reported, "geometric" (e^(-t/P)) is the default; "arithmetic" is the printed formula.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.Nested(transitions=1), trials=2).side.value
        'none'
    """

    transitions: int = 5
    particles: int = 2
    volume: str = "geometric"

    name = "nested"
    full_name = "nested sampling"
    cost = "steps * transitions sweeps"
    tunable = {"particles": (2, 5, 20, 80)}
    knob = "transitions"
    combine = Combine.MEAN_LOG
    generous = {"transitions": 10, "particles": 30}
    allowance = 0.2  # volumes are replaced by their averages
    requires = (ConstrainedPrior,)

    def __post_init__(self):
        require_at_least(1, transitions=self.transitions)
        require_at_least(2, particles=self.particles)
        if self.volume not in VOLUMES:
            raise unknown("volume", self.volume, VOLUMES)

    def side(self, data):
        return Side.NONE

    def run(self, model, data, trials, seed, session):
        program = NestedProgram(model, data.y, self.transitions, self.particles, self.volume)
        return run_chains(
            program, MAX_STEPS, chains=trials, seed=seed, stream=self.name, session=session
        )

    def details(self, outcome):
        return {"steps": outcome.carry.steps.tolist()}
