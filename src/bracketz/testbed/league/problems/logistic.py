"""Logistic regression, every coefficient N(0, 1)."""

import numpy as np

PROBLEMS = {
    "logistic-10": {
        "hard": "nothing: one mode, nearly normal",
        "settings": {"rows": 200, "columns": 10},
    },
    "logistic-31": {"hard": "31 dimensions", "settings": {"rows": 300, "columns": 31}},
    "logistic-61": {
        "hard": "61 dimensions, few rows for each",
        "settings": {"rows": 208, "columns": 61},
    },
}


def constants(rows, columns):
    return {"X": np.random.default_rng(columns).normal(size=(rows, columns))}


def dimension(c):
    return c["X"].shape[1]


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta), axis=-1)


def log_likelihood(theta, y, c, m):
    eta = theta @ c["X"].T
    return m.sum(y["y"] * eta - m.logaddexp(0.0, eta), axis=-1)


def simulate(theta, c, rng):
    probability = 1 / (1 + np.exp(-(c["X"] @ theta)))
    return {"y": (rng.uniform(size=len(c["X"])) < probability).astype(float)}
