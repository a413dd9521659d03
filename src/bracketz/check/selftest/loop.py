"""The engine and the estimators on probes: models so simple that the right answer can be written
down.

A kernel that writes a digit shows in which order it was called; a state that is a fresh uniform
shows whose key it came from.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, worst
from bracketz.check.subject import Subject, jit_once
from bracketz.core.capabilities import Collapsed, ScoredChain, TransitionDensity
from bracketz.core.kernel import Kernel, ScoredKernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.data.simulate import simulate
from bracketz.engine.anneal import Forward, Resampling, Reverse
from bracketz.engine.run import Program, run_chains
from bracketz.engine.session import Session
from bracketz.kernels.compose import Compose, Repeat
from bracketz.paths import Prefix, Tempered


class Trail(NamedTuple):
    trail: jax.Array  # digits written by the kernels that touched it


@pytree_dataclass
class TrailKernel(Kernel):
    """Appends a digit: 1 + the row's place on the path, or 5 more when reversed."""

    place: jax.Array
    backward: bool = False

    def step(self, key, state):
        return Trail(10 * state.trail + 1 + self.place + (5 if self.backward else 0))

    def reversed(self):
        return TrailKernel(self.place, not self.backward)


@pytree_dataclass
class TrailModel(Model, TransitionDensity):
    """log f(x; b) = mean(b) log(1 + x): a weight reveals the trail it was taken at."""

    def sample_prior(self, key, shape):
        return Trail(jnp.zeros(()))

    def simulate(self, key, state, shape):
        return jnp.zeros(shape)

    def log_annealed(self, state, y, powers):
        return jnp.mean(powers) * jnp.log1p(state.trail)

    def kernel(self, y, powers):
        return TrailKernel(jnp.round(jnp.sum(powers)))

    def scored_chain(self, y):
        return TrailChain()


@pytree_dataclass
class ScoredTrail(ScoredKernel):
    """Appends 1 forwards, 2 backwards; scores a state by its trail."""

    backward: bool = False

    def step(self, key, state):
        return Trail(10 * state.trail + (2 if self.backward else 1))

    def reversed(self):
        return ScoredTrail(not self.backward)

    def log_prob(self, new_state, state):
        return jnp.log(state.trail + (1000.0 if self.backward else 0.0))


class TrailChain(ScoredChain):
    kernel = ScoredTrail()

    def begin(self, key, state):
        return Trail(jnp.zeros(()))

    def log_joint(self, state):
        return jnp.zeros(())


def order(subject: Subject) -> Finding:
    """Weigh, then move, upwards; move with the *reversed* kernel, then weigh, downwards;
    compositions run backwards."""
    model, y = TrailModel(), jnp.zeros((4, 1))
    path = Prefix().over(model, 4)
    key = jax.random.key(0)
    cases = []

    @jit_once
    def walk(program):
        def step(index, carry):
            return program.step(jax.random.fold_in(key, index), carry, index)

        carry = jax.lax.fori_loop(0, 4, step, program.start(key))
        return carry.states.trail[0], carry.log_weights[0]

    up, gain = map(float, walk(Forward(model, y, path)))
    down, loss = map(float, walk(Reverse(model, y, path, Trail(jnp.zeros(())))))
    expected_gain = 0.25 * sum(np.log1p(x) for x in (0, 2, 23, 234))
    expected_loss = -0.25 * sum(np.log1p(x) for x in (10, 109, 1098, 10987))
    # Reversed kernels write 10, 9, 8, 7 at places 4, 3, 2, 1.
    cases.append(
        Discrepancy(abs(up - 2345), f"forward, the kernels ran as {up:.0f} instead of 2345.")
    )
    cases.append(
        Discrepancy(
            abs(gain - expected_gain),
            f"forward, the weights are off by {gain - expected_gain:+.3g} nats.",
        )
    )
    cases.append(
        Discrepancy(abs(down - 10987), f"reverse, the kernels ran as {down:.0f} instead of 10987.")
    )
    cases.append(
        Discrepancy(
            abs(loss - expected_loss),
            f"reverse, the weights are off by {loss - expected_loss:+.3g} nats.",
        )
    )
    one, two = TrailKernel(jnp.asarray(0.0)), TrailKernel(jnp.asarray(1.0))
    both = Compose((one, two))
    for kernel, digits in ((both, 12), (both.reversed(), 76), (Repeat(both, 2).reversed(), 7676)):
        got = float(kernel.step(key, Trail(jnp.zeros(()))).trail)
        cases.append(
            Discrepancy(abs(got - digits), f"a composition ran as {got:.0f} instead of {digits}.")
        )
    return worst(cases, "")


class Echo(NamedTuple):
    draws: jax.Array


@pytree_dataclass
class KeyProbe(Program):
    """Writes down a uniform from every key it is given."""

    num_steps: int = 8

    def start(self, key):
        return Echo(jnp.zeros(9).at[0].set(jax.random.uniform(key)))

    def step(self, key, carry, index):
        return Echo(carry.draws.at[index + 1].set(jax.random.uniform(key)))

    def log_value(self, carry):
        return carry.draws[0]


