"""Upper bounds from posterior draws of somebody else: right if they are, and never certified."""

import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from jax.scipy.stats import norm

import bracketz as bz

MODEL = bz.from_functions(
    lambda x, y: norm.logpdf(y, x["mean"]),
    log_prior=lambda x: norm.logpdf(x["mean"]),
    sample_prior=lambda key: {"mean": jax.random.normal(key)},
    name="mean",
)
Y = np.array([0.3, 1.0, 2.0])
COVARIANCE = np.eye(3) + 1
LOG_DET = np.linalg.slogdet(2 * np.pi * COVARIANCE)[1]
TRUTH = float(-0.5 * (Y @ np.linalg.solve(COVARIANCE, Y) + LOG_DET))
DRAWS = {"mean": np.random.default_rng(0).normal(Y.sum() / 4, 0.5, size=4000)}


def test_posterior_draws_give_an_upper_bound_that_says_what_it_depends_on():
    bound = bz.conditional_upper(MODEL, Y, DRAWS, distributions=30, chains=200)
    assert abs(bound.upper - TRUTH) < 5 * bound.upper_error < 0.5
    assert bound.kind == "conditional" and "conditional on" in dict(bound.rows())["condition"]
    assert "certificate" not in bound.to_json()


def test_arviz_data_are_taken_as_they_are():
    class Group(dict):
        data_vars = property(lambda self: list(self))

    group = Group(mean=DRAWS["mean"].reshape(4, 1000), other=np.zeros((4, 1000)))
    bound = bz.conditional_upper(
        MODEL, Y, SimpleNamespace(posterior=group), distributions=30, chains=50
    )
    assert bound.draws == 4000 and math.isfinite(bound.upper)


def test_draws_that_do_not_fit_are_refused():
    with pytest.raises(bz.InputError, match="no draws of `mean`"):
        bz.conditional_upper(MODEL, Y, {"men": DRAWS["mean"]})
    with pytest.raises(bz.InputError, match="one leading axis of draws in common"):
        bz.conditional_upper(MODEL, Y, {"mean": DRAWS["mean"], "b": np.zeros(3)})
