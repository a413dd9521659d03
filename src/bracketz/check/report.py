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

from bracketz.core.results import finite_json, html_table

#: Probability that a correct model fails anything at all, in one run of the kit at any level.
FAMILY_WISE_RATE = 0.01


class Kind(enum.StrEnum):
    """How a check decides.

    Attributes:
        EXACT: two expressions are equal up to rounding.
        STATISTICAL: a p-value is held against the check's share of ``FAMILY_WISE_RATE``.

    Example:
        >>> import bracketz as bz
        >>> [kind.value for kind in bz.check.Kind]
        ['exact', 'statistical']
    """

    EXACT = "exact"
    STATISTICAL = "statistical"


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check saw.

    Args:
        statistic: an error (exact) or a p-value (statistical).
        detail: what was seen, in a sentence.
        tolerance: for exact checks: the largest error that passes.
        picture: draws what was seen: a function that returns a figure.

    Example:
        >>> import bracketz as bz
        >>> bz.check.Finding(1e-12, "both sides agree.", tolerance=bz.check.TOLERANCE).detail
        'both sides agree.'
    """

    statistic: float
    detail: str
    tolerance: float | None = None
    picture: Callable[[], Any] | None = None


class Discrepancy(NamedTuple):
    """One comparison of an exact check, ready to be printed.

    Args:
        error: how far the two sides are apart.
        sentence: what was compared, with both values. It is shown where the check passes, too.

    Example:
        >>> import bracketz as bz
        >>> bz.check.Discrepancy(0.5, "1.5 is not 1.").error
        0.5
    """

    error: float
    sentence: str


#: Rounding: far above what the checks show, far below what a mistake costs.
TOLERANCE = 1e-7


def worst(cases: list[Discrepancy], why_not: str = "", tolerance: float = TOLERANCE) -> Finding:
    """The largest error among the comparisons of an exact check.

    Args:
        cases: the comparisons; an error that is not finite is the largest.
        why_not: the reason when there was nothing to compare.
        tolerance: the largest error that passes.

    Returns:
        What the check found.

    Raises:
        NotApplicable: there was nothing to compare.

    Example:
        >>> import bracketz as bz
        >>> far, near = (bz.check.Discrepancy(e, f"off by {e}.") for e in (0.5, 0.25))
        >>> bz.check.worst([near, far]).detail
        'off by 0.5.'
    """
    if not cases:
        raise NotApplicable(why_not)
    error, sentence = max(
        cases, key=lambda case: case.error if math.isfinite(case.error) else math.inf
    )
    return Finding(error if math.isfinite(error) else math.inf, sentence, tolerance)


class NotApplicable(Exception):
    """Raised by a check that finds nothing to look at in this model; the sentence says why.

    It is no pass: the report counts such checks apart and gives the sentence. A check that cannot
    look because of what the model does wrong must fail instead: a likelihood that does not depend
    on a data point is not integrated over it, and that is a finding.

    Example:
        >>> import bracketz as bz
        >>> def look(subject):
        ...     raise bz.check.NotApplicable("this model has no such thing")
        >>> mine = bz.check.Check("mine.thing", bz.check.Kind.EXACT, "a wrong thing", look)
        >>> bz.check.run(bz.Clustering(), only="mine", more=[mine]).results[0].passed is None
        True
    """


@dataclasses.dataclass(frozen=True)
class Check:
    """One check of a model.

    Args:
        name: family.what.
        kind: exact or statistical.
        bug: which kind of mistake makes it fail.
        look: ``Subject`` -> ``Finding``; raises ``NotApplicable`` where there is nothing to look
            at.
        thorough: left out at level quick.

    Example:
        >>> import bracketz as bz
        >>> def look(subject):
        ...     return bz.check.Finding(0.0, "nothing is wrong.", tolerance=1e-9)
        >>> mine = bz.check.Check("mine.nothing", bz.check.Kind.EXACT, "none", look)
        >>> bz.check.run(bz.Clustering(), only="mine", more=[mine]).passed
        True
    """

    name: str
    kind: Kind
    bug: str
    look: Callable[[Any], Finding]
    thorough: bool = False  # left out at level quick

    @property
    def family(self) -> str:
        """The part of its name before the dot."""
        return self.name.partition(".")[0]


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """A check's verdict.

    Attributes:
        name: of the check.
        kind: exact or statistical.
        passed: None when the check did not apply.
        statistic: an error (exact) or a p-value (statistical).
        threshold: what it was held against.
        detail: what was seen, in a sentence.
        bug: which kind of mistake makes it fail.
        seconds: it took.
        picture: draws what was seen, where there is something to draw.

    Example:
        >>> import bracketz as bz
        >>> (result,) = bz.check.run(bz.Clustering(), only="densities.powers").results
        >>> result.passed and result.statistic <= result.threshold
        True
    """

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
        """One entry of ``check --json``."""
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
    """Every verdict of a run, in order.

    The checks after the first failure are missing unless all were asked for. ``passed`` says that
    nothing failed, not that everything was looked at: ``unchecked`` has the checks that could not
    be made, each with its reason, and ``print`` shows them.

    Attributes:
        model: its name.
        level: how much the statistical checks drew.
        seed: everything random followed from it.
        results: a verdict per check.
        planned: how many checks there would be without a failure.
        false_alarm_rate: at most the probability that a correct model fails anything.

    Example:
        >>> import bracketz as bz
        >>> print(bz.check.run(bz.Clustering(), level="quick", only="densities.powers"))
        clustering passes 1 check (quick)
    """

    model: str
    level: str
    seed: int
    results: tuple[CheckResult, ...]
    planned: int
    false_alarm_rate: float = FAMILY_WISE_RATE

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The verdicts that failed."""
        return tuple(r for r in self.results if r.passed is False)

    @property
    def unchecked(self) -> tuple[CheckResult, ...]:
        """The checks that could not be made; ``detail`` says why."""
        return tuple(r for r in self.results if r.passed is None)

    @property
    def passed(self) -> bool:
        """Whether none failed."""
        return not self.failures

    @property
    def tally(self) -> str:
        """How many passed, failed and could not be made, the last with their reasons."""
        reasons: dict[str, list[str]] = {}
        for r in self.unchecked:
            reasons.setdefault(r.detail, []).append(r.name)
        said = "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())
        passed = len(self.results) - len(self.failures) - len(self.unchecked)
        counts = f"passed: {passed}, failed: {len(self.failures)}"
        rest = f" ({said})" if said else ""
        return f"{counts}, could not be checked: {len(self.unchecked)}{rest}"

    def __str__(self) -> str:
        lines = [f"{r.name}: {r.detail} Usual cause: {r.bug}" for r in self.failures]
        if self.passed:
            applied = len(self.results) - len(self.unchecked)
            number = f"{applied} check{'s' * (applied != 1)}"
            lines = [f"{self.model} passes {number} ({self.level})"]
        if self.unchecked:
            lines.append(self.tally)
        return "\n".join(lines)

    def plot(self) -> list:
        """Draw what was seen by every check that has a picture.

        Returns:
            Their figures, in the order of the checks.

        Example:
            >>> import bracketz as bz
            >>> bz.check.run(bz.Clustering(), only="densities.powers").plot()
            []
        """
        return [r.picture() for r in self.results if r.picture is not None]

    def _repr_html_(self) -> str:
        words = {None: "could not be checked", True: "passed", False: "FAILED"}
        rows = [(r.name, f"{words[r.passed]}: {r.detail}") for r in self.results]
        verdict = "passes" if self.passed else "fails"
        return html_table(f"{self.model} {verdict} ({self.level})", rows)

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
                "unchecked": {r.name: r.detail for r in self.unchecked},
                "checks": [r.to_json() for r in self.results],
            }
        )
