r"""Regressions of two data sets that ship with scikit-learn, to be compared by their evidence.

    python examples/datasets.py diabetes > diabetes.csv
    bracketz compare regressions.py:linear regressions.py:robust regressions.py:interacting \
        --data diabetes.csv --observe progression
    python examples/datasets.py breast-cancer > breast-cancer.csv
    bracketz compare regressions.py:means regressions.py:worst regressions.py:everything \
        --data breast-cancer.csv --observe benign

Columns are standardised, so that one prior serves all of them. ``scale`` is the prior's, for
``--sweep scale=0.3..3``.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def gaussian_prior(size, scale):
    return numpyro.sample("beta", dist.Normal(0, scale).expand([size]).to_event(1))


def progression(X, scale, y, noise=dist.Normal):
    """Of diabetes within a year, on a scale from 25 to 346."""
    level = numpyro.sample("level", dist.Normal(150, 75))
    sigma = numpyro.sample("sigma", dist.HalfNormal(75))
    beta = gaussian_prior(X.shape[1], 25 * scale)
    with numpyro.plate("patients", X.shape[0]):
        numpyro.sample("y", noise(level + X @ beta, sigma), obs=y)


def linear(X, scale=1.0, y=None):
    progression(standardized(X), scale, y)


def robust(X, scale=1.0, y=None):
    progression(standardized(X), scale, y, lambda mean, sigma: dist.StudentT(4.0, mean, sigma))


def interacting(X, scale=1.0, y=None):
    Z = standardized(X)
    body_mass, pressure = Z[:, 2], Z[:, 3]
    progression(jnp.column_stack([Z, body_mass * pressure]), scale, y)


def benign(X, scale, y):
    """Whether a tumour is, by measurements of the nuclei of its cells."""
    Z = standardized(X)
    level = numpyro.sample("level", dist.Normal(0, 1))
    beta = gaussian_prior(X.shape[1], scale)
    with numpyro.plate("tumours", X.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=level + Z @ beta), obs=y)


def means(X, scale=1.0, y=None):
    benign(X[:, :10], scale, y)


def worst(X, scale=1.0, y=None):
    benign(X[:, 20:], scale, y)


def everything(X, scale=1.0, y=None):
    benign(X, scale, y)
