"""Draws against a density that claims to be theirs, constants included, in any dimension.

Let x be draws of a sampler, p the density it claims and g another density, normalised, with draws
x' of its own. If p is normalised and the sampler's, then for any bounded h

    E_x[h(x) g / (p + g)] = E_x'[h(x') p / (p + g)],

both being the integral of h p g / (p + g) (Bennett, 1976). Nothing in it is unbounded, so that
p-values hold whatever the tails; h = 1 sees constants, indicators of thirds of one parameter name
the parameter. g is fitted to other draws of the sampler: one entry after the other, its mean and
the logarithm of its spread linear in the entries before, its shape a smoothed histogram. A funnel
is fitted by that exactly.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy import stats

from bracketz.check.statistics import normal_p

#: Centres of a smoothed histogram and its width, in standard deviations; the share of a wide t.
CENTRES, WIDTH, WIDE = 96, 0.25, 0.03
#: An entry before is used where it is this many standard errors from useless.
USEFUL = 4.0
#: A cell with less than this in it has no normal law.
LEAST = 15.0
#: The integral of p g / (p + g) is 1/2 at best; below this, nothing can be seen.
FAINT = 0.01


@dataclasses.dataclass(frozen=True)
class _Entry:
    """One entry given those before it."""

    mean: np.ndarray  # coefficients: 1, entries before
    log_spread: np.ndarray
    bounds: tuple[float, float]  # of the logarithm of the spread
    centres: np.ndarray

    def at(self, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features = np.concatenate([np.ones((len(before), 1)), before], axis=1)
        return features @ self.mean, np.exp(np.clip(features @ self.log_spread, *self.bounds))


@dataclasses.dataclass(frozen=True)
class Fitted:
    """g."""

    order: np.ndarray
    entries: tuple[_Entry, ...]

    @classmethod
    def to(cls, draws: np.ndarray) -> "Fitted":
        """The better of two orders of the entries, judged by a quarter of the draws."""
        d = draws.shape[1]
        kept = len(draws) * 3 // 4
        orders = [np.arange(d), np.arange(d)[::-1]][: 1 + (d > 1)]
        found = [cls(order, _regressions(draws[:kept][:, order])) for order in orders]
        return max(found, key=lambda g: float(np.mean(g.log_density(draws[kept:]))))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """log g(x)."""
        x = x[:, self.order]
        total = np.zeros(len(x))
        for j, entry in enumerate(self.entries):
            mean, spread = entry.at(x[:, :j])
            total += _log_shape((x[:, j] - mean) / spread, entry.centres) - np.log(spread)
        return total

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """x' ~ g."""
        x = np.zeros((count, len(self.entries)))
        for j, entry in enumerate(self.entries):
            mean, spread = entry.at(x[:, :j])
            z = rng.choice(entry.centres, count) + WIDTH * rng.normal(size=count)
            wide = 3 * rng.standard_t(3, size=count)
            z = np.where(rng.random(count) < WIDE, wide, z)
            x[:, j] = mean + spread * z
        out = np.empty_like(x)
        out[:, self.order] = x
        return out


