"""One model through several front ends: the same densities, so the same log evidence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.precision import double_precision

numpyro = pytest.importorskip("numpyro")
pm = pytest.importorskip("pymc")
import numpyro.distributions as dist  # noqa: E402

X = np.random.default_rng(0).normal(size=(12, 2))
Y = X @ [1.0, -0.5] + 0.3


def by_numpyro():
    def regression(X, y=None):
        beta = numpyro.sample("beta", dist.Normal(0, 2).expand([2]).to_event(1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        with numpyro.plate("rows", len(X)):
            numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)

    return bz.from_numpyro(regression, X)


def by_pymc():
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.0, shape=2)
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", X @ beta, sigma, observed=Y)
    return bz.from_pymc(model)


def by_functions():
    def likelihood(x, y, X):
        return jax.scipy.stats.norm.logpdf(y, X @ x["beta"], x["sigma"])

    prior = {"beta": dist.Normal(0, 2).expand([2]), "sigma": dist.HalfNormal(1.0)}
    return bz.from_functions(likelihood, prior=prior, data=(X,))


@pytest.mark.parametrize("make", [by_pymc, by_functions])
def test_densities_agree(make):
    with double_precision():
        ours, theirs = by_numpyro(), make()
        for seed in range(5):
            rng = np.random.default_rng(seed)
            values = {"beta": rng.normal(size=2), "sigma": np.exp(rng.normal())}
            a, b = ours.unconstrain(values), theirs.unconstrain(values)
            assert np.allclose(a["sigma"], b["sigma"]) and np.allclose(a["beta"], b["beta"])
            # PyMC keeps some constants in single precision: 1e-8.
            assert float(ours.log_prior(a)) == pytest.approx(float(theirs.log_prior(b)), abs=1e-6)
            terms = ours.log_likelihood(a, jnp.asarray(Y)), theirs.log_likelihood(b, jnp.asarray(Y))
            assert np.allclose(*terms, atol=1e-6)


@pytest.mark.slow
def test_the_evidence_agrees_within_its_error():
    found = [
        bz.estimate(make(), Y, bz.AIS(distributions=40), trials=64)
        for make in (by_numpyro, by_pymc, by_functions)
    ]
    for other in found[1:]:
        error = np.hypot(found[0].standard_error, other.standard_error)
        assert abs(found[0].log_ml - other.log_ml) < 4.5 * error < 0.5
