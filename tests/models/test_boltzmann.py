"""Restricted Boltzmann machines: sums over both layers, kernels as matrices, exact samples, RAISE.

Statistical tests use fixed keys; a correct program fails one with probability at most ``RATE``.
"""

import csv
import itertools
from pathlib import Path

import jax
import numpy as np
import pytest

import bracketz as bz
from bracketz.check.statistics import counts_p, mean_zero_p
from bracketz.check.subject import tally
from bracketz.models.boltzmann.held_out import raise_bound

RATE = 1e-4
RNG = np.random.default_rng(8)
PYDEEP = Path(__file__).parents[2] / "examples" / "undirected" / "rbm_pydeep_4x4.csv"


def pydeep():
    """The machine of PyDeep's tests: 4 visible and 4 hidden units, large weights."""
    y = np.zeros((5, 5))  # "-1" in the file is the unit that is always on
    with PYDEEP.open() as file:
        for line in csv.DictReader(row for row in file if not row.startswith("#")):
            y[int(line["j"]) + 1, int(line["i"]) + 1] = float(line["value"])
    return y


def summed(y):
    """log of the sum over both layers, written out."""
    hidden, visible = (length - 1 for length in y.shape)
    values = []
    for bits in itertools.product((0, 1), repeat=hidden + visible):
        v, h = np.array((1, *bits[:visible])), np.array((1, *bits[visible:]))
        values.append(h @ y @ v)
    return np.logaddexp.reduce(values)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (1, 4)], ids=str)
def test_enumerating_the_smaller_layer_is_the_sum_over_both(shape):
    y = RNG.normal(size=shape)
    assert bz.RBM().exact_evidence(y) == pytest.approx(summed(y), abs=1e-10)


def test_the_published_machine_has_the_published_partition_function():
    """And the mean log-likelihood of bars and stripes on 2 x 2 pixels; both as PyDeep has them."""
    y = pydeep()
    assert bz.RBM().exact_evidence(y) == pytest.approx(59.6749019726, abs=1e-7)
    pictures = ["0000", "0000", "1111", "1111", "0011", "1100", "1010", "0101"]
    log_f = [float(bz.RBM().log_visible(np.array(list(map(int, v))), y)) for v in pictures]
    assert np.mean(log_f) - summed(y) == pytest.approx(-1.7328699078, abs=1e-6)


@jax.jit
def tables(model, states, y, powers):
    kernel = model.kernel(y, powers)

    def table(kernel):
        return jax.vmap(lambda x: jax.vmap(lambda new: kernel.log_prob(new, x))(states))(states)

    log_f = jax.vmap(lambda x: model.log_annealed(x, y, powers))(states)
    return log_f, np.e ** table(kernel), np.e ** table(kernel.reversed())


def test_sweeps_keep_the_density_and_are_reversed_exactly():
    model, shape = bz.RBM(base=np.array([0.3, -0.6, 0.1])), (3, 4)
    states, _ = model.nodes(shape)
    y = RNG.normal(size=shape)
    for powers in ([1.0, 1.0, 1.0], [0.7, 0.25, 0.4], [0.0, 1.0, 0.0]):
        log_f, forward, backward = map(np.asarray, tables(model, states, y, np.array(powers)))
        f = np.exp(log_f - np.logaddexp.reduce(log_f))
        np.testing.assert_allclose(forward.sum(1), 1, rtol=1e-12)
        np.testing.assert_allclose(f[:, None] * forward, (f[:, None] * backward).T, atol=1e-15)
    ones, zeros = (tables(model, states, y, np.full(3, b))[0] for b in (1.0, 0.0))
    v, h = (np.insert(units, 0, 1, axis=1).astype(float) for units in states)
    np.testing.assert_allclose(ones, np.einsum("nj,ji,ni->n", h, y, v), atol=1e-12)
    chance = 1 / (1 + np.exp(-np.asarray(model.base)))
    base = np.prod(np.where(states.visible == 1, chance, 1 - chance), axis=1) / 4
    np.testing.assert_allclose(zeros, np.log(base), atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3)], ids=["fewer hidden", "fewer visible"])
def test_exact_samples_have_the_right_law(shape):
    model, y = bz.RBM(), np.random.default_rng(2).normal(size=shape)
    states, _ = model.nodes(shape)
    keys = jax.random.split(jax.random.key(1), 20_000)
    draws = jax.jit(jax.vmap(lambda k: model.sample_exact(k, y).state))(keys)
    v, h = (np.insert(units, 0, 1, axis=1).astype(float) for units in states)
    log_f = np.einsum("nj,ji,ni->n", h, y, v)
    assert counts_p(tally(draws, states), np.exp(log_f - np.logaddexp.reduce(log_f))) > RATE


def test_raise_has_the_law_of_the_annealing_models_last_state_as_its_mean():
    """p_K(v) by multiplying the transition matrices of a path of 4 distributions; every v."""
    model, shape = bz.RBM(base=0.3), (3, 3)
    y = np.random.default_rng(3).normal(size=shape)
    states, _ = model.nodes(shape)
    path = bz.Tempered().through(4)
    law = np.exp(np.asarray(tables(model, states, y, np.zeros(3))[0]))
    for t in range(1, 4):
        law = law @ np.asarray(tables(model, states, y, np.asarray(path.powers(t, 3)))[1])
    vectors = np.array(list(itertools.product((0, 1), repeat=2)))
    p_values = []
    many = np.repeat(vectors, 2_000, axis=0)  # one chain each, so that the mean can be tested
    found = raise_bound(model, y, many, distributions=4, chains=1, seed=4)
    for k, v in enumerate(vectors):
        truth = law[np.all(states.visible == v, axis=1)].sum()
        values = np.exp(found.log_prob[2_000 * k : 2_000 * (k + 1)])
        p_values.append(float(mean_zero_p(values / truth - 1)))
    assert min(p_values) > RATE / 4
    np.testing.assert_allclose(
        np.logaddexp.reduce(found.log_f[::2_000]), bz.RBM().exact_evidence(y), atol=1e-10
    )


def test_base_rates_are_log_odds_of_the_columns():
    bits = np.array([[1, 0], [1, 0], [0, 0]])
    np.testing.assert_allclose(bz.RBM.base_rates(bits), np.log([3 / 2, 1 / 4]))


def test_values_out_of_range_are_refused():
    with pytest.raises(bz.InputError, match="at least 0"):
        bz.RBM(scale=-1.0)
    with pytest.raises(bz.InputError, match="log-odds"):
        bz.RBM(base=np.inf)
    with pytest.raises(bz.InputError, match="base has 2 log-odds, and the machine 3 visible"):
        bz.sandwich(bz.RBM(base=np.zeros(2)), np.zeros((2, 4)))
    with pytest.raises(bz.InputError, match=r"no layer of at most 20 .* `twins=0`"):
        bz.sandwich(bz.RBM(), np.zeros((30, 30)))
    with pytest.raises(bz.InputError, match="must be bits, one for each of the 3"):
        raise_bound(bz.RBM(), np.zeros((2, 4)), np.zeros((1, 2)))
    with pytest.raises(bz.InputError, match="at least one visible"):
        bz.sandwich(bz.RBM(), np.zeros((2, 1)))
