"""AR(2) from two zeros before the first step."""

import numpy as np

PROBLEMS = {
    "ar-2": {"hard": "little: 3 dimensions, correlated", "settings": {"length": 60}},
}
SPREAD = 0.4  # phi ~ N(0, 0.4), log sigma ~ N(0, 0.5)
LOG_SPREAD = 0.5


def constants(length):
    return {"length": np.array(length)}


def dimension(c):
    return 3


def prior_transform(u, c, m):
    z = m.ndtri(u)
    return m.concatenate([SPREAD * z[..., :2], LOG_SPREAD * z[..., 2:]], axis=-1)


def log_prior(theta, c, m):
    lags = m.sum(m.normal(theta[..., :2], 0.0, SPREAD), axis=-1)
    return lags + m.normal(theta[..., 2], 0.0, LOG_SPREAD)


def log_likelihood(theta, y, c, m):
    mean = theta[..., :1] * y["first"] + theta[..., 1:2] * y["second"]
    return m.sum(m.normal(y["y"], mean, m.exp(theta[..., 2:])), axis=-1)


def simulate(theta, c, rng):
    values = [0.0, 0.0]
    for _ in range(int(c["length"])):
        mean = theta[0] * values[-1] + theta[1] * values[-2]
        values.append(mean + np.exp(theta[2]) * rng.normal())
    series = np.array(values)
    return {"y": series[2:], "first": series[1:-1], "second": series[:-2]}


EXACT = "quadrature"


def exact(y, c):
    """Both lags integrated out, log sigma by its quantiles."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(160)
    X = np.column_stack([y["first"], y["second"]])
    values = []
    for node, weight in zip(nodes, weights, strict=True):
        s2 = np.exp(2 * LOG_SPREAD * node)
        inner = X.T @ X / s2 + np.eye(2) / SPREAD**2
        reach = X.T @ y["y"] / s2
        square = y["y"] @ y["y"] / s2 - reach @ np.linalg.solve(inner, reach)
        log_det = len(X) * np.log(2 * np.pi * s2) + np.linalg.slogdet(inner * SPREAD**2)[1]
        values.append(-0.5 * (square + log_det) + np.log(max(weight, 1e-300)))
    top = max(values)
    log_sum = top + np.log(np.sum(np.exp(np.array(values) - top)))
    return float(log_sum - 0.5 * np.log(2 * np.pi))
