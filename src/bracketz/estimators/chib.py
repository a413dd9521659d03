"""Chib-style estimators (paper, section "Chib-style estimators"): Chib's own and the unbiased CMS.

Both rest on p(y) = p(x*, y) / p(x* | y) for one state x*, and estimate the denominator by averaging
transition densities T(x* | x_s) over states x_s.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import ScoredChain, TransitionDensity
from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.anneal import Forward
from bracketz.engine.run import Program, run_chains
from bracketz.errors import InputError, unknown
from bracketz.estimators.base import NO_VARIANCE, Estimator
from bracketz.paths import Tempered

POINTS = ("chain", "exact")


class ChibCarry(NamedTuple):
    particles: Any  # the posterior run that finds x*
    point: Any  # x*
    pivot: Any  # where a CMS chain starts in both directions
    state: Any
    split: jax.Array  # s - 1: how many of the samples lie before the pivot
    log_sum: jax.Array  # log of the sum of T(x* | x_s)


@pytree_dataclass
class ChibProgram(Program):
    """``burn_in`` annealing edges find x*; then ``samples`` transition densities to it are
    averaged.

    CMS: s is uniform on 1..S and x_s is drawn from the *reversed* kernel at x*. The chain runs
    forwards from x_s to x_S and, from x_s again, backwards to x_1. Given x*, the average of T(x* |
    .) then has expectation of reciprocal exactly 1 / p(x* | y): the estimate of p(y) is unbiased.
    Chib: the posterior run simply goes on from where it is.
    """

    model: Model
    y: jax.Array | np.ndarray
    path: Path
    samples: Any
    exact: Any
    murray_salakhutdinov: bool = static(default=True)
    from_exact: bool = static(default=False)

    def _chain(self) -> ScoredChain:
        assert isinstance(self.model, TransitionDensity)
        return self.model.scored_chain(self.y)

    def _annealing(self):
        return Forward(self.model, self.y, self.path)

    def start(self, key):
        key_run, key_point, key_split = jax.random.split(key, 3)
        particles = self._annealing().start(key_run)
        chain = self._chain()
        state = self.exact if self.from_exact else jax.tree.map(lambda a: a[0], particles.states)
        point = chain.begin(key_point, jax.tree.map(jnp.asarray, state))
        split = jax.random.randint(key_split, (), 0, self.samples)
        return ChibCarry(particles, point, point, point, split, -jnp.inf * jnp.ones(()))

    def step(self, key, carry, index):
        edges = self.path.num_edges
        return jax.lax.cond(
            index < edges,
            lambda: self._find(key, carry, index),
            lambda: self._average(key, carry, index - edges),
        )

    def _find(self, key, carry, index):
        """One more annealing edge; x* is the state it ends in."""
        if self.from_exact:
            return carry
        key_edge, key_point = jax.random.split(key)
        particles = self._annealing().step(key_edge, carry.particles, index)
        point = self._chain().begin(key_point, jax.tree.map(lambda a: a[0], particles.states))
        return ChibCarry(particles, point, point, point, carry.split, carry.log_sum)

    def _average(self, key, carry, j):
        chain = self._chain()
        forward, backward = chain.kernel, chain.kernel.reversed()
        pivot = carry.pivot
        if not self.murray_salakhutdinov:
            state = forward.step(key, carry.state)
        else:
            # j = 0: the pivot. j = 1..S-s: forwards. Then from the pivot again, s - 1 steps
            # backwards.
            ahead = self.samples - 1 - carry.split
            first, turn = j == 0, j == ahead + 1
            source = jax.tree.map(lambda p, s: jnp.where(turn, p, s), pivot, carry.state)
            key_forward, key_backward = jax.random.split(key)
            ups, downs = forward.step(key_forward, source), backward.step(key_backward, source)
            go_forward = (j >= 1) & (j <= ahead)
            state = jax.tree.map(lambda up, down: jnp.where(go_forward, up, down), ups, downs)
            pivot = jax.tree.map(lambda p, s: jnp.where(first, s, p), pivot, state)
        log_sum = jnp.logaddexp(carry.log_sum, forward.log_prob(carry.point, state))
        return carry._replace(pivot=pivot, state=state, log_sum=log_sum)

    def log_value(self, carry):
        mean = carry.log_sum - jnp.log(self.samples)
        return self._chain().log_joint(carry.point) - mean


@dataclass(frozen=True)
class Chib(Estimator):
    """Chib's original: transition densities to x* averaged along a posterior chain. No bound.

    p(y) = p(x*, y) / p(x* | y) for any state x*; x* is the end of an annealed run. Cost: burn_in +
    2 * samples sweeps.

    Args:
        samples: transition densities averaged (the knob).
        burn_in: distributions of the annealed run whose end is x*.
        point: "chain": x* is that end, which does not look at the truth. "exact": the exact sample
            of simulated data instead.

    Raises:
        InputError: a value out of range; when run, ``point`` "exact" on observed data.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.Chib(samples=5, burn_in=5), trials=2).side.value
        'none'
    """

    samples: int = 1000
    burn_in: int = 500
    point: str = "chain"

    name = "chib"
    full_name = "Chib's method"
    cost = "burn-in + 2 * samples sweeps"
    knob = "samples"
    combine = Combine.MEAN_LOG
    generous = {"samples": 300, "burn_in": 50}
    allowance = 0.1  # its chain starts where the posterior run ended
    one_mode = True
    requires = (TransitionDensity,)

    def __post_init__(self):
        require_at_least(1, samples=self.samples)
        require_at_least(2, burn_in=self.burn_in)
        if self.point not in POINTS:
            raise unknown("point", self.point, POINTS)

    def side(self, data):
        return Side.NONE

    def run(self, model, data, trials, seed, session):
        from_exact = self.point == "exact"
        if from_exact and not data.simulated:
            raise InputError(f"{self.name} has no exact sample to stand on here; use `point=chain`")
        path = Tempered().through(self.burn_in)
        program = ChibProgram(
            model,
            data.y,
            path,
            self.samples,
            data.exact if from_exact else None,
            murray_salakhutdinov=self.name == "cms",
            from_exact=from_exact,
        )
        steps = path.num_edges + self.samples
        return run_chains(
            program, steps, chains=trials, seed=seed, stream=self.name, session=session
        )


@dataclass(frozen=True)
class CMS(Chib):
    """Chib-Murray-Salakhutdinov: unbiased for p(y), so a stochastic lower bound.

    As ``Chib``, with a chain that runs both ways from a state drawn by the reversed kernel at x*
    (see ``ChibProgram``). It divides by an average of transition densities that now and then is
    tiny: tails so heavy that there is no error bar. Cost: burn_in + 3 * samples sweeps.

    Args:
        samples: transition densities averaged (the knob).
        burn_in: distributions of the annealed run whose end is x*.
        point: "chain": x* is that end, which does not look at the truth. "exact": the exact sample
            of simulated data instead.

    Raises:
        InputError: a value out of range; when run, ``point`` "exact" on observed data.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.CMS(samples=5, burn_in=5), trials=2).side.value
        'lower'
    """

    name = "cms"
    full_name = "Chib-Murray-Salakhutdinov"
    cost = "burn-in + 3 * samples sweeps"
    combine = Combine.ARITHMETIC
    allowance = 0.01
    no_error_bar = NO_VARIANCE

    def side(self, data):
        return Side.LOWER
