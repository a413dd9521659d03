"""Logistic and log-link Poisson terms: their curvature, and how fast it may fall.

With eta the linear predictor, -log p(y | eta) = phi(eta) - y eta + base(y). For the certificate a
family must say, at any eta, w = phi''(eta) and a skewness t in [0, 1] such that for every s

    phi''(eta + s) >= w exp(-|s|)   and   phi''(eta + s) >= w exp(-t |s| - (1 - t^2) s^2 / 4),

and an upper bound on the mean of phi(eta + s) - phi(eta) over s ~ N(0, v): docs/glm.md.

Sums of -log p are far smaller than phi, y eta and base where counts are large. So each family
writes a term, its slope and its rise in a form that subtracts nothing large from anything large,
and says what rounding is left in it.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr

from bracketz.errors import InputError

#: Knots for chords of a convex function of a standard normal variable.
KNOTS = np.arange(-80, 81) / 10
#: Rounding of a mean over the knots, relatively: second differences of step 0.1 leave 1e-13.
KNOT_ERROR = 1e-11
#: A function of one number is computed to within this much, relatively.
EPSILON = 8 * float(np.finfo(float).eps)
#: From here on five terms of Stirling's series are exact to rounding.
STIRLING_FROM = 32.0


def _chord_weights(knots: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights with which the values at the knots make the mean of the piecewise linear function
    through them, constant beyond; and the mean of what exceeds the last knot."""
    above = np.exp(-0.5 * knots**2) / np.sqrt(2 * np.pi) - knots * ndtr(-knots)  # E (x - knot)_+
    slopes = -np.diff(above) / np.diff(knots)
    weights = np.maximum(-np.diff(np.concatenate([[1.0], slopes, [0.0]])), 0.0)
    upper = weights[len(knots) // 2 :]  # knots are symmetric; below 0 small weights would be lost
    return np.concatenate([upper[:0:-1], upper]), float(above[-1])


WEIGHTS, OVERSHOOT = _chord_weights(KNOTS)


class Family(ABC):
    """What a term of the likelihood is."""

    @abstractmethod
    def check(self, y: np.ndarray) -> None:
        """Refuse responses it cannot have made."""

    @abstractmethod
    def loss(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-log p(y | eta), and at least what rounding can have done to it, eta being exact."""

    @abstractmethod
    def residual(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi'(eta) - y, and at least what rounding can have done to it, eta being exact."""

    @abstractmethod
    def rise(self, eta, y, s, xp: Any = np):
        """-log p(y | eta + s) + log p(y | eta), in NumPy or in ``jax.numpy``."""

    @abstractmethod
    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """w = phi''."""

    @abstractmethod
    def skewness(self, eta: np.ndarray) -> np.ndarray:
        """t: |phi'''| <= t phi'' at eta."""

    @abstractmethod
    def mean_rise(self, eta: np.ndarray, variance: np.ndarray, eta_error: Any = 0.0) -> np.ndarray:
        """At least E phi(x + s) - phi(x) for s ~ N(0, variance) and any x within the error of
        eta."""


class Logistic(Family):
    """phi = log(1 + e^eta), y in {0, 1}."""

    def check(self, y):
        wrong = y[(y != 0) & (y != 1)]
        if wrong.size:
            raise InputError(f"`y` of a logistic regression must be 0 or 1, got {wrong[0]:g}")

    def loss(self, eta, y):
        loss = np.logaddexp((1 - 2 * y) * eta, 0.0)
        return loss, EPSILON * loss

    def residual(self, eta, y):
        sign = 1 - 2 * y
        minus_log = np.logaddexp(-sign * eta, 0.0)
        residual = sign * np.exp(-minus_log)
        return residual, EPSILON * np.abs(residual) * (1 + minus_log)

    def rise(self, eta, y, s, xp: Any = np):
        sign = 1 - 2 * y
        return xp.logaddexp(sign * (eta + s), 0.0) - xp.logaddexp(sign * eta, 0.0)

    def curvature(self, eta):
        return np.exp(-np.logaddexp(eta, 0.0) - np.logaddexp(-eta, 0.0))

    def skewness(self, eta):
        return np.abs(np.tanh(0.5 * eta))

    def mean_rise(self, eta, variance, eta_error=0.0):
        # phi is convex: between knots its chord lies above it; beyond, its slope is within [0, 1].
        # The mean is even in eta, and falls with |eta|; below 0 nothing large is subtracted.
        eta, spread = np.minimum(eta_error - np.abs(eta), 0.0), np.sqrt(variance)
        mean = OVERSHOOT * spread
        for knot, weight in zip(KNOTS, WEIGHTS, strict=True):
            mean = mean + weight * np.logaddexp(eta + knot * spread, 0.0)
        return mean * (1 + KNOT_ERROR) - np.logaddexp(eta, 0.0)


class Poisson(Family):
    """phi = e^eta, y = 0, 1, 2, ..."""

    def check(self, y):
        wrong = y[(y < 0) | (y != np.round(y))]
        if wrong.size:
            raise InputError(
                f"`y` of a Poisson regression must be whole numbers from 0 on, got {wrong[0]:g}"
            )

    def loss(self, eta, y):
        # With e = eta - log y: y (exp(e) - 1 - e), and what is left where e = 0.
        log_y = np.log(np.maximum(y, 1.0))
        e = np.where(y > 0, eta - log_y, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.abs(y * np.expm1(e))
            deviance = np.where(y > 0, y * (np.expm1(e) - e), np.exp(eta))
        least, error = _least_loss(y)
        e_error = EPSILON * (np.abs(eta) + log_y)
        error = error + EPSILON * (moved + np.abs(y * e) + deviance) + moved * e_error
        return deviance + least, error + (moved + y) * e_error**2

    def residual(self, eta, y):
        with np.errstate(over="ignore"):
            mean = np.exp(eta)
        return mean - y, EPSILON * mean

    def rise(self, eta, y, s, xp: Any = np):
        mean = xp.exp(eta)
        return mean * (xp.expm1(s) - s) + (mean - y) * s

    def curvature(self, eta):
        return np.exp(eta)

    def skewness(self, eta):
        return np.ones_like(eta)

    def mean_rise(self, eta, variance, eta_error=0.0):
        eta, half = eta + eta_error, 0.5 * variance
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.exp(eta) * np.expm1(half)
            rise = np.where(half < 1, small, np.exp(eta + half) - np.exp(eta))
            return rise * (1 + EPSILON * (1 + np.abs(eta) + half))


def _least_loss(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log y! - y log y + y, its rounding): the loss where the mean is the count."""
    few, many = np.minimum(y, STIRLING_FROM), np.maximum(y, STIRLING_FROM)
    parts = gammaln(few + 1.0), -few * np.log(np.maximum(few, 1.0)), few
    direct, size = np.sum(parts, axis=0), np.sum(np.abs(parts), axis=0)
    v = 1 / many
    series = 0.5 * np.log(2 * np.pi * many) + v / 12 - v**3 / 360 + v**5 / 1260 - v**7 / 1680
    least = np.where(y < STIRLING_FROM, direct, series)
    return least, EPSILON * np.where(y < STIRLING_FROM, size, least)


FAMILIES: dict[str, Family] = {"logistic": Logistic(), "poisson": Poisson()}
