"""Integrals over a line, a half-line or an interval: double-exponential substitutions, with which
the trapezoidal rule converges fast for light and heavy tails and for poles at an end.

(Takahasi and Mori, 1974.)
"""

import numpy as np

#: The substitutions' variable runs over [-REACH, REACH]: a line is covered to 1e8 scales.
REACH = 3.2
POINTS = 257


def _t(points: int) -> tuple[np.ndarray, float]:
    return np.linspace(-REACH, REACH, points), 2 * REACH / (points - 1)


def nodes(low, high, centre, scale, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """(places, log weights), each (points, n), for n integrals at once.

    Args:
        low: where each begins; -inf: a line.
        high: where each ends.
        centre: where most of it is; of no use between two ends.
        scale: how wide that is.
        points: of the rule.
    """
    low, high, centre, scale = np.broadcast_arrays(*map(np.atleast_1d, (low, high, centre, scale)))
    t, step = _t(points)
    inner, slope = 0.5 * np.pi * np.sinh(t)[:, None], 0.5 * np.pi * np.cosh(t)[:, None] * step
    grown, log_slope = np.exp(inner), np.log(slope)
    line = centre + scale * np.sinh(inner)
    log_line = np.log(scale) + np.log(np.cosh(inner)) + log_slope
    log_half = np.log(scale) + inner + log_slope
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    # 1 / (1 + e^-2u), and its mirror image for the other end, without cancellation.
    share, rest = 1 / (1 + np.exp(-2 * inner)), 1 / (1 + np.exp(2 * inner))
    between = np.where(share < 0.5, low + width * share, high - width * rest)
    log_between = np.log(width) + np.log(2 * share) + np.log(rest) + log_slope
    begins, ends = np.isfinite(low), np.isfinite(high)
    with np.errstate(invalid="ignore"):
        place = np.where(
            begins & ends,
            between,
            np.where(begins, low + scale * grown, np.where(ends, high - scale * grown, line)),
        )
    log_weight = np.where(begins & ends, log_between, np.where(begins | ends, log_half, log_line))
    return place, log_weight


def log_integral(values: np.ndarray, log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log of the integrals, how far half as many points would be from them) along the first
    axis."""
    with np.errstate(invalid="ignore", divide="ignore"):
        summands = np.where(np.isnan(values), -np.inf, values) + log_weights
        whole = np.logaddexp.reduce(summands, axis=0)
        half = np.logaddexp.reduce(summands[::2], axis=0) + np.log(2)
        apart = np.abs(whole - half)
    return whole, np.where(np.isfinite(apart), apart, np.inf)
