"""The silent-failure suite: a plausible wrong number, and nobody says a word.

Data are given, evidences closed-form. Two cases tempt a tool (a start that is no draw from the
prior, a mode far from everything else); three hand it a mistake that people make in writing a
model, and ask whether anything notices. The truth is that of the model without the mistake.
"""

import numpy as np

PROBLEMS = {
    "start-at-the-data": {
        "hard": "N(0, 1) prior, one observation of 3; tempted: start every particle at 3",
        "settings": {"case": 0},
        "suite": "silent",
    },
    "mode-far-away": {
        "hard": "half of the evidence is in a needle 4 standard deviations out",
        "settings": {"case": 1},
        "suite": "silent",
    },
    "likelihood-counted-twice": {
        "hard": "the likelihood is added twice, as with a forgotten scale",
        "settings": {"case": 2},
        "suite": "silent",
    },
    "prior-left-out": {
        "hard": "a term of the log prior is commented out; the transform is right",
        "settings": {"case": 3},
        "suite": "silent",
    },
    "potential-forgotten": {
        "hard": "a Potential belongs to the prior's density, and its draws (transform) forget it",
        "settings": {"case": 4},
        "suite": "silent",
    },
}
START, FAR, TWICE, LEFT_OUT, POTENTIAL = range(5)
NEEDLE, PLACE = 0.01, 4.0
#: N(0, 1) times a Potential of N(1, 1/4) is, once normalised, N(4/5, 1/5).
MEAN, VARIANCE = 0.8, 0.2


def constants(case):
    return {"case": np.array(case), "size": np.array(1 if case in (START, FAR) else 3)}


def dimension(c):
    return int(c["size"])


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    each = m.normal(theta)
    forgotten = m.where(c["case"] == LEFT_OUT, each[..., 0], 0.0)
    whole = m.sum(m.normal(theta, MEAN, np.sqrt(VARIANCE)), axis=-1)
    return m.where(c["case"] == POTENTIAL, whole, m.sum(each, axis=-1) - forgotten)


def log_likelihood(theta, y, c, m):
    plain = m.sum(m.normal(y["y"][:, None], theta[..., None, :], 1.0), axis=(-2, -1))
    broad = plain + np.log(0.5)
    narrow = m.sum(m.normal(theta, PLACE, NEEDLE), axis=-1) + y["height"][0]
    far = m.logaddexp(broad, narrow)
    times = m.where(c["case"] == TWICE, 2.0, 1.0)
    return m.where(c["case"] == FAR, far, times * plain)


def simulate(theta, c, rng):
    """No draw: the cases are about certain data. The needle is as high as makes it hold half."""
    y = np.array([3.0]) if c["case"] == START else np.array([0.5, -0.2, 0.9, 0.4])
    needle = -0.5 * (PLACE**2 / (1 + NEEDLE**2) + np.log(2 * np.pi * (1 + NEEDLE**2)))
    return {"y": y, "height": np.array([_plain(y, int(c["size"])) + np.log(0.5) - needle])}


EXACT = "closed form"


def _plain(y, size, mean=0.0, variance=1.0):
    """y_ij ~ N(theta_j, 1), every theta_j ~ N(mean, variance), the same y for each j."""
    covariance = np.eye(len(y)) + variance * np.ones((len(y), len(y)))
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    off = y - mean
    return float(-0.5 * size * (off @ np.linalg.solve(covariance, off) + log_det))


def exact(y, c):
    """Both halves of the far mode's evidence are as large as one whole."""
    prior = (MEAN, VARIANCE) if c["case"] == POTENTIAL else (0.0, 1.0)
    return _plain(y["y"], int(c["size"]), *prior)
