"""Kernels as exact matrices on tiny state spaces: invariance, time reversal, normalisation."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz.core.weights import logmeanexp
from bracketz.kernels.compose import Compose, Repeat
from bracketz.kernels.metropolis import Metropolis
from bracketz.models.binary_attributes.state import BinaryState
from bracketz.models.clustering.state import ClusteringState
from tiny_instances import power_rows


def all_states(name, model, rows):
    if name == "clustering":
        every = list(itertools.product(range(model.components), repeat=rows))
        return ClusteringState(jnp.asarray(every, dtype=jnp.int32))
    every = list(itertools.product((0.0, 1.0), repeat=rows * model.components))
    return BinaryState(jnp.asarray(every).reshape(-1, rows, model.components))


@jax.jit
def matrices(model, y, powers, states):
    """log T[x, x'] for every pair: the kernel's and its reversal's; and log f."""

    def matrix(kernel):
        return jax.lax.map(lambda x: jax.vmap(lambda new: kernel.log_prob(new, x))(states), states)

    kernel = model.kernel(y, powers)
    log_f = jax.vmap(lambda s: model.log_annealed(s, y, powers))(states)
    return matrix(kernel), matrix(kernel.reversed()), log_f


def exact_identities(discrete, index):
    """(normalised f, T, its reversal) on all states of three rows."""
    name, model, data = discrete
    rows = 3
    y = data.y[:rows]
    powers = np.asarray(power_rows(rows)[index])  # one program: some are of a weak type
    forward, backward, log_f = map(
        np.asarray, matrices(model, y, powers, all_states(name, model, rows))
    )
    f = np.exp(log_f - log_f.max())
    return f / f.sum(), np.exp(forward), np.exp(backward)


@pytest.mark.parametrize("index", range(5))
def test_kernels_are_normalised_invariant_and_exactly_reversed(discrete, index):
    f, forward, backward = exact_identities(discrete, index)
    np.testing.assert_allclose(forward.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(f @ forward, f, atol=1e-12)
    # f(x) T(x'|x) = f(x') R(x|x'), for every pair: the path-measure identity, edge by edge.
    np.testing.assert_allclose(f[:, None] * forward, (f[:, None] * backward).T, atol=1e-13)


def test_leaving_the_reversal_out_breaks_the_identity(discrete):
    """The same check with the scan *not* reversed fails by far more than rounding, as it must."""
    f, forward, _ = exact_identities(discrete, 2)
    error = np.abs(f[:, None] * forward - (f[:, None] * forward).T).max()
    assert error > 1e-5


@pytest.mark.slow
def test_step_draws_what_log_prob_scores(discrete):
    """40,000 sweeps from one state against the exact row of T; a 5-sigma band on each frequency."""
    name, model, data = discrete
    rows = 2
    y, powers = data.y[:rows], jnp.array([0.4, 1.0])
    states = all_states(name, model, rows)
    tables = matrices(model, y, powers, states)
    for kernel, table in zip(
        (model.kernel(y, powers), model.kernel(y, powers).reversed()), tables[:2], strict=True
    ):
        start = jax.tree.map(lambda a: a[3], states)
        keys = jax.random.split(jax.random.key(0), 40_000)
        draws = jax.jit(jax.vmap(lambda k, kernel=kernel, start=start: kernel.step(k, start)))(keys)
        flat = np.asarray(draws[0]).reshape(40_000, -1)
        every = np.asarray(states[0]).reshape(len(states[0]), -1)
        index = (flat[:, None, :] == every[None]).all(axis=2).argmax(axis=1)
        expected = np.exp(np.asarray(table)[3])
        np.testing.assert_allclose(
            np.bincount(index, minlength=len(every)) / 40_000, expected, atol=5 * 0.5 / 200
        )


def test_low_rank_sweep_is_reversible_in_distribution():
    """For a reversible chain E[g(V) h(V')] = E[h(V) g(V')] in equilibrium: z-score over 200,000
    pairs.

    Exact equilibrium comes from the prior at powers 0 and, here, from simulated data: (V, y) from
    the joint, then one sweep given y. False-positive rate 1e-6 (|z| < 4.9).
    """
    from bracketz import LowRank

    model, shape = LowRank(components=2), (4, 3)

    def pair(key):
        k1, k2, k3 = jax.random.split(key, 3)
        state = model.sample_prior(k1, shape)
        y = model.simulate(k2, state, shape)
        new = model.kernel(y, jnp.ones(4)).step(k3, state)
        g, h = (
            jnp.stack([jnp.sum(v.right**2), jnp.tanh(jnp.sum((v.right @ y.T) ** 2) / 10)])
            for v in (state, new)
        )
        return g[0] * h[1] - g[1] * h[0]

    differences = np.asarray(jax.jit(jax.vmap(pair))(jax.random.split(jax.random.key(2), 200_000)))
    assert abs(differences.mean()) < 4.9 * differences.std() / np.sqrt(len(differences))


class Trail:
    """A kernel that writes down its name: shows the order of compositions."""

    def __init__(self, digit):
        self.digit = digit

    def step(self, key, state):
        return 10 * state + self.digit

    def reversed(self):
        return Trail(self.digit + 5)


def test_reversal_of_compositions_runs_backwards():
    key = jax.random.key(0)
    two = Compose((Trail(1), Trail(2)))
    assert two.step(key, 0) == 12
    assert two.reversed().step(key, 0) == 76
    assert Repeat(two, 2).step(key, jnp.asarray(0)) == 1212
    assert Repeat(two, 2).reversed().step(key, jnp.asarray(0)) == 7676


def test_metropolis_samples_its_density():
    """20,000 chains of 60 steps on N(1, 4): mean and variance within 5 standard errors."""
    kernel = Repeat(Metropolis(lambda x: -0.5 * (x - 1.0) ** 2 / 4, 3.0), 60)
    keys = jax.random.split(jax.random.key(3), 20_000)
    draws = np.asarray(jax.jit(jax.vmap(lambda k: kernel.step(k, jnp.asarray(1.0))))(keys))
    assert abs(draws.mean() - 1) < 5 * 2 / np.sqrt(20_000)
    assert abs(draws.var() - 4) < 5 * 4 * np.sqrt(2 / 20_000)


def test_logmeanexp_is_stable():
    np.testing.assert_allclose(
        logmeanexp(jnp.array([-1e5, -1e5 + np.log(3)])), -1e5 + np.log(2), rtol=1e-12
    )
