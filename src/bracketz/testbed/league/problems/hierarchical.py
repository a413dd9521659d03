"""Fifty groups of four observations around a common mean, both scales unknown."""

import numpy as np

PROBLEMS = {
    "hierarchical-50": {
        "hard": "53 dimensions, levels that hang on a scale",
        "settings": {"groups": 50, "size": 4},
    }
}
MEAN = 2.0  # mu ~ N(0, 2), log tau ~ N(-0.5, 0.5), log sigma ~ N(-0.5, 0.5)
LOG_SCALE, LOG_SPREAD = -0.5, 0.5


def constants(groups, size):
    return {"group": np.repeat(np.arange(groups), size), "groups": np.array(groups)}


def dimension(c):
    return int(c["groups"]) + 3  # mu, log tau, log sigma, standardised levels


def prior_transform(u, c, m):
    z = m.ndtri(u)
    scales = LOG_SCALE + LOG_SPREAD * z[..., 1:3]
    return m.concatenate([MEAN * z[..., :1], scales, z[..., 3:]], axis=-1)


def log_prior(theta, c, m):
    return (
        m.normal(theta[..., 0], 0.0, MEAN)
        + m.sum(m.normal(theta[..., 1:3], LOG_SCALE, LOG_SPREAD), axis=-1)
        + m.sum(m.normal(theta[..., 3:]), axis=-1)
    )


def log_likelihood(theta, y, c, m):
    level = theta[..., :1] + m.exp(theta[..., 1:2]) * theta[..., 3:]
    each = m.normal(y["y"], level[..., c["group"]], m.exp(theta[..., 2:3]))
    return m.sum(each, axis=-1)


def simulate(theta, c, rng):
    level = theta[0] + np.exp(theta[1]) * theta[3:]
    noise = rng.normal(size=len(c["group"]))
    return {"y": level[c["group"]] + np.exp(theta[2]) * noise}


EXACT = "quadrature"


def exact(y, c, points=401):
    """Levels and mean integrated out; both log scales on a fine even grid, which for smooth
    functions that vanish at its ends is exact beyond all powers of its step."""
    groups = int(c["groups"])
    size = len(c["group"]) // groups
    values = y["y"].reshape(groups, size)
    means, within = values.mean(1), np.sum((values - values.mean(1, keepdims=True)) ** 2)
    z = np.linspace(-6.0, 6.0, points)
    log_weights = np.log(z[1] - z[0]) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    scale = LOG_SCALE + LOG_SPREAD * z
    log_tau, log_sigma = np.meshgrid(scale, scale, indexing="ij")
    sigma2 = np.exp(2 * log_sigma)
    of_mean = np.exp(2 * log_tau) + sigma2 / size  # variance of a group's mean, given mu
    rest = -0.5 * groups * (size - 1) * np.log(2 * np.pi * sigma2) - 0.5 * within / sigma2
    rest = rest - 0.5 * groups * np.log(size)
    # The groups' means are N(0, of_mean I + MEAN^2 11').
    ratio = MEAN**2 / (of_mean + groups * MEAN**2)
    square = (np.sum(means**2) - ratio * np.sum(means) ** 2) / of_mean
    log_det = groups * np.log(2 * np.pi * of_mean) + np.log1p(groups * MEAN**2 / of_mean)
    all_of_it = rest - 0.5 * (square + log_det) + log_weights[:, None] + log_weights[None, :]
    top = all_of_it.max()
    return float(top + np.log(np.sum(np.exp(all_of_it - top))))
