"""Nine textbook models as one writes them in NumPyro, and as bracketz takes them.

    from numpyro_models import MODELS

    model = MODELS["eight schools, centred"]()

Each function has ``y=None``: the data are what goes to ``obs=``, so bracketz can simulate them.
Covariates are made with NumPy from fixed seeds.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.contrib.control_flow import scan

import bracketz as bz


def covariates(rows: int, columns: int, seed: int) -> np.ndarray:
    """Standard normal covariates with a column of ones in front."""
    drawn = np.random.default_rng(seed).normal(size=(rows, columns - 1))
    return np.column_stack([np.ones(rows), drawn])


def linear(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)


def logistic(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0, 2.5).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)


def poisson(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0, 0.5).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Poisson(jnp.exp(X @ beta)), obs=y)


def robust(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    df = numpyro.sample("df", dist.Gamma(2.0, 0.1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.StudentT(df, X @ beta, sigma), obs=y)


def schools_centred(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def schools_noncentred(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", len(sigma)):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(mu + tau * eta, sigma), obs=y)


def mixture(rows, components, y=None):
    """A Gaussian mixture on the line; the labels are summed out in the likelihood."""
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(components)))
    means = numpyro.sample("means", dist.Normal(0, 3).expand([components]).to_event(1))
    scales = numpyro.sample("scales", dist.HalfNormal(1.0).expand([components]).to_event(1))
    parts = dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(means, scales))
    with numpyro.plate("rows", rows):
        numpyro.sample("y", parts, obs=y)


def hierarchical(group, groups, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("groups", groups):
        level = numpyro.sample("level", dist.Normal(mu, tau))
    with numpyro.plate("rows", group.shape[0]):
        numpyro.sample("y", dist.Normal(level[group], sigma), obs=y)


def autoregression(length, y=None):
    """AR(2) from two zeros before the first step; each step goes on from what was drawn."""
    phi = numpyro.sample("phi", dist.Normal(0, 0.4).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))

    def step(before, now):
        mean = phi[0] * before[0] + phi[1] * before[1]
        now = numpyro.sample("y", dist.Normal(mean, sigma), obs=now)
        return (now, before[0]), None

    scan(step, (0.0, 0.0), y, length=length)


#: Standard errors of the eight schools.
SCHOOLS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

#: By name: a function without arguments that makes the model.
MODELS: dict[str, Callable[[], bz.NumPyroModel]] = {
    "linear": lambda: bz.from_numpyro(linear, covariates(50, 4, seed=1)),
    "logistic": lambda: bz.from_numpyro(logistic, covariates(100, 4, seed=2)),
    "Poisson": lambda: bz.from_numpyro(poisson, covariates(60, 3, seed=3)),
    "robust": lambda: bz.from_numpyro(robust, covariates(50, 4, seed=4)),
    "eight schools, centred": lambda: bz.from_numpyro(schools_centred, SCHOOLS),
    "eight schools, non-centred": lambda: bz.from_numpyro(schools_noncentred, SCHOOLS),
    "mixture": lambda: bz.from_numpyro(mixture, 60, 3),
    "hierarchical": lambda: bz.from_numpyro(hierarchical, np.repeat(np.arange(50), 4), 50),
    "AR(2)": lambda: bz.from_numpyro(autoregression, 60),
}
