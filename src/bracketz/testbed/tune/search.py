"""One setting at a time, by time to an accuracy on data whose evidence is known.

Simulated data have a log evidence known from both sides, so an estimator's error is a number, and
settings can be chosen by it (the paper's Discussion). What is compared is the time until the root
mean squared error of an answer is the target: the knob that trades time for accuracy doubles until
it is, and the crossing is interpolated. So settings that cost more per step and those that need
more steps are on one scale.

Settings are few and discrete, and each costs a compilation, so the search is coordinate descent:
from the defaults, every value of every setting is tried alone, the best change is kept, and so on
until none helps or the budget is spent. A setting is given up as soon as one answer takes half as
long again as the best setting needs in all. (Model-based search, as Optuna has it, earns its keep
in larger spaces.)

The best of many by a noisy measure looks better than it is. So the gain that is reported comes from
fresh data sets, drawn after the choice, on which the default and the tuned settings are measured
alike.
"""

import math
import time
from typing import Any

import numpy as np

from bracketz.core.model import Model
from bracketz.core.results import check_confidence
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least, require_model
from bracketz.data.identity import model_label
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.estimators.base import Estimator
from bracketz.estimators.registry import ESTIMATORS
from bracketz.testbed.tune.answer import Gain, Tried, TunedSettings
from bracketz.testbed.tune.bench import Bench, Choice, choices
from bracketz.testbed.tune.climb import (
    FOLLOWED,
    Climb,
    around,
    climb,
    ratio_interval,
    seconds,
    time_of,
)

#: A change must save this share of the time to be kept: less is noise.
WORTHWHILE = 0.1


def tune(
    model: Model,
    estimator: Estimator | str,
    rows: int | None = None,
    columns: int | None = None,
    *,
    budget: float = 300.0,
    target: float = 1.0,
    datasets: int = 3,
    fresh: int = 8,
    trials: int = 1,
    repeats: int = 16,
    confidence: float = 0.95,
    seed: int = 0,
    session: Session | None = None,
) -> TunedSettings:
    """Choose an estimator's settings by ground truth, and say what they gain on fresh data.

    Args:
        model: any that simulates; fields of it that only change how chains move are tried too.
        estimator: where to begin, with its settings; or its name.
        rows, columns: size of the data; the model's own by default.
        budget: seconds for choosing, compilation included; judging comes on top.
        target: root mean squared error of an answer to reach (nats).
        datasets: data sets to choose by.
        fresh: other data sets to judge by.
        trials: of an answer; with more than one they are combined as ``estimate`` does.
        repeats: answers per data set and setting.
        confidence: of the gain's interval.
        seed: everything random follows from it; seconds do not.
        session: checkpoint and progress; none of them by default.

    Returns:
        The settings and their gain.

    Raises:
        InputError: an undirected model, an estimator that does not run on the model, or a value out
            of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.tune(model, "lw", 4, 2, budget=1, datasets=1, fresh=2, repeats=4)
        >>> answer.estimator, answer.fresh
        ('lw', 2)
    """
    require_model(model)
    check_seed(seed)
    check_confidence(confidence)
    require_at_least(1, datasets=datasets, trials=trials)
    require_at_least(2, fresh=fresh, repeats=repeats)
    for name, value in (("budget", budget), ("target", target)):
        if not value > 0:
            raise InputError(f"{name} must be positive, got {value}")
    if isinstance(estimator, str):
        estimator = ESTIMATORS.find(estimator)()
    if isinstance(model, Undirected):
        raise InputError("an undirected model simulates no data to tune by")
    if refusal := estimator.refusal(model, simulated=True):
        raise InputError(refusal)
    session, began = session or Session(), time.monotonic()
    bench = Bench(model, rows, columns, target, trials, repeats, seed, session)

    def used() -> float:
        return time.monotonic() - began

    def over() -> bool:
        return used() > budget

    numbers = range(datasets)
    default = climb(bench, Choice(estimator), numbers, lambda: used() > 0.5 * budget)
    best, tried, exhausted = _search(bench, default, numbers, over)
    # Judged on data sets that chose nothing.
    others = range(datasets, datasets + fresh)
    tuned = around(bench, best.choice, best.rungs[-1].knob, others)
    times = {"tuned": time_of(tuned, target)}
    usual, gain = tuned, None
    if best.choice != default.choice:
        most = FOLLOWED * times["tuned"]
        usual = around(bench, default.choice, default.rungs[-1].knob, others, most)
    times["default"] = time_of(usual, target)
    if math.isfinite(times["tuned"]):
        gain = Gain(1.0, confidence, 1.0, 1.0)
        if usual is not tuned:
            rng = np.random.default_rng([seed, len(tried)])
            low, high = ratio_interval(usual, tuned, target, confidence, rng)
            never = math.isinf(times["default"])
            longest = max(seconds(rung.each) for rung in usual)
            ratio = (longest if never else times["default"]) / times["tuned"]
            gain = Gain(ratio, confidence, low, high, at_least=never)
    reached = math.isfinite(times["tuned"])
    return TunedSettings(
        model=model_label(model),
        estimator=estimator.name,
        target=target,
        settings=_told(best, model),
        default=_told(default, model),
        seconds_to_target=times,
        gain=gain,
        tried=tuple(tried),
        exhausted=exhausted,
        truths={
            "count": len(bench.truths),
            "largest_error": max(truth.error for truth in bench.truths.values()),
            "largest_gap": max(truth.gap for truth in bench.truths.values()),
        },
        datasets=datasets,
        fresh=fresh,
        trials=trials,
        repeats=repeats,
        budget=budget,
        spent=used(),
        seed=seed,
        converged=reached,
        reason=None
        if reached
        else f"no setting reached {target:g} nats on fresh data within {best.rungs[-1].knob:,}"
        f" {estimator.knob} and sixteen times as many",
    )


