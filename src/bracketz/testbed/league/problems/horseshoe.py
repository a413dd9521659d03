"""Sparse regression with a horseshoe prior: beta_j = z_j lambda_j tau, scales half-Cauchy.

Every scale is kept as the normal quantile w of its place in the prior, scale = tan(pi Phi(w) / 2).
The model is the same as with logarithms, whose tails are exponential; our own sandwich is better so
(on six data sets at no more cost), though no truth is accepted yet.
"""

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
    return 2 * c["X"].shape[1] + 1  # quantiles of tau and of the lambdas, z


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta), axis=-1)


def _log_scale(w, m):
    """log tan(pi Phi(w) / 2), exact in both tails."""
    return m.log(m.sin(0.5 * m.pi * m.ndtr(w))) - m.log(m.sin(0.5 * m.pi * m.ndtr(-w)))


def _coefficients(theta, c, m):
    columns = c["X"].shape[1]
    scales = _log_scale(theta[..., : columns + 1], m)
    log_scale = np.log(GLOBAL) + scales[..., :1] + scales[..., 1:]
    # Beyond exp(300) the likelihood is 0 in any case; the square must not overflow.
    return theta[..., columns + 1 :] * m.exp(m.minimum(log_scale, 300.0))


def log_likelihood(theta, y, c, m):
    mean = _coefficients(theta, c, m) @ c["X"].T
    return m.sum(m.normal(y["y"], mean, NOISE), axis=-1)


def simulate(theta, c, rng):
    from bracketz.testbed.league.worker import numpy_mathematics

    mean = c["X"] @ _coefficients(theta, c, numpy_mathematics())
    return {"y": mean + NOISE * rng.normal(size=len(mean))}
