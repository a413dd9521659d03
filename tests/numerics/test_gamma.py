"""Logarithms of gamma variables: distribution, and draws that do not depend on their neighbours."""

import functools

import jax
import numpy as np
import pytest
from scipy import stats

from bracketz.numerics import gamma
from bracketz.numerics.noise import THREEFRY

#: 14 tests of one fixed key; each fails by chance once in 10,000.
LEVEL = 1e-4


@functools.partial(jax.jit, static_argnames="candidates")
def drawn(key, shapes, candidates=gamma.CANDIDATES):
    assert candidates == gamma.CANDIDATES
    return gamma.log_gamma(key, shapes)


@pytest.mark.parametrize("candidates", [1, 2])
@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 1.7, 10.0, 600.0, 1e6])
def test_draws_have_the_law(monkeypatch, candidates, shape):
    """Kolmogorov and Smirnov against the exact law of log g. One candidate means many rounds."""
    monkeypatch.setattr(gamma, "CANDIDATES", candidates)
    draws = np.asarray(drawn(jax.random.key(5), np.full(4000, shape), candidates))
    assert np.all(np.isfinite(draws))
    p = stats.kstest(draws, stats.loggamma(shape).cdf).pvalue
    assert p > LEVEL


def test_a_draw_does_not_depend_on_its_neighbours():
    """Chains side by side draw what each draws alone, though rounds go on until all are done."""
    keys = jax.random.split(jax.random.key(0), 500)
    shapes = np.array([0.2, 1.0, 3.0])
    together = np.asarray(jax.jit(jax.vmap(lambda k: gamma.log_gamma(k, shapes)))(keys))
    for i in range(0, 500, 50):
        np.testing.assert_allclose(together[i], drawn(keys[i], shapes), rtol=0, atol=1e-13)


def test_keys_of_our_own_generator_give_the_same():
    ours, theirs = (jax.random.key(3, impl=impl) for impl in (THREEFRY, "threefry2x32"))
    shapes = np.linspace(0.1, 9, 40)
    np.testing.assert_array_equal(drawn(ours, shapes), drawn(theirs, shapes))
