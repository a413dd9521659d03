"""The Cox process and grouped logistic regression: densities, coordinates and truths, exactly."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal, norm, poisson

import bracketz as bz
from bracketz.core.precision import double_precision
from bracketz.models.factored.pilot import FEW, survey
from bracketz.models.grouped_logistic.model import Effects


def covariance(model) -> np.ndarray:
    """Cell by cell."""
    middles = [
        ((c + 0.5) / model.columns, (r + 0.5) / model.rows)
        for r in range(model.rows)
        for c in range(model.columns)
    ]
    return np.array(
        [
            [model.variance * np.exp(-np.hypot(a - c, b - d) / model.length) for c, d in middles]
            for a, b in middles
        ]
    )


COX = bz.CoxProcess(variance=1.3, length=0.4, expected=20.0, rows=2, columns=3)


def test_the_field_has_its_covariance():
    np.testing.assert_allclose(COX.basis @ COX.basis.T, covariance(COX), atol=1e-12)
    longer = dataclasses.replace(COX, length=2.0)
    np.testing.assert_allclose(longer.basis @ longer.basis.T, covariance(longer), atol=1e-12)


def test_the_joint_density_is_that_of_field_and_counts():
    """p(xi) = N(x; m, K) |dx / dxi|, and Poisson counts with rates a e^x."""
    y = np.array([[0, 3, 1], [7, 2, 0]])
    with double_precision():
        xi = np.random.default_rng(0).normal(size=6)
        x = np.asarray(COX.log_intensity(xi))
        prior, terms = float(COX.log_prior(xi)), np.asarray(COX.log_likelihood(xi, y))
        back = COX.unconstrain(COX.constrain(xi))
    mean = np.full(6, np.log(20) - 1.3 / 2)
    field = multivariate_normal(mean, covariance(COX)).logpdf(x)
    assert prior == pytest.approx(field + np.linalg.slogdet(COX.basis)[1], abs=1e-10)
    np.testing.assert_allclose(terms, poisson(np.exp(x) / 6).logpmf(y.ravel()), atol=1e-10)
    np.testing.assert_allclose(back, xi, atol=1e-10)


def test_the_root_is_that_of_prior_precision_and_expected_curvature():
    """R R' = (B' (K^-1 + b L) B)^-1, with L = E a e^x = expected / cells."""
    for beta in (0.0, 0.3, 1.0):
        precision = np.linalg.inv(covariance(COX)) + beta * 20 / 6 * np.eye(6)
        white = COX.basis.T @ precision @ COX.basis
        root = COX.root_at(beta)
        np.testing.assert_allclose(np.diag(root**2), np.linalg.inv(white), atol=1e-10)


def test_a_pilot_takes_the_roots_a_model_knows():
    """A grid of one cell, where the evidence is an integral in one dimension. The pilot's own
    log evidence, from 128 particles, is within five of its standard deviations."""
    model = bz.CoxProcess(variance=0.8, expected=5.0, rows=1, columns=1)
    y = np.array([[9]])
    with double_precision():
        found = survey(model, y, jax.random.key(1))
    for stage in found.stages:
        np.testing.assert_array_equal(stage.root, model.root_at(stage.beta))
    assert found.sample.shape[0] % FEW == 0
    x = np.linspace(-12, 12, 4001)
    rate = np.exp(np.log(5) - 0.4 + np.sqrt(0.8) * x)
    truth = np.log(np.sum(norm.pdf(x) * poisson(rate).pmf(9)) * (x[1] - x[0]))
    assert abs(found.log_evidence - truth) < 5 * found.spread


def test_points_are_counted_where_they_are():
    points = [(0.0, 0.0), (0.34, 0.1), (0.99, 0.51), (1.0, 1.0), (0.5, 0.9)]
    assert COX.counts(points).tolist() == [[1, 1, 0], [0, 1, 2]]
    with pytest.raises(bz.InputError, match="between 0 and 1"):
        COX.counts([(0.5, 1.2)])
    with pytest.raises(bz.InputError, match="whole numbers"):
        COX.check_data(np.array([[0.5, 1, 1], [0, 0, 0]]))
    with pytest.raises(bz.InputError, match="length must be a positive number"):
        bz.CoxProcess(length=0.0)


@pytest.mark.parametrize("groups, trials", [(1, 2), (2, 1)])
def test_probabilities_of_all_successes_sum_to_one(groups, trials):
    model = bz.GroupedLogistic(groups=groups, trials=trials)
    every = itertools.product(range(trials + 1), repeat=groups)
    total = np.sum([np.exp(model.exact_evidence(np.array(y))) for y in every])
    assert total == pytest.approx(1, abs=1e-9)


def test_the_evidence_of_groups_against_a_plain_sum():
    """A grid over mean and log scale, and trapezoids within each group."""
    model = bz.GroupedLogistic(0.8, -0.3, 0.4, groups=3, trials=4)
    y = np.array([0, 2, 4])
    z = np.linspace(-8, 8, 501)
    m, s = np.meshgrid(0.8 * np.linspace(-7, 7, 51), -0.3 + 0.4 * np.linspace(-7, 7, 51))
    chance = 1 / (1 + np.exp(-m[..., None] - np.exp(s)[..., None] * z))
    values = norm(0, 0.8).pdf(m) * norm(-0.3, 0.4).pdf(s)
    for k, ways in zip(y, (1, 6, 1), strict=True):
        each = ways * chance**k * (1 - chance) ** (4 - k)
        values = values * (each @ norm.pdf(z)) * (z[1] - z[0])
    total = values.sum() * (m[0, 1] - m[0, 0]) * (s[1, 0] - s[0, 0])
    assert model.exact_evidence(y) == pytest.approx(np.log(total), abs=1e-8)


def test_the_density_of_groups_is_that_of_its_parts():
    model = bz.GroupedLogistic(0.8, -0.3, 0.4, groups=3, trials=4)
    state, y = Effects(jnp.asarray(0.5), jnp.asarray(-1.0), jnp.array([0.1, -2.0, 1.0])), [1, 0, 4]
    with double_precision():
        prior, terms = float(model.log_prior(state)), model.log_likelihood(state, np.array(y))
    z = np.array([0.1, -2.0, 1.0])
    expected = norm(0, 0.8).logpdf(0.5) + norm(-0.3, 0.4).logpdf(-1.0) + norm.logpdf(z).sum()
    assert prior == pytest.approx(expected, abs=1e-12)
    chance = 1 / (1 + np.exp(-0.5 - np.exp(-1.0) * z))
    np.testing.assert_allclose(terms, binom(4, chance).logpmf(y), atol=1e-10)
    with pytest.raises(bz.InputError, match="from 0 to `trials`, 4"):
        model.check_data(np.array([0, 5, 1]))
