"""Logistic and log-link Poisson terms: their curvature, and how fast it may fall.

With eta the linear predictor, -log p(y | eta) = phi(eta) - y eta + base(y). For the certificate a
family must say, at any eta, w = phi''(eta) and a skewness t in [0, 1] such that for every s

    phi''(eta + s) >= w exp(-|s|)   and   phi''(eta + s) >= w exp(-t |s| - (1 - t^2) s^2 / 4),

and an upper bound on the mean of phi(eta + s) - phi(eta) over s ~ N(0, v): docs/glm.md.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr

from bracketz.errors import InputError

#: Knots for chords of a convex function of a standard normal variable.
KNOTS = np.arange(-80, 81) / 10


def _chord_weights(knots: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights with which the values at the knots make the mean of the piecewise linear function
    through them, constant beyond; and the mean of what exceeds the last knot."""
    above = np.exp(-0.5 * knots**2) / np.sqrt(2 * np.pi) - knots * ndtr(-knots)  # E (x - knot)_+
    slopes = -np.diff(above) / np.diff(knots)
    weights = -np.diff(np.concatenate([[1.0], slopes, [0.0]]))
    return np.maximum(weights, 0.0), float(above[-1])  # rounding up: phi is positive


WEIGHTS, OVERSHOOT = _chord_weights(KNOTS)


class Family(ABC):
    """What a term of the likelihood is."""

    @abstractmethod
    def check(self, y: np.ndarray) -> None:
        """Refuse responses it cannot have made."""

    @abstractmethod
    def base(self, y: np.ndarray) -> np.ndarray:
        """What of -log p(y | eta) does not depend on eta."""

    @abstractmethod
    def cumulant(self, eta, xp: Any = np):
        """phi, in NumPy or in ``jax.numpy``."""

    @abstractmethod
    def mean(self, eta: np.ndarray) -> np.ndarray:
        """phi'."""

    @abstractmethod
    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """w = phi''."""

    @abstractmethod
    def skewness(self, eta: np.ndarray) -> np.ndarray:
        """t: |phi'''| <= t phi'' at eta."""

    @abstractmethod
    def mean_rise(self, eta: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """At least E phi(eta + s) - phi(eta) for s ~ N(0, variance)."""


class Logistic(Family):
    """phi = log(1 + e^eta), y in {0, 1}."""

    def check(self, y):
        wrong = y[(y != 0) & (y != 1)]
        if wrong.size:
            raise InputError(f"`y` of a logistic regression must be 0 or 1, got {wrong[0]:g}")

    def base(self, y):
        return np.zeros_like(y)

    def cumulant(self, eta, xp: Any = np):
        return xp.logaddexp(eta, 0.0)

    def mean(self, eta):
        return np.exp(-np.logaddexp(-eta, 0.0))

    def curvature(self, eta):
        return np.exp(-np.logaddexp(eta, 0.0) - np.logaddexp(-eta, 0.0))

    def skewness(self, eta):
        return np.abs(np.tanh(0.5 * eta))

    def mean_rise(self, eta, variance):
        # phi is convex: between knots its chord lies above it; beyond, its slope is within [0, 1].
        spread = np.sqrt(variance)
        mean = OVERSHOOT * spread - np.logaddexp(eta, 0.0)
        for knot, weight in zip(KNOTS, WEIGHTS, strict=True):
            mean = mean + weight * np.logaddexp(eta + knot * spread, 0.0)
        return mean


class Poisson(Family):
    """phi = e^eta, y = 0, 1, 2, ..."""

    def check(self, y):
        wrong = y[(y < 0) | (y != np.round(y))]
        if wrong.size:
            raise InputError(
                f"`y` of a Poisson regression must be whole numbers from 0 on, got {wrong[0]:g}"
            )

    def base(self, y):
        return gammaln(y + 1.0)

    def cumulant(self, eta, xp: Any = np):
        return xp.exp(eta)

    def mean(self, eta):
        return np.exp(eta)

    def curvature(self, eta):
        return np.exp(eta)

    def skewness(self, eta):
        return np.ones_like(eta)

    def mean_rise(self, eta, variance):
        with np.errstate(over="ignore"):
            return np.exp(eta) * np.expm1(0.5 * variance)


FAMILIES: dict[str, Family] = {"logistic": Logistic(), "poisson": Poisson()}
