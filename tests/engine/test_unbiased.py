"""E[w / Z] = 1 upwards, E[Z w] = 1 downwards and Crooks' relation, against an enumerated Z.

The model is a table of four states whose two bits hold each other, so that a sweep is not its own
reversal; exact samples are drawn from its posterior, one for each run. Equalities, not bounds.
"""

import ast
import dataclasses
import functools
import math
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import define_prng_impl
from scipy.special import logsumexp

import bracketz as bz
from bracketz.core.capabilities import Predictive
from bracketz.core.kernel import Kernel
from bracketz.core.weights import RESAMPLERS
from bracketz.engine.anneal import Forward, FromStates, Resampling, Reverse
from bracketz.numerics.conditionals import inverse_cdf

RUNS = 15_000
#: Standard errors allowed to a mean: one alarm in 300,000 of right code, for each.
SIGMAS = 4.65


def _mixed(x):
    """Murmur's finaliser: a bijection of 64 bits that looks random."""
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(33))


def _whole(key):
    return (key[0].astype(np.uint64) << np.uint64(32)) | key[1].astype(np.uint64)


def _halves(x):
    return jnp.stack([(x >> np.uint64(32)).astype(np.uint32), x.astype(np.uint32)], axis=-1)


def _counted(key, shape, salt):
    count = jax.lax.iota(np.uint64, math.prod(shape)) + np.uint64(salt)
    return _mixed(_whole(key) ^ _mixed(count * np.uint64(0x9E3779B97F4A7C15))).reshape(shape)


#: Threefry takes a second to compile in each of thirty programs.
HASHED = define_prng_impl(
    key_shape=(2,),
    seed=lambda seed: _halves(_mixed(jnp.asarray(seed).astype(np.uint64))),
    split=lambda key, shape: _halves(_counted(key, shape, 1 << 40)),
    random_bits=lambda key, width, shape: (
        _counted(key, shape, 1 << 41) >> np.uint64(64 - width)
    ).astype(f"uint{width}"),
    fold_in=lambda key, data: _halves(
        _mixed(_whole(key) ^ _mixed(jnp.asarray(data).astype(np.uint64) + np.uint64(1 << 42)))
    ),
    name="hashed",
    tag="hsh",
)


class Corner(NamedTuple):
    """Two bits as one number: 2 a + b."""

    corner: jax.Array


