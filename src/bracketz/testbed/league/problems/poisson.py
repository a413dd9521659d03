"""Poisson regression with a logarithmic link."""

import numpy as np

PROBLEMS = {
    "poisson-4": {
        "hard": "a likelihood that falls off exponentially on one side",
        "settings": {"rows": 60, "columns": 4},
    }
}
SPREAD = 0.5


def constants(rows, columns):
    drawn = np.random.default_rng(3).normal(size=(rows, columns - 1))
    return {"X": np.column_stack([np.ones(rows), drawn])}


def dimension(c):
    return c["X"].shape[1]


def prior_transform(u, c, m):
    return SPREAD * m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta, 0.0, SPREAD), axis=-1)


def log_likelihood(theta, y, c, m):
    eta = theta @ c["X"].T
    # exp overflows far out, where the likelihood is 0 whatever the rest is.
    return m.sum(y["y"] * eta - m.exp(m.minimum(eta, 700.0)), axis=-1) - y["log_factorials"]


def simulate(theta, c, rng):
    from math import lgamma

    drawn = rng.poisson(np.exp(c["X"] @ theta)).astype(float)
    return {"y": drawn, "log_factorials": np.array(sum(lgamma(v + 1) for v in drawn))}