def _log_shape(z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    away = (z[:, None] - centres) / WIDTH
    near = np.logaddexp.reduce(-0.5 * away**2, axis=1) - np.log(
        len(centres) * WIDTH * np.sqrt(2 * np.pi)
    )
    return np.logaddexp(np.log1p(-WIDE) + near, np.log(WIDE) + stats.t.logpdf(z / 3, 3) - np.log(3))


def _regressions(x: np.ndarray) -> tuple[_Entry, ...]:
    out = []
    for j in range(x.shape[1]):
        mean = _useful(x[:, :j], x[:, j])
        features = np.concatenate([np.ones((len(x), 1)), x[:, :j]], axis=1)
        rest = x[:, j] - features @ mean
        size = np.log(np.abs(rest) + 1e-12 * (np.std(rest) + 1e-300))
        log_spread = _useful(x[:, :j], size)
        predicted = features @ log_spread
        shift = np.log(np.std(rest / np.exp(predicted)) + 1e-300)
        log_spread = log_spread.copy()
        log_spread[0] += shift
        z = np.sort(rest / np.exp(predicted + shift))
        centres = z[np.linspace(0, len(z) - 1, CENTRES + 2)[1:-1].astype(int)]
        bounds = (float(predicted.min() + shift), float(predicted.max() + shift))
        out.append(_Entry(mean, log_spread, bounds, centres))
    return tuple(out)


def _useful(before: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Least squares on the entries before that matter, and a constant."""
    n, d = before.shape
    out = np.zeros(d + 1)
    out[0] = target.mean()
    if not d:
        return out
    features = np.concatenate([np.ones((n, 1)), before], axis=1)
    coefficients, *_ = np.linalg.lstsq(features, target, rcond=None)
    rest = target - features @ coefficients
    inverse = np.linalg.pinv(features.T @ features)
    error = np.sqrt(np.maximum(np.diagonal(inverse), 0) * rest.var())
    keep = np.flatnonzero(np.abs(coefficients[1:]) > USEFUL * error[1:]) + 1
    columns = np.concatenate([[0], keep])
    out[:] = 0.0
    out[columns] = np.linalg.lstsq(features[:, columns], target, rcond=None)[0]
    return out


class Both(NamedTuple):
    """log p, log g and entries, of the sampler's draws and of g's."""

    x: np.ndarray
    log_p: np.ndarray
    log_g: np.ndarray
    x_g: np.ndarray
    log_p_g: np.ndarray
    log_g_g: np.ndarray

    def with_p(self, change) -> "Both":
        """``change(x)`` added to log p."""
        return self._replace(
            log_p=self.log_p + change(self.x), log_p_g=self.log_p_g + change(self.x_g)
        )


class Verdict(NamedTuple):
    """p-values of h = 1 and of each entry's cells, and what was seen."""

    whole: float
    entries: np.ndarray
    common: float  # integral of p g / (p + g)
    log_mass: float  # log of the integral of p

    @property
    def p_value(self) -> float:
        """One for all."""
        every = np.append(self.entries, self.whole)
        return float(min(1.0, (1 + 3 * len(self.entries)) * every.min()))


def compare(both: Both) -> Verdict:
    """Does p belong to the draws?"""
    with np.errstate(invalid="ignore"):
        ratio, ratio_g = both.log_g - both.log_p, both.log_g_g - both.log_p_g
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    ratio_g = np.where(np.isnan(ratio_g), np.inf, ratio_g)
    a, b = _logistic(ratio), _logistic(-ratio_g)
    entries = []
    for j in range(both.x.shape[1]):
        edges = np.quantile(both.x_g[:, j], [1 / 3, 2 / 3])
        cells = [np.digitize(x[:, j], edges) for x in (both.x, both.x_g)]
        entries.append(min(_equal_p(a * (cells[0] == k), b * (cells[1] == k)) for k in range(3)))
    return Verdict(
        _equal_p(a, b), np.array(entries), float(max(a.mean(), b.mean())), _mass(ratio, ratio_g)
    )


def _logistic(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def _equal_p(a: np.ndarray, b: np.ndarray) -> float:
    """Two means are equal; a and b lie in [0, 1]."""
    if a.sum() + b.sum() < LEAST:
        return 1.0
    error = np.sqrt(a.var() / len(a) + b.var() / len(b)) + 1e-12
    return float(normal_p((a.mean() - b.mean()) / error))


def _mass(ratio: np.ndarray, ratio_g: np.ndarray) -> float:
    """c for which p e^-c is the sampler's by h = 1: Bennett's estimate of log of p's integral."""
    low, high = -1e4, 1e4
    for _ in range(100):
        c = 0.5 * (low + high)
        surplus = _logistic(ratio + c).mean() - _logistic(-ratio_g - c).mean()
        low, high = (c, high) if surplus < 0 else (low, c)
    return 0.5 * (low + high)