class Coin(NamedTuple):
    coin: jax.Array


@pytree_dataclass
class CoinModel(Model):
    """State and moves are fresh uniforms: particles that share a key share a state."""

    def sample_prior(self, key, shape):
        return Coin(jax.random.uniform(key))

    def simulate(self, key, state, shape):
        return jnp.zeros(shape)

    def log_annealed(self, state, y, powers):
        return jnp.sum(powers) * jnp.log(state.coin + 0.5)

    def kernel(self, y, powers):
        return CoinKernel()


class CoinKernel(Kernel):
    def step(self, key, state):
        return Coin(jax.random.uniform(key))

    def reversed(self):
        return self


def keys(subject: Subject) -> Finding:
    """No two of (seed, stream, chain, step, particle, sub-step) share randomness."""
    cases = []
    draws = [
        run_chains(KeyProbe(), 8, chains=7, seed=seed, stream=stream, session=Session()).carry.draws
        for seed, stream in ((0, "a"), (0, "b"), (1, "a"))
    ]
    flat = np.concatenate([np.ravel(d) for d in draws])
    repeats = len(flat) - len(np.unique(flat))
    cases.append(
        Discrepancy(
            float(repeats),
            f"{repeats} of {len(flat)} draws of different chains, steps or runs are equal.",
        )
    )
    model, y = CoinModel(), jnp.zeros((3, 1))
    seen = []
    programs = (
        Forward(model, y, Tempered().through(4), 1, Resampling(0.0), 5),
        Reverse(model, y, Tempered().through(4), Coin(jnp.asarray(0.5)), 1, Resampling(0.0), 5),
        Forward(model, y, Tempered().through(4), 2, Resampling(0.0), 5),
    )

    @jit_once
    def coins(program, key):
        def step(carry, index):
            carry = program.step(jax.random.fold_in(key, index + 1), carry, index)
            return carry, carry.states.coin

        return jax.lax.scan(step, program.start(key), jnp.arange(3))[1]

    for seed, program in enumerate(programs):
        seen.append(np.ravel(coins(program, jax.random.key(seed))))
    flat = np.concatenate(seen)
    repeats = len(flat) - len(np.unique(flat))
    cases.append(
        Discrepancy(float(repeats), f"{repeats} of {len(flat)} particles took the same draw.")
    )
    twice = Compose((Repeater(), Repeater())), Repeat(Repeater(), 3)
    for kernel, what in zip(twice, ("the parts of a composition", "repetitions"), strict=True):
        found = kernel.step(jax.random.key(5), Draws(jnp.zeros(()), jnp.zeros(())))
        cases.append(Discrepancy(float(found.repeats), f"{what} share their key."))
    shape = (2, 1)
    data = simulate(Triple(), *shape, seed=0)
    three = {float(data.exact.coin), float(data.parameters.coin), float(data.y[0, 0])}
    cases.append(
        Discrepancy(
            float(3 - len(three)),
            "a simulation uses one key for the state, the parameters or the data.",
        )
    )
    difference = float(Shared().simulate(jax.random.key(0), Coin(jnp.zeros(())), shape)[0, 0])
    cases.append(
        Discrepancy(
            float(difference == 0.0), "simulate uses one key for the parameters and the data."
        )
    )
    return worst(cases, "")


class Draws(NamedTuple):
    last: jax.Array
    repeats: jax.Array


class Repeater(Kernel):
    """Counts how often it is given the same randomness twice in a row."""

    def step(self, key, state):
        draw = jax.random.uniform(key)
        return Draws(draw, state.repeats + (draw == state.last))

    def reversed(self):
        return self


@pytree_dataclass
class Triple(Collapsed, Model):
    """State, parameters and data are each one fresh uniform."""

    def sample_prior(self, key, shape):
        return Coin(jax.random.uniform(key))

    def sample_parameters(self, key, state, shape):
        return Coin(jax.random.uniform(key))

    def sample_data(self, key, state, parameters):
        return jnp.full((2, 1), jax.random.uniform(key))

    def log_joint(self, state, parameters, y, powers):
        return jnp.zeros(())

    def log_annealed(self, state, y, powers):
        return jnp.zeros(())

    def kernel(self, y, powers):
        return CoinKernel()


@pytree_dataclass
class Shared(Triple):
    """Data that are the difference of two draws: 0 if both came from one key."""

    def sample_data(self, key, state, parameters):
        return jnp.full((2, 1), parameters.coin - jax.random.uniform(key))


CHECKS = (
    Check(
        "loop.order",
        Kind.EXACT,
        "the weight is taken after the move, or the reverse run uses the kernel itself instead"
        " of its reversal.",
        order,
    ),
    Check("loop.keys", Kind.EXACT, "a random key is used twice.", keys),
)
