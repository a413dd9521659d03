"""One loop, two directions (docs/design.md).

    forward edge t:   cross it upwards, log w += log_edge;   move with kernel_t
    reverse edge t:   move with kernel_t reversed;   cross it downwards, log w -= log_edge

Forward starts from the prior and E[w] = p(y); reverse starts from an exact posterior sample and
E[w] = 1 / p(y). So sign * logmeanexp(log w), with sign +1 and -1, is a stochastic lower and upper
bound on log p(y). AIS, SMC, their reverses, likelihood weighting and the harmonic mean are this
loop along three paths. Cost: one kernel sweep (times ``sweeps``) and one weight per edge and
particle.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Kernel, MoveReport
from bracketz.core.model import Model, State
from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.weights import RESAMPLERS, effective_sample_size, logmeanexp, resample_indices
from bracketz.engine.run import Program
from bracketz.errors import InputError, unknown
from bracketz.kernels.compose import Repeat


class Particles(NamedTuple):
    """One trial: P particles and their running log-weights."""

    states: State  # leading axis P
    log_weights: jax.Array  # (P,), float64


@pytree_dataclass
class Resampling:
    """When the effective sample size falls to ``threshold`` * P or below: 0 never, 1 always."""

    threshold: float = 0.5
    scheme: str = static(default="systematic")

    def __post_init__(self):
        if self.scheme not in RESAMPLERS:
            raise unknown("resampling scheme", self.scheme, RESAMPLERS)
        if not 0 <= self.threshold <= 1:
            raise InputError(
                "`resample_threshold` must lie between 0 (never) and 1 (always), got"
                f" {self.threshold}"
            )

    def __call__(self, key, particles: Particles) -> Particles:
        log_weights = particles.log_weights
        p = log_weights.shape[0]

        def resample(particles):
            index = resample_indices(self.scheme, key, log_weights)
            # The mean weight is kept, so the estimate's expectation is too.
            return Particles(
                jax.tree.map(lambda a: a[index], particles.states),
                jnp.full(p, logmeanexp(log_weights)),
            )

        # "+ tiny": at threshold 1 equal weights (ESS = P up to rounding) count as "always".
        due = effective_sample_size(log_weights) <= self.threshold * p * (1 + 1e-9)
        return jax.lax.cond(due & (self.threshold > 0), resample, lambda same: same, particles)


def _move(kernel: Kernel, keys, states: State) -> tuple[State, MoveReport]:
    """Every particle moved, and what the kernel reports of it, averaged over the particles."""
    if not kernel.reports:
        return jax.vmap(kernel.step)(keys, states), {}
    moved, report = jax.vmap(kernel.step_and_report)(keys, states)
    return moved, {name: jnp.mean(values) for name, values in report.items()}


class Annealing(Program):
    """What both directions share. ``step_and_report`` is a step, and what its kernel reports."""

    model: Model
    y: Any
    path: Path
    sweeps: Any
    resampling: Resampling
    particles: int

    @property
    def impossible(self):
        """An infinite weight. A weight of zero is a legal one."""
        return self.sign * np.inf

    def kernel_at(self, t) -> Repeat:
        """The kernel of row t, swept as often as asked for."""
        powers = self.path.powers(t, self.model.num_rows(self.y))
        return Repeat(self.model.kernel(self.y, powers), self.sweeps)

    @property
    def reports(self) -> tuple[str, ...]:
        """Names of what the kernel reports."""
        return self.kernel_at(1).reports

    @abstractmethod
    def step_and_report(self, key, carry: Particles, index) -> tuple[Particles, MoveReport]:
        """Edge ``index`` (0, 1, ...) of this direction."""

    def step(self, key, carry, index):
        return self.step_and_report(key, carry, index)[0]

    def log_value(self, carry):
        return self.sign * logmeanexp(carry.log_weights)

    def audit(self, carry):
        """Of a sweep of the first chains under full powers, where rounding is largest."""
        states = jax.tree.map(lambda a: np.asarray(a)[:, 0], carry.states)
        if not self.model.doubtful(jax.tree.map(np.asarray, self.y), states):
            return None
        drifts = _drifts(self, jax.tree.map(lambda a: a[:AUDITED_CHAINS], states))
        return None if drifts is None else float(np.max(drifts))


#: Chains that are looked at when a run has ended.
AUDITED_CHAINS = 4


@jax.jit
def _drifts(program: Annealing, states):
    y = jax.tree.map(jnp.asarray, program.y)
    ones = jnp.ones(program.model.num_rows(y))

    def without(i):
        return program.model.kernel(y, ones.at[i].set(0.0))

    return jax.vmap(lambda state: program.model.kernel(y, ones).drift(state, without))(states)


@pytree_dataclass
class Forward(Annealing):
    """Prior to posterior: lower bounds."""

    model: Model
    y: Any
    path: Path
    sweeps: Any = 1
    resampling: Resampling = Resampling()
    particles: int = static(default=1)

    sign = 1

    def start(self, key):
        keys = jax.random.split(key, self.particles)
        shape = self.model.data_shape(self.y)
        states = jax.vmap(lambda k: self.model.sample_prior(k, shape))(keys)
        return Particles(states, jnp.zeros(self.particles))

    def step_and_report(self, key, carry, index):
        t = index + 1
        key_cross, key_resample, key_move = jax.random.split(key, 3)

        def cross(key, state):
            return self.path.extend(key, self.model, self.y, state, t)

        # Weight before moving: the states still follow f_{t-1}.
        states, increments = jax.vmap(cross)(
            jax.random.split(key_cross, self.particles), carry.states
        )
        # A weight of 0 stays 0, whatever an impossible state makes of the next edge (-inf - -inf).
        dead = jnp.isneginf(carry.log_weights)
        carry = Particles(states, jnp.where(dead, -jnp.inf, carry.log_weights + increments))
        if self.particles > 1:
            carry = self.resampling(key_resample, carry)
        keys = jax.random.split(key_move, self.particles)
        moved, report = _move(self.kernel_at(t), keys, carry.states)
        return Particles(moved, carry.log_weights), report


@pytree_dataclass
class Reverse(Annealing):
    """Exact posterior sample to prior: upper bounds. Steps count edges from the last to the
    first."""

    model: Model
    y: Any
    path: Path
    exact: State
    sweeps: Any = 1
    resampling: Resampling = Resampling()
    particles: int = static(default=1)

    sign = -1

    def start(self, key):
        # One exact sample for all particles: each is exact marginally, which is all E[w] needs.
        states = jax.tree.map(lambda a: jnp.stack([a] * self.particles), self.exact)
        return Particles(self.settled(key, states), jnp.zeros(self.particles))

    def settled(self, key, states):
        """Posterior samples after ``Model.settling`` sweeps of the posterior's own kernel."""
        if not self.model.settling:
            return states
        kernel = self.model.kernel(self.y, jnp.ones(self.model.num_rows(self.y)))
        keys = jax.random.split(key, self.particles)
        states = jax.tree.map(jnp.asarray, states)
        return jax.vmap(Repeat(kernel, self.model.settling).step)(keys, states)

    def step_and_report(self, key, carry, index):
        t = self.path.num_edges - index
        key_cross, key_resample, key_move = jax.random.split(key, 3)
        keys = jax.random.split(key_move, self.particles)
        moved, report = _move(self.kernel_at(t).reversed(), keys, carry.states)

        def cross(key, state):
            return self.path.retract(key, self.model, self.y, state, t)

        states, increments = jax.vmap(cross)(jax.random.split(key_cross, self.particles), moved)
        carry = Particles(states, carry.log_weights - increments)
        if self.particles > 1:
            carry = self.resampling(key_resample, carry)
        return carry, report


@pytree_dataclass
class FromStates(Reverse):
    """Reverse runs, of which ``each`` in a row begin at one of several states; ``exact`` has them
    along its leading axis."""

    particles: int = static(default=1)
    each: Any = 1

    def start_of(self, key, chain):
        count = jax.tree.leaves(self.exact)[0].shape[0]
        mine = jnp.minimum(chain // self.each, count - 1).astype(int)
        states = jax.tree.map(
            lambda a: jnp.stack([jnp.asarray(a)[mine]] * self.particles), self.exact
        )
        return Particles(self.settled(key, states), jnp.zeros(self.particles))
