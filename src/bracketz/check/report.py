"""What a check is, what it finds, and how many false alarms all of them together may raise.

Exact checks compare two expressions that are equal in exact arithmetic; they pass or fail by
rounding error alone. Statistical checks give a p-value. With m of them in a run, each is held
against alpha / m (Bonferroni), so a correct model raises a false alarm with probability at most
alpha = 1 % in the whole run.
"""

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from bracketz.core.results import finite_json

#: Probability that a correct model fails anything at all, in one run of the kit at any level.
FAMILY_WISE_RATE = 0.01


class Kind(enum.StrEnum):
    EXACT = "exact"
    STATISTICAL = "statistical"


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check saw. ``statistic`` is an error (exact) or a p-value (statistical).

    ``tolerance`` is for exact checks. ``picture`` draws what was seen: a function that returns a
    figure.
    """

    statistic: float
    detail: str
    tolerance: float | None = None
    picture: Callable[[], Any] | None = None


class Discrepancy(NamedTuple):
    """One comparison of an exact check, ready to be printed."""

    error: float
    sentence: str


#: Rounding: far above what the checks show, far below what a mistake costs.
TOLERANCE = 1e-7


def worst(cases: list[Discrepancy], why_not: str = "", tolerance: float = TOLERANCE) -> Finding:
    """The largest error; ``why_not`` is the reason when there was nothing to compare."""
    if not cases:
        raise NotApplicable(why_not)
    error, sentence = max(
        cases, key=lambda case: case.error if math.isfinite(case.error) else math.inf
    )
    return Finding(error if math.isfinite(error) else math.inf, sentence, tolerance)


class NotApplicable(Exception):
    """Raised by a check that finds nothing to look at in this model; the sentence says why."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One check: its name is family.what; ``bug`` says which kind of mistake makes it fail."""

    name: str
    kind: Kind
    bug: str
    look: Callable[[Any], Finding]
    thorough: bool = False  # left out at level quick

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """A check's verdict. ``passed`` is None when it did not apply."""

    name: str
    kind: Kind
    passed: bool | None
    statistic: float
    threshold: float
    detail: str
    bug: str
    seconds: float
    picture: Callable[[], Any] | None = None

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "passed": self.passed is not False,
            "applied": self.passed is not None,
            "kind": str(self.kind),
            "statistic": self.statistic,
            "threshold": self.threshold,
            "detail": self.detail,
            "suspect": self.bug if self.passed is False else None,
            "seconds": self.seconds,
        }


@dataclasses.dataclass(frozen=True)
class Report:
    """Every verdict of a run, in order; the checks after the first failure are missing unless all
    were asked for."""

    model: str
    level: str
    seed: int
    results: tuple[CheckResult, ...]
    planned: int
    false_alarm_rate: float = FAMILY_WISE_RATE

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        return tuple(r for r in self.results if r.passed is False)

    @property
    def passed(self) -> bool:
        return not self.failures

    def __str__(self) -> str:
        if self.passed:
            return f"{self.model} passes all checks ({self.level})"
        return "\n".join(f"{r.name}: {r.detail} Usual cause: {r.bug}" for r in self.failures)

    def to_json(self) -> dict:
        """The object of ``check --json``."""
        return finite_json(
            {
                "model": self.model,
                "passed": self.passed,
                "level": self.level,
                "seed": self.seed,
                "false_alarm_rate": self.false_alarm_rate,
                "planned": self.planned,
                "checks": [r.to_json() for r in self.results],
            }
        )
