"""Runs the checks in order and holds the p-values against one family-wise rate."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence

from bracketz.check import (
    agreement,
    bounds,
    caches,
    conditionals,
    densities,
    engine,
    evidence,
    geweke,
    transitions,
    variational,
)
from bracketz.check import factored as of_factored
from bracketz.check.report import (
    FAMILY_WISE_RATE,
    Check,
    CheckResult,
    Finding,
    Kind,
    NotApplicable,
    Report,
)
from bracketz.check.subject import LEVELS, Subject
from bracketz.core.model import Model, Shape
from bracketz.core.precision import double_precision
from bracketz.core.validation import check_seed, require_model
from bracketz.data.identity import model_label
from bracketz.engine.devices import use_all_cores
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError, unknown
from bracketz.models.factored import Factored

LEVEL_NAMES = tuple(LEVELS)
#: The order of the paper's appendix: exact and cheap first, then distributions, then estimates.
FAMILIES = (
    conditionals,
    transitions,
    caches,
    densities,
    variational,
    engine,
    geweke,
    evidence,
    bounds,
    agreement,
)


def in_order(families: Iterable) -> tuple[Check, ...]:
    """The checks of some families, exact ones first."""
    every = [check for family in families for check in family.CHECKS]
    return tuple(sorted(every, key=lambda check: check.kind is not Kind.EXACT))


CHECKS = in_order(FAMILIES)


def checks_of(model: Model) -> tuple[Check, ...]:
    """The checks a model gets: those of a prior and a likelihood, or all others. Each set shares
    ``FAMILY_WISE_RATE`` among its own p-values."""
    return of_factored.CHECKS if isinstance(model, Factored) else CHECKS


def planned(
    level: str = "standard", only: str | None = None, checks: Sequence[Check] = CHECKS
) -> tuple[Check, ...]:
    """The checks of a run, in order.

    Args:
        level: "quick" leaves out the thorough ones, unless ``only`` asks for them.
        only: a family (conditionals) or one check (conditionals.ratios).
        checks: to choose from.

    Returns:
        The chosen checks.

    Raises:
        InputError: there is no such check.

    Example:
        >>> import bracketz as bz
        >>> [check.name for check in bz.check.planned(only="caches")]
        ['caches.walk', 'caches.constrained']
    """
    if only is None:
        return tuple(check for check in checks if not (check.thorough and level == "quick"))
    chosen = tuple(check for check in checks if only in (check.name, check.family))
    if not chosen:
        names = {check.family for check in checks} | {check.name for check in checks}
        raise unknown("check", only, sorted(names))
    return chosen


def cases(model: Model, **options) -> Iterator[tuple[str, "Case"]]:
    """One parameter for pytest per check.

    Args:
        model: the model to check.
        **options: as in ``run``.

    Returns:
        Pairs of a check's name and a function that raises AssertionError if it fails.

    Example:
        >>> import bracketz as bz
        >>> cases = dict(bz.check.cases(bz.Clustering(), level="quick", only="densities.powers"))
        >>> cases["densities.powers"]()
    """
    chosen = planned(options.get("level", "standard"), options.pop("only", None), checks_of(model))
    for check in (*chosen, *options.get("more", ())):
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
    more: Sequence[Check] = (),
    session: Session | None = None,
) -> Report:
    """Check ``model``; stop at the first failure unless ``keep_going``.

    Args:
        model: the model to check.
        level: "quick", "standard" or "deep": how much the statistical checks draw.
        seed: everything random follows from it.
        shape: (rows, columns) of the data the model is checked with where it offers no tiny
            instance.
        only: a family or one check. It does not change a check's threshold, so that its verdict is
            the one of the whole run.
        keep_going: go on after a failure.
        more: checks of your own, run after the others of their kind; a run that stops at an
            earlier failure does not reach them (``keep_going`` or ``only`` does).
        session: who watches the progress.

    Returns:
        Every verdict. A correct model fails anything with probability at most ``FAMILY_WISE_RATE``,
        whatever the level.

    Raises:
        InputError: an unknown level or check, or a shape the model cannot describe.

    Example:
        >>> import bracketz as bz
        >>> bz.check.run(bz.Clustering(), only="densities.powers").passed
        True
    """
    require_model(model)
    if isinstance(more, Check):
        raise InputError("`more` takes several checks: write more=(check,)")
    if isinstance(model, Factored):
        subject: Subject = _bench(model, shape, level, seed)
    else:
        subject = Subject(model, _shape(model, shape), level, seed)
    return verdicts(
        model_label(model),
        (*checks_of(model), *more),
        subject,
        only=only,
        keep_going=keep_going,
        session=session,
    )


def _bench(model: Factored, shape: Shape | None, level: str, seed: int) -> Subject:
    """A model that knows the size of its data on the bench."""
    if shape is not None and tuple(shape) != tuple(model.default_shape):
        raise InputError(f"{model.label} knows the size of its data: leave `shape` out")
    try:
        with double_precision():
            size = model.data_shape(model.data_shapes)
    except InputError:
        size = (1,)  # no simulator: the checks that need one say so
    return of_factored.Bench(model, size, level, seed)


def _shape(model: Model, shape: Shape | None) -> Shape:
    shape = shape or model.default_shape
    if min(shape) < 1:
        raise InputError(
            f"the data need at least one row and one column, got {shape[0]} x {shape[1]}"
        )
    model.check_shape(shape)
    return shape


def verdicts(
    who: str,
    checks: Sequence[Check],
    subject: Subject,
    *,
    only: str | None,
    keep_going: bool,
    session: Session | None,
) -> Report:
    """Run some checks on a subject; p-values share ``FAMILY_WISE_RATE`` among all of ``checks``."""
    if subject.level not in LEVELS:
        raise unknown("level", subject.level, LEVELS)
    check_seed(subject.seed)
    session = session or Session()
    use_all_cores()
    chosen = planned(subject.level, only, checks)
    statistical = sum(check.kind is Kind.STATISTICAL for check in checks)
    share = FAMILY_WISE_RATE / max(statistical, 1)
    results: list[CheckResult] = []
    with double_precision(), session.task(f"check {subject.level}", len(chosen), 0) as report:
        for number, check in enumerate(chosen, start=1):
            with session.working(check.name):
                results.append(_verdict(check, subject, share))
            report(number, math.nan)
            if results[-1].passed is False and not keep_going:
                break
    return Report(who, subject.level, subject.seed, tuple(results), len(chosen))


def _verdict(check: Check, subject: Subject, share: float) -> CheckResult:
    began = time.perf_counter()
    finding: Finding | None
    try:
        finding = check.look(subject)
        detail = finding.detail
    except NotApplicable as reason:
        finding, detail = None, str(reason)
    except NumericalError as error:
        # As bad as a finding can be.
        detail = str(error)
        finding = Finding(0.0 if check.kind is Kind.STATISTICAL else math.inf, detail)
    seconds = time.perf_counter() - began
    if finding is None:
        nothing = float("nan")
        return CheckResult(
            check.name, check.kind, None, nothing, nothing, detail, check.bug, seconds
        )
    if check.kind is Kind.STATISTICAL:
        threshold = share
        passed = finding.statistic >= threshold
    else:
        threshold = finding.tolerance or 0.0
        passed = finding.statistic <= threshold
    return CheckResult(
        check.name,
        check.kind,
        bool(passed),
        float(finding.statistic),
        threshold,
        detail,
        check.bug,
        seconds,
        finding.picture,
    )
