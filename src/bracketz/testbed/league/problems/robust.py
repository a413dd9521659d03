"""Regression with Student's noise of 4 degrees of freedom and an unknown scale."""

import math

import numpy as np

PROBLEMS = {
    "robust-5": {
        "hard": "heavy tails in the likelihood, a scale to infer",
        "settings": {"rows": 60, "columns": 4},
    }
}
FREEDOM = 4.0
CONSTANT = (
    math.lgamma((FREEDOM + 1) / 2) - math.lgamma(FREEDOM / 2) - 0.5 * math.log(FREEDOM * math.pi)
)


def constants(rows, columns):
    drawn = np.random.default_rng(4).normal(size=(rows, columns - 1))
    return {"X": np.column_stack([np.ones(rows), drawn])}


def dimension(c):
    return c["X"].shape[1] + 1  # the last is log sigma, N(0, 1)


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta), axis=-1)


def log_likelihood(theta, y, c, m):
    log_sigma = theta[..., -1:]
    z = (y["y"] - theta[..., :-1] @ c["X"].T) * m.exp(-log_sigma)
    each = CONSTANT - log_sigma - 0.5 * (FREEDOM + 1) * m.log1p(z * z / FREEDOM)
    return m.sum(each, axis=-1)


def simulate(theta, c, rng):
    noise = rng.standard_t(FREEDOM, size=len(c["X"]))
    return {"y": c["X"] @ theta[:-1] + np.exp(theta[-1]) * noise}