@bz.pytree_dataclass
class Pair(bz.Model, Predictive):
    """Two points with a bit each: log p(x) and log p(y_i | x) are tables, y has no say."""

    prior: jax.Array  # (4,)
    terms: jax.Array  # (2 points, 4)

    def sample_prior(self, key, shape):
        return Corner(inverse_cdf(jnp.exp(self.prior), jax.random.uniform(key)))

    def simulate(self, key, state, shape):
        return jnp.zeros(shape)

    def log_annealed(self, state, y, powers):
        return (self.prior + powers @ self.terms)[state.corner]

    def kernel(self, y, powers):
        return Scan(self.prior + powers @ self.terms)

    def point_conditional(self, state, y, powers, i):
        """The likelihoods of both points under powers hang on this bit; its own at power 0 leaves
        a mass of 1."""
        own = 2 - i  # the value of its bit in a corner
        off = state.corner - own * ((state.corner // own) % 2)
        corners = off + own * np.arange(2)
        bare = (self.prior + powers.at[i].set(0.0) @ self.terms)[corners]
        each = (self.prior + powers @ self.terms)[corners]
        return bz.Categorical(each - jnp.logaddexp(bare[0], bare[1]))

    def replace_latent(self, state, i, latent):
        own = 2 - i
        new = state.corner + own * (latent - (state.corner // own) % 2)
        return Corner(new.astype(state.corner.dtype))


@bz.pytree_dataclass
class Scan(Kernel):
    """The first bit given the second, then the second given the first; back to front reversed.
    Lazy, so that what one edge has weighed up the next one sees."""

    log_f: jax.Array  # (4,)
    backward: bool = bz.static(default=False)

    def step(self, key, state):
        corner = state.corner
        u = jax.random.uniform(key, (3,))
        for own in (1, 2) if self.backward else (2, 1):
            off = corner - own * ((corner // own) % 2)
            on = 1 / (1 + jnp.exp(self.log_f[off] - self.log_f[off + own]))
            corner = off + own * (u[own - 1] < on).astype(int)
        moved = jnp.where(u[2] < 0.3, corner, state.corner)
        return Corner(moved.astype(state.corner.dtype))

    def reversed(self):
        return Scan(self.log_f, not self.backward)


MODEL = Pair(
    np.log([0.3, 0.2, 0.15, 0.35]),
    np.array([[-0.2, -1.6, -2.2, 1.1], [1.0, -1.8, -1.2, -0.3]]),
)
Y = np.zeros((2, 1))
LOG_JOINT = MODEL.prior + MODEL.terms.sum(0)
LOG_Z = logsumexp(LOG_JOINT)
PATHS = {
    "tempered": bz.Tempered(bz.Linear()).through(4),
    # Not in the order of the scan, which would redraw at once the bit that has just left.
    "prefix, posterior": bz.Prefix("posterior", num_edges=2, order=np.array([1, 0])),
    "prefix, prior": bz.Prefix("prior", num_edges=2, order=np.array([1, 0])),
}
#: Particles, and when these are resampled: always, or below an effective sample size.
ALONE = (1, Resampling())
CROWDS = [
    (particles, Resampling(threshold, scheme))
    for scheme in RESAMPLERS
    for particles, threshold in ((2, 1.0), (5, 0.8))
]
CASES = [(path, ALONE) for path in PATHS]
# Every number and resampler on both paths, and every pair of them on one (compiling takes long).
CASES += [("tempered", CROWDS[k]) for k in (0, 1, 2, 5)]
CASES += [("prefix, posterior", CROWDS[k]) for k in (1, 3, 4)]


def case_id(value):
    return value if isinstance(value, str) else f"{value[0]} {value[1].scheme}"


@jax.jit
def log_values(program, keys, exact):
    """What each run stands for; a reverse run has an exact sample of its own."""

    def one(key, exact):
        own = dataclasses.replace(program, exact=exact) if program.sign < 0 else program

        def step(index, carry):
            return own.step(jax.random.fold_in(key, index + 1), carry, index)

        start = own.start(jax.random.fold_in(key, 0))
        return own.log_value(jax.lax.fori_loop(0, own.path.num_edges, step, start))

    return jax.vmap(one)(keys, exact)


def exact_states(count, seed):
    """Draws from the posterior."""
    drawn = np.random.default_rng(seed).choice(4, size=count, p=np.exp(LOG_JOINT - LOG_Z))
    return Corner(drawn.astype(np.int32))


@functools.cache
def values(path, crowd, down, runs=RUNS):
    """Of so many runs, minus log Z."""
    particles, resampling = crowd
    exact = exact_states(runs, 1)
    common = (1, resampling, particles)
    program = (
        Reverse(MODEL, Y, PATHS[path], Corner(np.int32(0)), *common)
        if down
        else Forward(MODEL, Y, PATHS[path], *common)
    )
    keys = jax.random.split(jax.random.key(2 + down, impl=HASHED), runs)
    return np.asarray(log_values(program, keys, exact)) - LOG_Z


@pytest.mark.parametrize(("path", "crowd"), CASES, ids=case_id)
def test_weights_average_to_the_evidence_and_reciprocals_to_its_reciprocal(path, crowd):
    """15,000 runs each way."""
    for down in (False, True):
        found = values(path, crowd, down)
        weights = np.exp(-found if down else found)
        assert abs(weights.mean() - 1) < SIGMAS * weights.std() / np.sqrt(RUNS)
        assert weights.std() > 0.02  # else there is nothing to see


def crooks(forward, reverse):
    """The largest |z| over four ranges of l = log w - log Z: q_B(l) = q_F(l) e^l, so E_F[s(l)] =
    E_B[s(-l)] in any range, s(l) = 1 / (1 + e^-l), which is bounded."""
    edges = np.quantile(np.concatenate([forward, reverse]), [0.25, 0.5, 0.75])
    scores = []
    for k in range(4):
        up, down = (
            np.where(np.searchsorted(edges, w) == k, 1 / (1 + np.exp(-sign * w)), 0.0)
            for w, sign in ((forward, 1), (reverse, -1))
        )
        error = np.hypot(up.std() / np.sqrt(len(up)), down.std() / np.sqrt(len(down)))
        scores.append((up.mean() - down.mean()) / max(error, 1e-12))
    return np.abs(scores).max()


@pytest.mark.parametrize("path", PATHS)
def test_crooks_relation_of_single_chains(path):
    """The pair of a sandwich: one alarm in 75,000 of right code, for each path."""
    assert crooks(values(path, ALONE, False), values(path, ALONE, True)) < SIGMAS


def test_crooks_relation_does_not_hold_with_particles():
    """Why Bennett is withheld there; and that these runs would show it."""
    crowd = CROWDS[1]
    assert crooks(values("tempered", crowd, False), values("tempered", crowd, True)) > SIGMAS


@pytest.mark.parametrize("each", [1, 4])
def test_crooks_relation_of_runs_from_states(each):
    """The pairs of ``evidence`` (states of its own) and of twins (one state for several runs, whose
    average over many states is meant): one alarm in 75,000."""
    starts = 4096 // each
    exact = exact_states(starts, 5)
    program = FromStates(MODEL, Y, PATHS["tempered"], exact, each=np.int64(each))
    found = bz.run_chains(program, 3, chains=4096, seed=3, stream="back", session=bz.Session())
    reverse = (found.log_values - LOG_Z).reshape(starts, each)
    # Runs from one state move together: the states are the independent ones.
    forward = values("tempered", ALONE, False)
    up, down = 1 / (1 + np.exp(-forward)), (1 / (1 + np.exp(reverse))).mean(1)
    error = np.hypot(up.std() / np.sqrt(len(up)), down.std() / np.sqrt(starts))
    assert abs(up.mean() - down.mean()) < SIGMAS * error


#: Where Bennett's estimate is taken, and the test here of the pair it is given.
PAIRS = {
    "inference/information.py": test_crooks_relation_of_single_chains,  # a sandwich's look
    "inference/sandwich.py": test_crooks_relation_of_single_chains,
    "inference/procedure.py": test_crooks_relation_of_runs_from_states,
    "inference/twins.py": test_crooks_relation_of_runs_from_states,
}


def test_no_other_pair_is_given_to_bennett():
    """A gate: whoever calls ``bennett`` elsewhere, or twice, adds the pair above."""
    package = Path(bz.__file__).parent
    found = []
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if not name.startswith("check/"):
            tree = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            calls = (node.func for node in tree if isinstance(node, ast.Call))
            found += [name for f in calls if getattr(f, "id", getattr(f, "attr", "")) == "bennett"]
    assert found == sorted(PAIRS)
