"""Sparse regression with a horseshoe prior: beta_j = z_j lambda_j tau, scales half-Cauchy."""

import numpy as np

PROBLEMS = {
    "horseshoe-21": {
        "hard": "heavy-tailed scales multiply: spikes at 0 and long arms",
        "settings": {"rows": 50, "columns": 10},
    }
}
NOISE, GLOBAL = 1.0, 0.5


def constants(rows, columns):
    return {"X": np.random.default_rng(9).normal(size=(rows, columns))}


def dimension(c):
    return 2 * c["X"].shape[1] + 1  # log tau, log lambdas, z


def prior_transform(u, c, m):
    columns = c["X"].shape[1]
    log_tau = np.log(GLOBAL) + m.log(m.tan(0.5 * m.pi * u[..., :1]))
    log_lambda = m.log(m.tan(0.5 * m.pi * u[..., 1 : columns + 1]))
    return m.concatenate([log_tau, log_lambda, m.ndtri(u[..., columns + 1 :])], axis=-1)


def log_prior(theta, c, m):
    columns = c["X"].shape[1]
    return (
        m.half_cauchy_of_log(theta[..., 0], GLOBAL)
        + m.sum(m.half_cauchy_of_log(theta[..., 1 : columns + 1], 1.0), axis=-1)
        + m.sum(m.normal(theta[..., columns + 1 :]), axis=-1)
    )


def _coefficients(theta, c, m):
    columns = c["X"].shape[1]
    log_scale = theta[..., :1] + theta[..., 1 : columns + 1]
    # Beyond exp(300) the likelihood is 0 in any case; the square must not overflow.
    return theta[..., columns + 1 :] * m.exp(m.minimum(log_scale, 300.0))


def log_likelihood(theta, y, c, m):
    mean = _coefficients(theta, c, m) @ c["X"].T
    return m.sum(m.normal(y["y"], mean, NOISE), axis=-1)


def simulate(theta, c, rng):
    mean = c["X"] @ _coefficients(theta, c, np)
    return {"y": mean + NOISE * rng.normal(size=len(mean))}
