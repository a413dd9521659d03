"""Three cluster centres in the plane with unit noise, labels summed out: 3! modes of one height."""

import numpy as np

PROBLEMS = {
    "mixture-separated": {
        "hard": "6 modes far apart: a sampler must find each, or know of the symmetry",
        "settings": {"rows": 50, "spread": 5.0},
    },
    "mixture-overlapping": {
        "hard": "6 modes that run into each other",
        "settings": {"rows": 50, "spread": 1.0},
    },
}
CENTRES = 3


def constants(rows, spread):
    return {"rows": np.array(rows), "spread": np.array(spread)}


def dimension(c):
    return 2 * CENTRES


def prior_transform(u, c, m):
    return c["spread"] * m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta, 0.0, c["spread"]), axis=-1)


def log_likelihood(theta, y, c, m):
    centres = theta.reshape((*theta.shape[:-1], CENTRES, 2))
    square = m.sum((y["y"][:, None] - centres[..., None, :, :]) ** 2, axis=-1)
    return m.sum(m.logsumexp(-0.5 * square) - m.log(2 * m.pi * CENTRES), axis=-1)


def simulate(theta, c, rng):
    label = rng.integers(CENTRES, size=int(c["rows"]))
    return {"y": theta.reshape(CENTRES, 2)[label] + rng.normal(size=(len(label), 2))}
