"""A phase transition: the likelihood is half a broad slab and half a needle at the same place.

y = theta + noise, theta ~ N(0, I), and the noise of the whole vector is either wide or narrow.
While the likelihood is tempered the slab has all the mass; at full power the needle, whose volume
is smaller by many powers of ten, may have most of it.
"""

import numpy as np

PROBLEMS = {
    "spike-and-slab-10": {
        "hard": "a first-order transition: the mass jumps from the slab to a needle within it",
        "settings": {"columns": 10},
    }
}
WIDE, NARROW = 1.0, 0.02


def constants(columns):
    return {"columns": np.array(columns)}


def dimension(c):
    return int(c["columns"])


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta), axis=-1)


def log_likelihood(theta, y, c, m):
    slab = m.sum(m.normal(y["y"], theta, WIDE), axis=-1)
    needle = m.sum(m.normal(y["y"], theta, NARROW), axis=-1)
    return m.logaddexp(slab, needle) - np.log(2)


def simulate(theta, c, rng):
    scale = WIDE if rng.uniform() < 0.5 else NARROW
    return {"y": theta + scale * rng.normal(size=len(theta))}


EXACT = "closed form"


def exact(y, c):
    """Half N(0, 1 + WIDE^2), half N(0, 1 + NARROW^2), for the whole vector."""

    def of(scale):
        variance = 1 + scale**2
        return -0.5 * np.sum(y["y"] ** 2 / variance + np.log(2 * np.pi * variance))

    return float(np.logaddexp(of(WIDE), of(NARROW)) - np.log(2))