def _search(bench: Bench, default: Climb, numbers, over) -> tuple[Climb, list[Tried], bool]:
    """Coordinate descent; (the best, everything tried, whether nothing was left to try)."""
    target, model = bench.target, bench.model
    best, time_best = default, time_of(default.rungs, target)
    tried = [Tried(default.choice.told(model), time_best)]
    seen = {str(default.choice.told(model))}
    with bench.session.task("settings", None, 1) as report:
        while True:
            found: list[tuple[float, Climb]] = []
            for choice in choices(best.choice.estimator, model, best.choice):
                told = choice.told(model)
                if str(told) in seen:
                    continue
                if over():
                    return _better(best, time_best, found)[0], tried, False
                seen.add(str(told))
                leader = min([time_best, *(t for t, _ in found)])
                one = climb(bench, choice, numbers, over, leader)
                needed = time_of(one.rungs, target)
                tried.append(Tried(told, needed))
                report(len(tried), min(leader, needed))
                bench.session.progress.note(
                    f"{_changed(told, best.choice.told(model))}: "
                    + (f"{needed:.3g} s" if one.reached else "given up")
                    + f", best so far {leader:.3g} s to {target:g} nats"
                )
                found.append((needed, one))
            following, time_new = _better(best, time_best, found)
            if following is best:
                return best, tried, True
            best, time_best = following, time_new


def _better(best: Climb, time_best: float, found) -> tuple[Climb, float]:
    """The best change, if it is worth it."""
    if found:
        needed, one = min(found, key=lambda pair: pair[0])
        if needed < (1 - WORTHWHILE) * time_best:
            return one, needed
    return best, time_best


def _changed(told: dict[str, Any], before: dict[str, Any]) -> str:
    changed = [f"{k} {v}" for k, v in told.items() if before.get(k) != v]
    return ", ".join(changed) or "the same"


def _told(one: Climb, model: Model) -> dict[str, Any]:
    knob = {one.choice.estimator.knob: one.rungs[-1].knob}
    return knob | one.choice.told(model)
