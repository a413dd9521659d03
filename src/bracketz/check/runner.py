"""Runs the checks in order and holds the p-values against one family-wise rate."""

import math
import time
from collections.abc import Iterator

from bracketz.check import (
    agreement,
    bounds,
    caches,
    conditionals,
    densities,
    engine,
    estimator_probes,
    evidence,
    geweke,
    probes,
    transitions,
    variational,
)  # fmt: skip
from bracketz.check.outcome import FAMILY_WISE_RATE, Check, Finding, Kind, NotApplicable, Report, Result
from bracketz.check.subject import LEVELS, Subject
from bracketz.errors import InputError, unknown
from bracketz.models.base import Model, Shape
from bracketz.runtime import double_precision, use_all_cores
from bracketz.session import Session
from bracketz.simulation import check_seed, model_label

LEVEL_NAMES = tuple(LEVELS)
#: The order of the paper's appendix: exact and cheap first, then distributions, then estimates.
FAMILIES = (
    conditionals,
    transitions,
    caches,
    densities,
    variational,
    probes,
    estimator_probes,
    engine,
    geweke,
    evidence,
    bounds,
    agreement,
)
ALL = tuple(check for family in FAMILIES for check in family.CHECKS)
ORDERED = tuple(sorted(ALL, key=lambda check: check.kind is not Kind.EXACT))


def planned(level: str = "standard", only: str | None = None) -> tuple[Check, ...]:
    """The checks of a run, in order. ``only`` names a family (conditionals) or one check (conditionals.ratios)."""
    if only is None:
        return tuple(check for check in ORDERED if not (check.thorough and level == "quick"))
    chosen = tuple(check for check in ORDERED if only in (check.name, check.family))
    if not chosen:
        names = {check.family for check in ORDERED} | {check.name for check in ORDERED}
        raise unknown("check", only, sorted(names))
    return chosen


def cases(model: Model, **options) -> Iterator[tuple[str, "Case"]]:
    """(name, function that raises AssertionError) for each check: parameters for pytest."""
    for check in planned(options.get("level", "standard"), options.pop("only", None)):
        yield check.name, Case(model, check, options)


class Case:
    """One check, to be called by a test."""

    def __init__(self, model: Model, check: Check, options: dict):
        self.model, self.check, self.options = model, check, options

    def __call__(self) -> None:
        report = run(self.model, only=self.check.name, **self.options)
        assert report.passed, str(report)


def run(
    model: Model,
    *,
    level: str = "standard",
    seed: int = 0,
    shape: Shape | None = None,
    only: str | None = None,
    keep_going: bool = False,
    session: Session | None = None,
) -> Report:
    """Check ``model``; stop at the first failure unless ``keep_going``.

    ``shape`` is the (rows, columns) of data the model is checked with where it offers no tiny instance. A correct
    model fails anything with probability at most ``FAMILY_WISE_RATE``, whatever the level; ``only`` does not change
    a check's threshold, so that its verdict is the one of the whole run.
    """
    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    check_seed(seed)
    shape = shape or model.default_shape
    if min(shape) < 1:
        raise InputError(f"the data need at least one row and one column, got {shape[0]} x {shape[1]}")
    model.check_shape(shape)
    session = session or Session()
    use_all_cores()
    subject = Subject(model, shape, level, seed)
    checks = planned(level, only)
    share = FAMILY_WISE_RATE / sum(check.kind is Kind.STATISTICAL for check in ORDERED)
    results: list[Result] = []
    with double_precision(), session.task(f"check {level}", len(checks), 0) as report:
        for number, check in enumerate(checks, start=1):
            results.append(_verdict(check, subject, share))
            report(number, math.nan)
            if results[-1].passed is False and not keep_going:
                break
    return Report(model_label(model), level, seed, tuple(results), len(checks))


def _verdict(check: Check, subject: Subject, share: float) -> Result:
    began = time.perf_counter()
    try:
        finding: Finding | None = check.look(subject)
        detail = finding.detail  # type: ignore[union-attr]
    except NotApplicable as reason:
        finding, detail = None, str(reason)
    seconds = time.perf_counter() - began
    if finding is None:
        return Result(check.name, check.kind, None, float("nan"), float("nan"), detail, check.bug, seconds)
    if check.kind is Kind.STATISTICAL:
        threshold = share
        passed = finding.statistic >= threshold
    else:
        threshold = finding.tolerance or 0.0
        passed = finding.statistic <= threshold
    return Result(
        check.name, check.kind, bool(passed), float(finding.statistic), threshold, detail, check.bug, seconds,
        finding.picture,
    )  # fmt: skip
