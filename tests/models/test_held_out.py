"""Held-out rows: density, prior, data and sweeps against formulas written out here."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import bracketz as bz
from swept_laws import DRAWS, cells_of, log_densities, swept, worst_z

FIXED = np.array([[-1.2, 0.4, 0.9], [0.8, 1.1, -0.5]])
POWERS = np.array([0.4, 1.0, 0.0])
Y = np.array([[0.3, 1.4, 0.2], [-0.6, 1.0, 0.1], [0.9, -2.0, 0.5]])
S2 = 0.7
MODELS = {
    "clustering": bz.Clustering(2, 1.3, S2, mixture=[0.65, 0.35]),
    "binary": bz.BinaryAttributes(2, [0.3, 0.6], 1.4, S2),
    "low-rank": bz.LowRank(2, left_variance=1.2, right_variance=0.8, noise_variance=S2),
}


def row_values(name):
    """Every latent of a row, its prior probability and its mean."""
    if name == "clustering":
        return np.arange(2, dtype=np.int32), np.array([0.65, 0.35]), FIXED
    bits = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    p = np.prod(np.where(bits > 0, [0.3, 0.6], [0.7, 0.4]), axis=1)
    return bits, p, bits @ FIXED


def powered(y, mean, power):
    """log of N(y; mean, S2)^power."""
    return power * norm.logpdf(y, mean, np.sqrt(S2)).sum(-1)


@pytest.mark.parametrize("name", ["clustering", "binary"])
def test_discrete_rows(name):
    """Density and evidence exactly, cells and pairs of a sweep, the prior and the data by counts:
    false alarms 1e-6 for the sweep, and 1e-6 for each of the others."""
    model = bz.HeldOut(MODELS[name], FIXED)
    values, prior, means = row_values(name)
    n = 3 if name == "clustering" else 2
    y, powers = Y[:n], POWERS[:n]
    index = np.array(list(itertools.product(range(len(values)), repeat=n)))
    nodes = type(model.sample_prior(jax.random.key(0), y.shape))(values[index])
    rows = np.log(prior) + np.stack(
        [powered(row, means, b) for row, b in zip(y, powers, strict=True)]
    )
    expected = rows[np.arange(n), index].sum(1)
    found = log_densities(model, nodes, jnp.asarray(y), powers)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    whole = np.log(prior) + np.stack([powered(row, means, 1.0) for row in y])
    assert model.exact_evidence(y) == pytest.approx(logsumexp(whole, axis=1).sum(), abs=1e-10)
    worst, allowed = worst_z(model, nodes, y, powers, cells_of(nodes))
    assert worst < allowed
    # A sweep draws afresh, whatever the state was: from one state, the same law.
    one = jax.tree.map(lambda a: jnp.asarray(np.repeat(a[:1], DRAWS, axis=0)), nodes)
    keys = jax.random.split(jax.random.key(1), DRAWS)
    ahead, _ = swept(model, jnp.asarray(y), powers, keys, one)
    p = np.exp(expected - logsumexp(expected))
    check_counts(cells_of(nodes)(ahead).sum(0), p)

    if name == "binary":
        return  # the same code draws the prior and the data of every model

    @jax.jit
    def drawn(keys):
        states = jax.vmap(lambda k: model.sample_prior(k, y.shape))(keys)
        return states, jax.vmap(lambda k, s: model.simulate(k, s, y.shape))(keys, states)

    states, data = drawn(keys)
    check_counts(cells_of(nodes)(states).sum(0), np.prod(prior[index], axis=1))
    noise = (np.asarray(data) - row_means(name, np.asarray(states.latents))) / np.sqrt(S2)
    assert np.abs(noise.mean(0)).max() < 5.5 / np.sqrt(DRAWS)
    assert np.abs((noise**2).mean(0) - 1).max() < 5.5 * np.sqrt(2 / DRAWS)


def row_means(name, latents):
    return FIXED[latents] if name == "clustering" else latents @ FIXED


def check_counts(counts, p):
    """Each cell within 5.5 standard errors: 1e-6 for 27 cells and more."""
    enough = DRAWS * p >= 30
    z = (counts - DRAWS * p) / np.sqrt(DRAWS * p * (1 - p))
    assert enough.any() and np.abs(z[enough]).max() < 5.5


def test_gaussian_rows():
    """Low rank: u given a row is normal, and rows have covariance S2 + left_variance V'V."""
    model = bz.HeldOut(MODELS["low-rank"], FIXED)
    covariance = S2 * np.eye(3) + 1.2 * FIXED.T @ FIXED
    expected = multivariate_normal(cov=covariance).logpdf(Y).sum()
    assert model.exact_evidence(Y) == pytest.approx(expected, abs=1e-10)
    u = np.random.default_rng(0).normal(size=(5, 3, 2))
    nodes = type(model.sample_prior(jax.random.key(0), Y.shape))(u)
    each = np.array([powered(Y, row @ FIXED, POWERS) for row in u]).sum(1)
    each += norm.logpdf(u, scale=np.sqrt(1.2)).sum((1, 2))
    found = log_densities(model, nodes, jnp.asarray(Y), POWERS)
    np.testing.assert_allclose(found, each, atol=1e-10)
    # The sweep, both ways, from states that are anything: mean and covariance of each row within
    # 5.5 standard errors, 1e-6.
    keys = jax.random.split(jax.random.key(1), DRAWS)
    states = jax.tree.map(lambda a: jnp.asarray(a)[np.arange(DRAWS) % 5], nodes)
    for after in swept(model, jnp.asarray(Y), POWERS, keys, states):
        for i, (y, b) in enumerate(zip(Y, POWERS, strict=True)):
            law = np.linalg.inv(np.eye(2) / 1.2 + b / S2 * FIXED @ FIXED.T)
            root = np.linalg.cholesky(np.linalg.inv(law))
            z = (np.asarray(after.latents)[:, i] - law @ FIXED @ y * b / S2) @ root
            assert np.abs(z.mean(0)).max() < 5.5 / np.sqrt(DRAWS)
            assert np.abs(z.T @ z / DRAWS - np.eye(2)).max() < 5.5 * np.sqrt(2 / DRAWS)


def test_a_point_is_its_row():
    """``point_conditional`` is the row's measure, and replacing a latent replaces that one."""
    model = bz.HeldOut(MODELS["clustering"], FIXED)
    _, prior, means = row_values("clustering")
    state = type(model.sample_prior(jax.random.key(0), Y.shape))(jnp.array([0, 1, 0]))
    for i in range(3):
        found = model.point_conditional(state, jnp.asarray(Y), jnp.asarray(POWERS), i)
        expected = np.log(prior) + powered(Y[i], means, POWERS[i])
        np.testing.assert_allclose(found.logits, expected, atol=1e-10)
        moved = model.replace_latent(state, i, 1 - state.latents[i]).latents
        assert np.flatnonzero(moved != state.latents).tolist() == [i]
    with pytest.raises(bz.InputError, match="3 columns and the rows have 2"):
        model.check_shape((4, 2))
