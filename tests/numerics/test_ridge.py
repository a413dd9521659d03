"""Regressions with a Gaussian prior: one law, told four ways."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bracketz.numerics.ridge import Ridge


@pytest.mark.parametrize("shape", [(4, 2), (2, 3)], ids=["tall", "wide"])
def test_density_normalizer_and_posterior_are_one_law(shape):
    """The normalised density is that of the textbook's Gaussian, and so are mean and root."""
    n, k = shape
    rng = np.random.default_rng(0)
    design, target, value = rng.normal(size=shape), rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
    ridge = Ridge(jnp.asarray(design), jnp.asarray(target), 0.7, log_scale=1.3)
    covariance = np.linalg.inv(design.T @ design + np.eye(k) / 0.7)
    means = covariance @ design.T @ target
    mean, root = ridge.posterior()
    np.testing.assert_allclose(mean, means, atol=1e-12)
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-12)
    exact = sum(multivariate_normal.logpdf(value[:, j], means[:, j], covariance) for j in (0, 1))
    found = ridge.log_density(jnp.asarray(value)) - ridge.log_normalizer
    assert float(found) == pytest.approx(exact, abs=1e-11)
