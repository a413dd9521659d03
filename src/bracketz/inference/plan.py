"""How much effort a target takes, and whether a measurement has met it.

A sandwich first decides and then measures. What decides must be independent of the exact sample:
the reverse run begins there, so settings that followed from an earlier reverse run would depend on
it, and its weights would no longer average to 1 / p(y). So the ladder runs forwards only.

A ladder shows the *spread* s2, the variance of one chain's log-weight. If log-weights are nearly
normal, both directions have the same spread and it equals the single-chain gap (the Jeffreys
bound), and the weights the relative variance e^s2 - 1. What the bounds of M such chains are off by
is in ``bracketz.core.weights``. Along a path that refines s2 is proportional to 1 / edges
(``bracketz.engine.schedule``), so the effort for a target is a proportion; along the others the
spread is what was seen. More chains and more edges cost the same and, where s2 is small, help the
same; more edges also make the chains forget their start, so chains are added, in whole batches,
only where there are too few for an error bar worth the name.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from bracketz.core.weights import log_mean_noise, log_mean_variance, shared_start_noise

#: Noise of the gap (both bounds' errors together) that a target allows, as a share of it. Beyond
#: it a small gap may be luck.
NOISE = 0.65
#: What a plan aims at: a measured noise is itself uncertain.
AIM = 0.42
#: Bounds that cross by more than this share of the target show more noise than it allows.
CROSSED = 0.5
#: A ladder on a path that refines ends where one chain's spread is at most this (nats squared), and
#: goes by the rungs up to twice that: there 1 / edges can be relied on.
PREDICTABLE = 5.0
#: It also ends where this many times the effort has not halved the spread, and beyond this effort:
#: the measurement is then made there, and says that it has not converged.
PATIENCE = 64
LAST_RUNG = 1 << 16
#: Chains of a rung, at the least; a variance of fewer says nothing.
RUNG_CHAINS = 10
#: A variance is taken to be as large as it is with this probability.
CONFIDENCE = 0.75
#: On other paths it ends where a doubling brings the spread down by less than this share.
WORTHWHILE = 0.2
#: Batches of chains at the most.
BATCHES = 64


def spread(log_values: np.ndarray) -> float:
    """Variance of a chain's log-weight; a weight of zero counts as e^-30 of the smallest other."""
    seen = log_values[log_values > -np.inf]
    if not len(seen):
        return math.inf
    return float(np.var(np.maximum(log_values, seen.min() - 30.0), ddof=1))


class Expected(NamedTuple):
    """What a measurement should show: the gap, and its noise."""

    gap: float
    noise: float


def expect(spread: float, chains: int, refines: bool) -> Expected:
    """Both bounds with this many chains whose log-weights have this spread."""
    relative_variance = math.expm1(min(spread, 500.0))
    own = log_mean_noise(relative_variance, chains)
    start = shared_start_noise(spread, spread, refines)
    return Expected(log_mean_variance(relative_variance, chains), math.hypot(own, own, start))


def good_enough(expected: Expected, target: float) -> bool:
    """Whether a measurement like this one is likely to converge."""
    return expected.noise <= AIM * target and expected.gap + expected.noise <= target


def converged(gap: float, noise: float, target: float) -> bool:
    """The measured gap is at most the target, and that is not luck: the noise is small beside the
    target, and the bounds do not cross by more than such noise explains."""
    return -CROSSED * target <= gap <= target and noise <= NOISE * target


class Plan(NamedTuple):
    """What to measure with."""

    effort: int
    chains: int


class Seen(NamedTuple):
    """A rung of the ladder: the spread at an effort, and how many chains it is known by."""

    effort: int
    spread: float
    chains: int


def scaled(seen: Sequence[Seen]) -> float:
    """s2 times edges: the average over the rungs where it can be relied on, or the last one's, and
    so much more that it is enough with probability ``CONFIDENCE`` (a chi-square quantile)."""
    usable = [rung for rung in seen if rung.spread <= 2 * PREDICTABLE] or seen[-1:]
    degrees = sum(rung.chains - 1 for rung in usable)
    allowance = degrees / chdtri(degrees, CONFIDENCE)
    return float(allowance * np.mean([rung.spread * (rung.effort - 1) for rung in usable]))


def plan(
    seen: Sequence[Seen], target: float, chains: int, refines: bool, least: int, most: int
) -> Plan:
    """The cheapest measurement that should meet the target, with ``chains`` chains or a multiple.

    Args:
        seen: the ladder so far.
        target: the gap asked for.
        chains: of a batch.
        refines: whether the path does.
        least, most: efforts allowed.

    Returns:
        The plan; with ``most`` effort where nothing allowed is enough.
    """
    last = seen[-1]
    if refines and last.spread > 2 * PREDICTABLE and not _enough(last, target, refines):
        return Plan(last.effort, chains)  # nothing to predict by
    options: list[Plan] = []
    for batches in (1 << i for i in range(BATCHES.bit_length())):
        total = batches * chains
        if refines:
            effort = _least_effort(scaled(seen), target, total, least, most)
        else:
            enough = [r.effort for r in seen if good_enough(expect(r.spread, total, False), target)]
            effort = min(enough, default=None)
        if effort is not None:
            options.append(Plan(effort, total))
    if not options:
        return Plan(most if refines else min(seen, key=lambda r: r.spread).effort, chains)
    cheapest = min(p.effort * p.chains for p in options)
    # Fewest chains at nearly the lowest price: more edges make the chains forget their start.
    return next(p for p in options if p.effort * p.chains <= 1.1 * cheapest)


def _least_effort(scale: float, target: float, chains: int, least: int, most: int) -> int | None:
    """The smallest effort (distributions) that is enough, by bisection; None: not even ``most``."""

    def enough(effort):
        return good_enough(expect(scale / (effort - 1), chains, True), target)

    if not enough(most):
        return None
    low, high = least - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _enough(rung: Seen, target: float, refines: bool) -> bool:
    return good_enough(expect(rung.spread, rung.chains, refines), target)


def next_rung(seen: Sequence[Seen], target: float, refines: bool) -> int | None:
    """The effort of the ladder's next rung; None where it has seen enough to plan by."""
    last = seen[-1]
    if _enough(last, target, refines):
        return None
    if refines:
        if last.spread <= PREDICTABLE:
            return None
        if any(last.effort >= PATIENCE * r.effort and last.spread > r.spread / 2 for r in seen):
            return None
        doublings = math.log2(min(last.spread / PREDICTABLE, 8.0))
        following = last.effort << max(int(doublings), 1)
        return following if following <= max(LAST_RUNG, 2 * seen[0].effort) else None
    seen_before = seen[-2].spread if len(seen) > 1 else math.inf
    return 2 * last.effort if last.spread <= (1 - WORTHWHILE) * seen_before else None
