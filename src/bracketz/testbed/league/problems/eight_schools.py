"""Eight schools: effects of known standard errors around a common mean, centred and not.

Both forms are one model: their evidences agree, and integrating the effects and the mean out leaves
one integral over tau.
"""

import numpy as np

PROBLEMS = {
    "schools-centred": {
        "hard": "a funnel: the effects' scale is itself a parameter",
        "settings": {"centred": 1},
    },
    "schools-noncentred": {
        "hard": "the same without its funnel; a heavy-tailed scale",
        "settings": {"centred": 0},
    },
}
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
MEAN, SCALE = 5.0, 5.0  # mu ~ N(0, 5), tau ~ half-Cauchy(5)


def constants(centred):
    return {"errors": ERRORS, "centred": np.array(float(centred))}


def dimension(c):
    return 10  # mu, log tau, eight effects


def prior_transform(u, c, m):
    mu = MEAN * m.ndtri(u[..., :1])
    log_tau = m.log(SCALE) + m.log(m.tan(0.5 * m.pi * u[..., 1:2]))
    z = m.ndtri(u[..., 2:])
    effects = m.where(c["centred"] > 0, mu + m.exp(log_tau) * z, z)
    return m.concatenate([mu, log_tau, effects], axis=-1)


def log_prior(theta, c, m):
    mu, log_tau, effects = theta[..., :1], theta[..., 1:2], theta[..., 2:]
    mean = m.where(c["centred"] > 0, mu, 0.0)
    scale = m.where(c["centred"] > 0, m.exp(log_tau), 1.0)
    return (
        m.normal(mu, 0.0, MEAN)[..., 0]
        + m.half_cauchy_of_log(log_tau, SCALE)[..., 0]
        + m.sum(m.normal(effects, mean, scale), axis=-1)
    )


def log_likelihood(theta, y, c, m):
    mu, log_tau, effects = theta[..., :1], theta[..., 1:2], theta[..., 2:]
    level = m.where(c["centred"] > 0, effects, mu + m.exp(log_tau) * effects)
    return m.sum(m.normal(y["y"], level, c["errors"]), axis=-1)


def simulate(theta, c, rng):
    level = theta[2:] if c["centred"] > 0 else theta[0] + np.exp(theta[1]) * theta[2:]
    return {"y": level + c["errors"] * rng.normal(size=8)}


EXACT = "quadrature"


def exact(y, c):
    """Given tau, y ~ N(0, MEAN^2 11' + diag(tau^2 + errors^2)); tau by its quantiles."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    tau = SCALE * np.tan(0.25 * np.pi * (nodes + 1))
    variances = tau[:, None] ** 2 + ERRORS**2
    precision = np.sum(1 / variances, 1)
    weighted = np.sum(y["y"] / variances, 1)
    log_det = np.sum(np.log(2 * np.pi * variances), 1) + np.log1p(MEAN**2 * precision)
    square = np.sum(y["y"] ** 2 / variances, 1) - weighted**2 / (1 / MEAN**2 + precision)
    values = -0.5 * (log_det + square) + np.log(0.5 * weights)
    top = values.max()
    return float(top + np.log(np.sum(np.exp(values - top))))
