"""Examples from the tools' own documentation: does an adapter do its tool justice?

The crash course of dynesty: a correlated normal in 3 dimensions under a uniform prior on a box; its
log evidence is -3 log 20, the tails beyond the box being of no account. The quick start of JAXNS
3: a line through six points, of which its page prints -0.38 +- 0.28 and the exact -0.274366. The
crash course of nautilus: two uniform parameters and a normal one, of which its page prints -6.34.
The first example of bridgesampling's help: the constant of a standard normal in the plane.
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
    "nautilus-crash-course": {
        "hard": "nothing: nautilus's first example",
        "settings": {"case": 2},
        "suite": "documented",
        "tools": ["nautilus"],
    },
    "bridgesampling-help": {
        "hard": "nothing: the first example of bridgesampling's help",
        "settings": {"case": 3},
        "suite": "documented",
        "tools": ["bridgesampling"],
    },
}
DYNESTY, JAXNS, NAUTILUS, BRIDGE = range(4)
POINTS = np.array([0.15, 0.32, 0.83, 1.08, 1.52, 1.77])
SPREADS, UNCERTAINTY = np.array([1.0, 2.0]), 0.15
#: Half the sides of boxes, correlations, and the spread of nautilus's third parameter.
BOX, CORRELATION = 10.0, 0.95
SMALL, LINKED, THIRD = 5.0, 0.9, 2.0


def constants(case):
    # A shape, unlike a number, is known while JAX traces.
    return {"case": np.zeros(case), "x": np.linspace(0.0, 1.0, 6)}


def _case(c):
    return len(c["case"])


def dimension(c):
    return 2 if _case(c) in (JAXNS, BRIDGE) else 3


def prior_transform(u, c, m):
    if _case(c) == DYNESTY:
        return BOX * (2 * u - 1)
    if _case(c) == NAUTILUS:
        return m.concatenate([SMALL * (2 * u[..., :2] - 1), THIRD * m.ndtri(u[..., 2:])], axis=-1)
    return (SPREADS if _case(c) == JAXNS else 1.0) * m.ndtri(u)


def log_prior(theta, c, m):
    if _case(c) == DYNESTY:
        return _uniform(theta, BOX, m)
    if _case(c) == NAUTILUS:
        return _uniform(theta[..., :2], SMALL, m) + m.normal(theta[..., 2], 0.0, THIRD)
    return m.sum(m.normal(theta, 0.0, SPREADS if _case(c) == JAXNS else 1.0), axis=-1)


def _uniform(theta, half, m):
    inside = m.all(m.abs(theta) <= half, axis=-1)
    return m.where(inside, -theta.shape[-1] * np.log(2 * half), -np.inf)


def log_likelihood(theta, y, c, m):
    if _case(c) == BRIDGE:  # times the prior: exp(-theta'theta / 2)
        return np.log(2 * np.pi) + 0.0 * theta[..., 0]
    if _case(c) == JAXNS:
        line = theta[..., :1] + theta[..., 1:] * c["x"]
        return m.sum(m.normal(y["y"], line, UNCERTAINTY), axis=-1)
    covariance = np.full((3, 3), CORRELATION) + (1 - CORRELATION) * np.eye(3)
    if _case(c) == NAUTILUS:
        covariance = np.array([[1.0, 0.0, LINKED], [0.0, 1.0, 0.0], [LINKED, 0.0, 1.0]])
    square = m.sum((theta @ np.linalg.inv(covariance)) * theta, axis=-1)
    return -0.5 * (square + np.linalg.slogdet(2 * np.pi * covariance)[1])


def simulate(theta, c, rng):
    """No draw: the examples have no data, or their own."""
    return {"y": POINTS if _case(c) == JAXNS else np.zeros(3)}


EXACT = "closed form"


def exact(y, c):
    """Tails beyond a box, five standard deviations out or more, are of no account."""
    if _case(c) == DYNESTY:
        return float(-3 * np.log(2 * BOX))
    if _case(c) == NAUTILUS:
        return float(-2 * np.log(2 * SMALL) - 0.5 * np.log(2 * np.pi * (1 + THIRD**2)))
    if _case(c) == BRIDGE:
        return float(np.log(2 * np.pi))
    design = np.column_stack([np.ones(6), c["x"]]) * SPREADS
    covariance = design @ design.T + UNCERTAINTY**2 * np.eye(6)
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (y["y"] @ np.linalg.solve(covariance, y["y"]) + log_det))
