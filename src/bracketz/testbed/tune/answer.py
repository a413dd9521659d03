"""What ``tune`` answers: settings, and what they gain on data that had no part in choosing them."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from bracketz._version import __version__
from bracketz.core.results import finite_json, html_table
from bracketz.wording import percent


@dataclass(frozen=True)
class Tried:
    """One setting on the tuning data: seconds to the target; infinite where it was given up."""

    settings: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Gain:
    """Default time over tuned time, on fresh data sets; the interval is a bootstrap's over data
    sets and answers: an estimate, no certificate. ``at_least``: the default settings did not reach
    the target in the longest time they were given, which stands for theirs."""

    ratio: float
    confidence: float
    low: float
    high: float
    at_least: bool = False


@dataclass(frozen=True)
class TunedSettings:
    """Settings that reach an accuracy soonest, and what they gain.

    Attributes:
        model: name of the model.
        estimator: name of the estimator.
        target: root mean squared error to reach (nats).
        settings: the best ones found, the knob included.
        default: the default ones, with the value of the knob that reaches the target.
        seconds_to_target: per answer, on fresh data: "tuned" and "default"; infinite where the
            target was not reached.
        gain: default time over tuned time; None where the tuned settings did not reach the target.
        tried: every setting looked at, on the tuning data, in order.
        exhausted: nothing was left to try within the budget: no single change helps any more.
        truths: data sets bracketed, and the largest standard error among them.
        datasets, fresh: data sets that chose, and others that judged.
        trials, repeats: of an answer; answers per data set and setting.
        budget: seconds for choosing.
        spent: seconds it took, judging included.
        seed: everything random followed from it; seconds do not.
        converged: the target was reached on fresh data, by the tuned settings.
        reason: why not, in a sentence, if not.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.tune(model, "lw", 4, 2, budget=1, datasets=1, fresh=2, repeats=4)
        >>> answer.settings == answer.default  # likelihood weighting has a knob and nothing else
        True
    """

    model: str
    estimator: str
    target: float
    settings: dict[str, Any]
    default: dict[str, Any]
    seconds_to_target: dict[str, float]
    gain: Gain | None
    tried: tuple[Tried, ...]
    exhausted: bool
    truths: dict[str, float]
    datasets: int
    fresh: int
    trials: int
    repeats: int
    budget: float
    spent: float
    seed: int
    converged: bool
    reason: str | None
    version: str = __version__

    def to_json(self) -> dict:
        """The object of ``tune --json``."""
        return finite_json(dataclasses.asdict(self))

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        times, g = self.seconds_to_target, self.gain
        gain = "unknown: the target was not reached"
        if self.settings == self.default and g is not None:
            gain = "none: the default settings are the best found"
        elif g is not None:
            gain = "at least " * g.at_least + (
                f"{g.ratio:.2f} times, {percent(g.confidence)} interval [{g.low:.2f}, {g.high:.2f}]"
                " (bootstrap)"
            )
        return [
            ("settings", _words(self.settings)),
            ("default", _words(self.default)),
            (
                f"time to {self.target:g} nats",
                f"{_time(times['tuned'])} per answer, default {_time(times['default'])}",
            ),
            ("gain on fresh data", gain),
            (
                "data sets",
                f"{self.datasets} to choose by, {self.fresh} fresh ones; truths known to"
                f" ± {self.truths['largest_error']:.2g}",
            ),
            ("answers", f"{self.repeats} of {self.trials} trials per data set and setting"),
            (
                "tried",
                f"{len(self.tried)} settings"
                + ("; no single change is better" if self.exhausted else "; time was up"),
            ),
            ("time", f"{self.spent:.0f} s; for choosing at most {self.budget:g} s"),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"settings of {self.estimator} on {self.model}", self.rows())


def _time(value: float) -> str:
    return f"{value:.3g} s" if math.isfinite(value) else "not within what was tried"


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
