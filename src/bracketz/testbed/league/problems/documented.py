"""Examples from the tools' own documentation: does an adapter do its tool justice?

The crash course of dynesty: a correlated normal in 3 dimensions under a uniform prior on a box; its
log evidence is -3 log 20, the tails beyond the box being of no account. The quick start of JAXNS
3: a line through six points, of which its page prints -0.38 +- 0.28 and the exact -0.274366.
"""

import numpy as np

PROBLEMS = {
    "dynesty-crash-course": {
        "hard": "nothing: dynesty's own first example",
        "settings": {"case": 0},
        "suite": "documented",
        "tools": ["dynesty", "dynesty-dynamic"],
    },
    "jaxns-quick-start": {
        "hard": "nothing: the first example of JAXNS",
        "settings": {"case": 1},
        "suite": "documented",
        "tools": ["jaxns"],
    },
}
BOX, CORRELATION = 10.0, 0.95
POINTS = np.array([0.15, 0.32, 0.83, 1.08, 1.52, 1.77])
SPREADS, UNCERTAINTY = np.array([1.0, 2.0]), 0.15


def constants(case):
    return {"case": np.array(case), "x": np.linspace(0.0, 1.0, 6)}


def dimension(c):
    return 2 if c["case"] else 3


def prior_transform(u, c, m):
    return SPREADS * m.ndtri(u) if u.shape[-1] == 2 else BOX * (2 * u - 1)


def log_prior(theta, c, m):
    if theta.shape[-1] == 2:
        return m.sum(m.normal(theta, 0.0, SPREADS), axis=-1)
    inside = m.all(m.abs(theta) <= BOX, axis=-1)
    return m.where(inside, -3 * np.log(2 * BOX), -np.inf)


def log_likelihood(theta, y, c, m):
    if theta.shape[-1] == 2:
        line = theta[..., :1] + theta[..., 1:] * c["x"]
        return m.sum(m.normal(y["y"], line, UNCERTAINTY), axis=-1)
    covariance = np.full((3, 3), CORRELATION) + (1 - CORRELATION) * np.eye(3)
    square = m.sum((theta @ np.linalg.inv(covariance)) * theta, axis=-1)
    return -0.5 * (square + np.linalg.slogdet(2 * np.pi * covariance)[1])


def simulate(theta, c, rng):
    """No draw: the examples have no data, or their own."""
    return {"y": POINTS if c["case"] else np.zeros(3)}


EXACT = "closed form"


def exact(y, c):
    if not c["case"]:
        return float(-3 * np.log(2 * BOX))
    design = np.column_stack([np.ones(6), c["x"]]) * SPREADS
    covariance = design @ design.T + UNCERTAINTY**2 * np.eye(6)
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (y["y"] @ np.linalg.solve(covariance, y["y"]) + log_det))
