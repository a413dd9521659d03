"""Linear regression with known noise: every coefficient normal, so the evidence is closed-form."""

import numpy as np

PROBLEMS = {
    "regression-5": {
        "hard": "nothing: 5 coefficients, closed form",
        "settings": {"rows": 100, "columns": 5, "spread": 1.0},
    },
    "regression-5-vague": {
        "hard": "a vague prior (standard deviation 100): much information gained",
        "settings": {"rows": 100, "columns": 5, "spread": 100.0},
    },
    "regression-50": {
        "hard": "50 dimensions",
        "settings": {"rows": 200, "columns": 50, "spread": 1.0},
    },
}
NOISE = 0.5


def constants(rows, columns, spread):
    X = np.random.default_rng(columns).normal(size=(rows, columns))
    return {"X": X, "spread": np.array(spread)}


def dimension(c):
    return c["X"].shape[1]


def prior_transform(u, c, m):
    return c["spread"] * m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta, 0.0, c["spread"]), axis=-1)


def log_likelihood(theta, y, c, m):
    return m.sum(m.normal(y["y"], theta @ c["X"].T, NOISE), axis=-1)


def simulate(theta, c, rng):
    return {"y": c["X"] @ theta + NOISE * rng.normal(size=len(c["X"]))}


EXACT = "closed form"


def exact(y, c):
    """y ~ N(0, spread^2 X X' + noise^2 I)."""
    X = c["X"] * c["spread"]
    covariance = X @ X.T + NOISE**2 * np.eye(len(X))
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (y["y"] @ np.linalg.solve(covariance, y["y"]) + log_det))
