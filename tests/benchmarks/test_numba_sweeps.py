"""The hand-written sweeps draw from the same transition laws as the JAX kernels they are timed
against."""

import functools
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.stats import chi2, norm

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.models.binary_attributes.row import patterns
from tiny_instances import TINY, power_rows

pytest.importorskip("numba")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from numba_sweeps import parallel_sweeper, sweeper

FALSE_POSITIVE = 1e-6  # of each parametrised test, over its fixed seed


def numba_draws(model, y, powers, start, count):
    """``count`` latents, each one hand-written sweep away from ``start``."""
    advance, rng = sweeper(model, y, powers), np.random.default_rng(7)
    draws = np.stack([start] * count)
    for draw in draws:
        advance(rng, draw, 1)
    return draws


@jax.jit
def jax_draws(model, y, powers, start, keys):
    """The same with the JAX kernel, one draw a key."""
    kernel = model.kernel(y, powers)
    return jax.lax.map(lambda key: kernel.step(key, start)[0], keys, batch_size=100)


@jax.jit
def log_row(model, y, powers, every, start):
    """log T(x' | start) for every state x'."""
    return jax.vmap(lambda new: model.kernel(y, powers).log_prob(new, start))(every)


def all_latents(name, model, rows):
    """Every value of the latents, in the order of their digits."""
    if name == "clustering":
        return np.indices([model.components] * rows, dtype=np.int32).reshape(rows, -1).T
    return patterns(rows * model.components).reshape(-1, rows, model.components)


@pytest.mark.slow
@pytest.mark.parametrize("powers_index", range(1, 4))  # ones, 0.37, and mixed with an exact 0 and 1
@pytest.mark.parametrize("name", ["clustering", "binary-bits"])
def test_transition_frequencies_are_those_of_the_scored_kernel(name, powers_index):
    """Chi-square of 30,000 one-sweep transitions from a fixed state against
    exp(kernel.log_prob)."""
    rows, count = 3, 30_000
    model, shape = TINY[name]
    data = simulate(model, *shape, seed=11)
    y, powers, state = data.y[:rows], power_rows(rows)[powers_index], type(data.exact)
    every = all_latents(name, model, rows)
    start = every[len(every) // 3]

    draws = numba_draws(model, y, powers, start, count).reshape(count, -1)
    expected = count * np.exp(log_row(model, y, powers, state(every), state(start)))
    np.testing.assert_allclose(expected.sum(), count)
    digits = 3 if name == "clustering" else 2
    index = (draws @ digits ** np.arange(start.size)[::-1]).astype(int)
    observed = np.bincount(index, minlength=len(every))
    # Rare states share a cell, so that the chi-square law holds.
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], max(1, expected[rare].sum()))
    statistic = np.sum((observed - expected) ** 2 / expected)
    assert chi2.sf(statistic, len(expected) - 1) > FALSE_POSITIVE


# On larger instances no row of T can be enumerated; moments are compared instead.


def moments(model, draws):
    """(draws, features): z_ik and neighbouring products for discrete latents; V', V'^2 and
    V' V'^T."""
    flat = draws.reshape(len(draws), -1)
    if isinstance(model, Clustering):
        flat = (
            (draws[:, :, None] == np.arange(model.components)).reshape(len(draws), -1).astype(float)
        )
    elif isinstance(model, LowRank):
        gram = draws @ draws.transpose(0, 2, 1)
        return np.concatenate([flat, flat**2, gram.reshape(len(draws), -1)], axis=1)
    return np.concatenate([flat, flat[:, 1:] * flat[:, :-1]], axis=1)


def disagreement(a, b):
    """Largest two-sample |z| over the features, as a multiple of the Bonferroni bound."""
    variance = a.var(axis=0) / len(a) + b.var(axis=0) / len(b)
    # Indicators that hardly ever vary have no normal z-score.
    known = variance * len(a) ** 2 > 100
    assert known.mean() > 0.2
    z = (a.mean(axis=0) - b.mean(axis=0))[known] / np.sqrt(variance[known])
    return np.abs(z).max() / norm.isf(FALSE_POSITIVE / 2 / known.sum())


@functools.cache
def reference(model):
    """(data, powers, moments) of 20,000 JAX sweeps from the exact sample."""
    data, powers = simulate(model, 21, 11, seed=3), power_rows(21)[3]
    draws = jax_draws(
        model, data.y, powers, data.exact, jax.random.split(jax.random.key(1), 20_000)
    )
    return data, powers, moments(model, np.asarray(draws))


LARGER = pytest.mark.parametrize(
    "model",
    [Clustering(), LowRank(), BinaryAttributes(components=5)],
    ids=lambda model: type(model).__name__,
)


@pytest.mark.slow
@LARGER
def test_moments_after_one_sweep_agree_with_jax(model):
    data, powers, expected = reference(model)
    draws = numba_draws(model, data.y, powers, data.exact[0], 20_000)
    assert disagreement(moments(model, draws), expected) < 1


@LARGER
def test_the_comparison_of_moments_notices_a_wrong_sweep(model):
    """The same bound refuses a sweep whose powers are a tenth too small."""
    data, powers, expected = reference(model)
    draws = numba_draws(model, data.y, 0.9 * powers, data.exact[0], 20_000)
    assert disagreement(moments(model, draws), expected) > 1


def test_parallel_sweeps_move_every_chain_alone():
    """Five chains on two threads: the same latents as each thread's generator gives its chains one
    after the other."""
    model, count = Clustering(), 3
    data, powers = simulate(model, 21, 11, seed=3), power_rows(21)[3]
    start = np.stack([data.exact[0]] * 5)
    together = start.copy()
    parallel_sweeper(model, data.y, powers, 2)(together, count)
    advance, rngs = sweeper(model, data.y, powers), np.random.default_rng(0).spawn(2)
    for worker, rng in enumerate(rngs):
        for chain in range(worker, 5, 2):
            advance(rng, start[chain], count)
    np.testing.assert_array_equal(together, start)
