"""Hyperparameters of a Gaussian process: length scale, amplitude and noise, function integrated
out."""

import numpy as np

PROBLEMS = {
    "gp-3": {
        "hard": "signal and noise explain each other: a bent ridge, sometimes two modes",
        "settings": {"rows": 25},
    }
}
#: Means and standard deviations of the log length scale, log amplitude and log noise.
MEANS, SPREADS = np.array([-0.5, 0.0, -1.0]), np.array([1.0, 0.7, 1.0])


def constants(rows):
    x = np.sort(np.random.default_rng(8).uniform(-2, 2, size=rows))
    return {"square": (x[:, None] - x[None, :]) ** 2}


def dimension(c):
    return 3


def prior_transform(u, c, m):
    return MEANS + SPREADS * m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta, MEANS, SPREADS), axis=-1)


def _covariance(theta, c, m):
    length, amplitude, noise = (m.exp(2 * theta[..., k, None, None]) for k in range(3))
    eye = m.eye(c["square"].shape[0])
    # A tenth of a percent of the amplitude on the diagonal is part of the model: no factorisation
    # fails, whatever the length scale.
    return amplitude * (m.exp(-0.5 * c["square"] / length) + 1e-3 * eye) + noise * eye


def log_likelihood(theta, y, c, m):
    lower = m.linalg.cholesky(_covariance(theta, c, m))
    right = m.broadcast_to(y["y"][:, None], (*theta.shape[:-1], len(y["y"]), 1))
    z = m.linalg.solve(lower, right)[..., 0]
    log_det = m.sum(m.log(m.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * m.sum(z * z, axis=-1) - log_det - 0.5 * len(y["y"]) * np.log(2 * np.pi)


def simulate(theta, c, rng):
    lower = np.linalg.cholesky(_covariance(theta, c, np))
    return {"y": lower @ rng.normal(size=len(lower))}


EXACT = "quadrature"


def exact(y, c):
    """On a fine even grid, which for smooth functions that vanish at its ends is exact beyond all
    powers of its step; by eigenvalues, once for each length scale."""
    z = np.linspace(-6.0, 6.0, 101)
    values = []
    for step in z:
        smooth = np.exp(-0.5 * c["square"] / np.exp(2 * (MEANS[0] + SPREADS[0] * step)))
        eigen, vectors = np.linalg.eigh(smooth + 1e-3 * np.eye(len(smooth)))
        turned = (vectors.T @ y["y"]) ** 2
        amplitude = np.exp(2 * (MEANS[1] + SPREADS[1] * z))[:, None, None]
        noise = np.exp(2 * (MEANS[2] + SPREADS[2] * z))[None, :, None]
        variance = amplitude * eigen + noise
        density = -0.5 * np.sum(np.log(2 * np.pi * variance) + turned / variance, axis=-1)
        values.append(density - 0.5 * (z[:, None] ** 2 + z[None, :] ** 2 + step**2))
    grid = np.array(values)
    top = grid.max()
    total = top + np.log(np.sum(np.exp(grid - top))) + 3 * np.log(z[1] - z[0])
    return float(total - 1.5 * np.log(2 * np.pi))
