"""The operators tried for the Chib-Murray-Salakhutdinov estimator, against the joint density."""

import dataclasses

import cms_operators
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import bracketz as bz
from bracketz.models.low_rank.state import Factors, Left, LowRankState

MODEL = bz.LowRank(2, left_variance=1.3, right_variance=0.7, noise_variance=0.9)


@pytest.fixture(scope="module")
def y():
    return jnp.asarray(bz.simulate(MODEL, 4, 3, seed=1).y)


def chain(y, operator):
    return cms_operators.Chain(MODEL, y, None, operator)


def joint(y, x):
    ones = jnp.ones(y.shape[0])
    return MODEL.log_joint(LowRankState(x.right), Left(x.left), y, ones)


def somewhere(seed):
    keys = jax.random.split(jax.random.key(seed))
    return Factors(jax.random.normal(keys[0], (4, 2)), jax.random.normal(keys[1], (2, 3)))


@pytest.mark.parametrize("operator", cms_operators.OPERATORS)
def test_each_operator_and_its_reversal_balance_exactly(y, operator):
    """p(x, y) T(x' | x) = p(x', y) T~(x | x') for any two states, at 1e-10."""

    @jax.jit
    def both(here, there):
        kernel = chain(y, operator).kernel
        forward = joint(y, here) + kernel.log_prob(there, here)
        return forward, joint(y, there) + kernel.reversed().log_prob(here, there)

    for seed in range(3):
        forward, backward = both(somewhere(seed), somewhere(seed + 10))
        np.testing.assert_allclose(forward, backward, rtol=1e-10)


@pytest.mark.parametrize("operator", cms_operators.OPERATORS[2:])
def test_a_draw_has_the_score_that_it_is_given_afterwards(y, operator):
    @jax.jit
    def drawn_and_scored(state, key):
        kernel = chain(y, operator).kernel
        drawn, said = kernel._scan(state, None, key)
        return said, kernel.log_prob(drawn, state)

    said, again = drawn_and_scored(somewhere(5), jax.random.key(2))
    np.testing.assert_allclose(again, said, rtol=1e-12)


def test_each_entry_is_drawn_with_its_conditional_variance():
    """log T = sum_k (R / 2) log(P_kk / 2 pi) - |z|^2 / 2, whatever was drawn before."""
    precision = jnp.array([[2.0, 0.6], [0.6, 1.5]])
    sites = cms_operators.Sites(precision, jax.random.normal(jax.random.key(0), (5, 2)))
    noise = jax.random.normal(jax.random.key(1), (5, 2))
    _, score = sites.visit(jnp.ones((5, 2)), None, noise, (1, 0))
    scales = 2.5 * jnp.sum(jnp.log(jnp.diag(precision) / (2 * jnp.pi)))
    np.testing.assert_allclose(score, scales - 0.5 * jnp.sum(noise**2), rtol=1e-12)


def test_the_mode_is_a_stationary_point(y):
    @jax.jit
    def slope_at_the_mode(start):
        return jax.grad(lambda x: joint(y, x))(cms_operators.mode(MODEL, y, start))

    slope = slope_at_the_mode(somewhere(0))
    assert max(float(jnp.abs(part).max()) for part in slope) < 1e-6


def test_entries_give_the_same_evidence_as_blocks():
    """Unbiased on data with quadrature: 4,000 trials, within four standard errors (rate 6e-5)."""
    small, shape = MODEL.tiny()
    data = bz.simulate(small, *shape, seed=4)
    nodes, log_weight = small.nodes(shape)
    ones = jnp.ones(shape[0])
    density = jax.jit(jax.vmap(lambda s: small.log_annealed(s, data.y, ones)))(nodes)
    exact = float(logsumexp(density) + log_weight)
    star = Factors(np.full((4, 1), 0.4), np.full((1, 1), 0.8))
    for operator in cms_operators.OPERATORS:
        via = cms_operators.LowRankVia(
            **{f.name: getattr(small, f.name) for f in dataclasses.fields(small)},
            left=star.left,
            operator=operator,
        )
        answer = bz.estimate(
            via,
            dataclasses.replace(data, exact=LowRankState(star.right)),
            bz.CMS(samples=5, burn_in=2, point="exact"),
            trials=4000,
        )
        weights = np.exp(np.array(answer.log_ml_trials) - exact)
        error = weights.std(ddof=1) / np.sqrt(len(weights))
        assert abs(weights.mean() - 1) < 4 * error, operator
