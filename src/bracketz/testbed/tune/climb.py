"""Seconds to an accuracy: the knob doubles until the root mean squared error is small enough."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bracketz.testbed.tune.bench import Bench, Choice, Measured

#: Doublings of the knob at the most.
DOUBLINGS = 14
#: Settings are followed up to so many times what the best need; beyond, a gain is "at least".
FOLLOWED = 8.0
#: A climb is given up when one answer takes this many times what the best setting needs.
HOPELESS = 1.5


class Rung(NamedTuple):
    """One value of the knob, on every data set asked for."""

    knob: int
    each: tuple[Measured, ...]


class Climb(NamedTuple):
    """One setting's way up."""

    choice: Choice
    rungs: tuple[Rung, ...]
    reached: bool


def rmse(each: Sequence[Measured]) -> float:
    """Over answers and data sets, in nats."""
    return math.sqrt(np.mean([np.mean(one.errors**2) for one in each]))


def seconds(each: Sequence[Measured]) -> float:
    """Per answer, on average over data sets."""
    return float(np.mean([one.seconds for one in each]))


def time_to(target: float, points: Sequence[tuple[float, float]]) -> float:
    """Seconds at which the error falls to ``target``, by (seconds, rmse) along a ladder.

    Between the last point above it and the first one below it log error is a line in log seconds.
    Infinite where no point is below; the first point's seconds where it already is.
    """
    for k, (now, error) in enumerate(points):
        if error <= target:
            if k == 0:
                return now
            before, above = points[k - 1]
            if not (0 < before < now and error > 0):
                return now
            share = math.log(above / target) / math.log(above / error)
            return float(before * (now / before) ** share)
    return math.inf


def time_of(climb: Sequence[Rung], target: float) -> float:
    """Seconds per answer until its error is ``target``."""
    return time_to(target, [(seconds(r.each), rmse(r.each)) for r in climb])


def climb(
    bench: Bench,
    choice: Choice,
    numbers: Sequence[int],
    over: Callable[[], bool],
    best: float = math.inf,
) -> Climb:
    """Up from the least value, until the target is reached, there is no hope to beat ``best``, or
    time is ``over``."""
    rungs: list[Rung] = []
    knob = choice.estimator.least
    for _ in range(DOUBLINGS):
        each = tuple(bench.measure(choice, knob, number) for number in numbers)
        rungs.append(Rung(knob, each))
        if rmse(each) <= bench.target:
            return Climb(choice, tuple(rungs), True)
        if seconds(each) > HOPELESS * best or over():
            break
        knob *= 2
    return Climb(choice, tuple(rungs), False)


def around(
    bench: Bench, choice: Choice, knob: int, numbers: Sequence[int], most: float = math.inf
) -> list[Rung]:
    """A quarter of a value of the knob, half of it, and so on upwards to where all is accurate, or
    an answer takes more than ``most`` seconds; downwards until it is not, so that the crossing lies
    between two rungs."""
    least = choice.estimator.least
    ladder = sorted({max(least, knob // 4), max(least, knob // 2), knob})
    rungs: list[Rung] = []
    while ladder:
        here = ladder.pop(0)
        rungs.append(Rung(here, tuple(bench.measure(choice, here, n) for n in numbers)))
        if seconds(rungs[-1].each) > most:
            break
        # Twice more than needed, so that every resample of the data sets finds its crossing.
        if not ladder and rmse(rungs[-1].each) > 0.5 * bench.target and here < 16 * knob:
            ladder.append(2 * here)
    while rmse(rungs[0].each) <= bench.target and rungs[0].knob > least:
        here = max(least, rungs[0].knob // 2)
        rungs.insert(0, Rung(here, tuple(bench.measure(choice, here, n) for n in numbers)))
    return rungs


def ratio_interval(
    default: Sequence[Rung],
    tuned: Sequence[Rung],
    target: float,
    confidence: float,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> tuple[float, float]:
    """Percentiles of time over time, data sets and answers drawn anew (the same data sets for
    both)."""
    count, answers = len(default[0].each), len(default[0].each[0].errors)
    tables = [
        (
            np.array([[m.seconds for m in rung.each] for rung in rungs]),
            np.array([[m.errors**2 for m in rung.each] for rung in rungs]),
        )
        for rungs in (default, tuned)
    ]
    ratios = []
    for _ in range(resamples):
        chosen = rng.integers(count, size=count)
        times = []
        for clock, squares in tables:
            drawn = squares[:, chosen[:, None], rng.integers(answers, size=(count, answers))]
            points = zip(
                clock[:, chosen].mean(axis=1),
                np.sqrt(drawn.mean(axis=(1, 2))),
                strict=True,
            )
            times.append(time_to(target, [(float(t), float(e)) for t, e in points]))
        if math.isinf(times[0]):  # not within what was tried
            times[0] = float(tables[0][0][:, chosen].mean(axis=1).max())
        ratios.append(times[0] / times[1] if math.isfinite(times[1]) else 0.0)
    low, high = np.quantile(ratios, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)
