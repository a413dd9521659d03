"""What an estimator is: knobs as fields, a side, a way to combine trials, and one method."""

import dataclasses
import math
from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.results import (
    Combine,
    Estimate,
    LowerCertificate,
    Seconds,
    Side,
    check_confidence,
)
from bracketz.core.validation import check_seed
from bracketz.data.dataset import Data, as_data
from bracketz.data.identity import model_label
from bracketz.engine.run import Outcome
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError, broken
from bracketz.models.factored import Prepared
from bracketz.models.prepared import has_pilot, prepare
from bracketz.paths.schedules import Schedule

#: Of estimators that begin at the exact sample: E[w] = 1 / p(y) holds over exact samples, and one
#: data set has one. With w = a + b, a of the sample and b of the trial, n trials average b away and
#: leave a, whose variance no number of them can show.
SHARED_START = (
    "all trials begin at one exact sample, and what that contributes does not show in their spread"
)
BEST_OF_SEVERAL = "it is the best of several optima, not an average"
NO_VARIANCE = "its weights may have no variance, and then the spread over trials says nothing"


class Estimator(ABC):
    """A frozen dataclass whose fields are its knobs: a side, a way to combine trials, one method.

    A subclass is a frozen dataclass (``@dataclass(frozen=True)``) that gives ``name``, ``knob``
    (the field that trades accuracy for time), ``combine``, ``side`` and ``run``; everything else
    here has a default. ``bz.estimate(model, data, Mine())`` needs no registration. In bracketz
    itself, a line in ``bracketz/estimators/__init__.py`` makes it known to the command line and the
    kit.

    Example:
        >>> import bracketz as bz
        >>> bz.AIS(distributions=100).settings(bz.Clustering())["distributions"]
        100
    """

    #: Every subclass is a dataclass; said here so that its fields can be asked for.
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    #: What it is called.
    name: ClassVar[str]
    #: The same in full, as in a sentence; lists show ``name`` where there is none.
    full_name: ClassVar[str] = ""
    #: What one trial costs, in words and in terms of the knobs ("distributions - 1 sweeps").
    cost: ClassVar[str] = ""
    #: The field that trades accuracy for time.
    knob: ClassVar[str]
    #: How trials become one value.
    combine: ClassVar[Combine]
    #: Capabilities (abstract classes) a model must have; checked before anything compiles.
    requires: ClassVar[tuple[type, ...]] = ()
    #: Whether it runs on simulated data only.
    needs_exact_sample: ClassVar[bool] = False
    #: The name of the sampler whose exact time reversal this is: the mean gap of such a pair is a
    #: Jeffreys bound.
    reverses: ClassVar[str | None] = None
    #: Why the spread over trials is no error bar of the combined value, as a clause; None: it is.
    no_error_bar: ClassVar[str | None] = None
    #: Trials are independent and their weights average to p(y), on any data: their mean has a
    #: certified lower bound.
    certifies: ClassVar[bool] = False

    #: Values worth trying for knobs other than ``knob``, by name, when settings are tuned.
    tunable: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: The smallest value of ``knob`` that tuning begins at.
    least: ClassVar[int] = 1

    #: Anneals all data at once, so that its path may begin at a fitted reference.
    anneals: ClassVar[bool] = False

    # How the correctness kit judges it on tiny instances whose evidence is known.

    #: Knobs that leave next to nothing to chance there; the defaults where none are given.
    generous: ClassVar[dict[str, Any]] = {}
    #: Whether it tends to log p(y) as its knob grows. What does not is judged by its side alone.
    consistent: ClassVar[bool] = True
    #: What it may be off by without being wrong (nats). None: its values have no error bar, so
    #: Markov's inequality on its own side is all that is held against it.
    allowance: ClassVar[float | None] = 0.01
    #: It moves about one mode, so it is judged where relabelings and mirror images are one.
    one_mode: ClassVar[bool] = False

    @abstractmethod
    def side(self, data: Data) -> Side:
        """What the estimate bounds on these data.

        Args:
            data: the data.

        Returns:
            The side.
        """

    @abstractmethod
    def run(self, model: Model, data: Data, trials: int, seed: int, session: Session) -> Outcome:
        """``trials`` independent values of log p(y).

        Args:
            model: the model, which has the capabilities asked for.
            data: its data.
            trials: how many independent values.
            seed: everything random follows from it.
            session: hand it on to ``bracketz.run_chains``.

        Returns:
            What ``run_chains`` gives back; ``log_values`` are the values.
        """

    @classmethod
    def combined(cls, values: np.ndarray) -> tuple[float, float]:
        """All trials as one value.

        Args:
            values: of the trials, (trials,).

        Returns:
            (the value, its standard error: infinite where ``no_error_bar`` says why).
        """
        value, error = cls.combine(values)
        return value, error if cls.no_error_bar is None else math.inf

    def settings(self, model: Model) -> dict:
        """The knobs as reported, defaults resolved."""
        return dataclasses.asdict(self)

    def matters(self, name: str) -> bool:
        """Whether a knob changes anything beside the others as they are; tuning leaves it alone
        where it does not.

        Args:
            name: of the knob.

        Returns:
            True unless the estimator knows better.
        """
        return True

    def details(self, outcome: Outcome) -> dict:
        """What else is worth reporting, as plain values."""
        return {}

    def along(self, schedule: Schedule) -> "Estimator":
        """The same along the schedule a pilot found, where nobody asked for another.

        Args:
            schedule: inverse temperatures that suit the model and its data.

        Returns:
            Itself, where it has no use for a schedule.
        """
        return self

    def refusal(self, model: type[Model] | Model, simulated: bool) -> str | None:
        """Why this estimator cannot run, as a sentence; None if it can.

        Args:
            model: a model or its class.
            simulated: whether the data come with an exact sample.

        Returns:
            The sentence, or None.
        """
        kind = model if isinstance(model, type) else type(model)
        for capability in self.requires:
            if not issubclass(kind, capability):
                return (
                    f"{self.name} cannot run on {kind.__name__}: it lacks {capability.__name__};"
                    " see docs/extending.md"
                )
        if self.needs_exact_sample and not simulated:
            return (
                f"{self.name} is an upper bound only from an exact posterior sample, which"
                " observed data do not have; use data from bracketz simulate, or a lower bound"
                " such as ais"
            )
        return None


def estimate(
    model: Model,
    data,
    estimator: Estimator | str,
    *,
    trials: int = 25,
    seed: int = 0,
    confidence: float = 0.95,
    session: Session | None = None,
) -> Estimate:
    """Run one estimator: ``trials`` independent values and their combination.

    Args:
        model: the model.
        data: ``Data``, or observations as an array (N, D).
        estimator: which, with its knobs; or its name, with the default ones.
        trials: how many independent values.
        seed: everything random follows from it.
        confidence: of the certified lower bound.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        The combined value with its side and error bar, and every trial. Where the weights average
        to p(y) (ais, smc, lw) a certified lower bound comes with them. Where the spread over
        trials is no error bar (trials that share the exact sample, weights without a variance) it
        is infinite, and ``standard_error_note`` says why.

    Raises:
        InputError: the model lacks what the estimator needs, the data have no exact sample and it
            needs one, time ran out (an unfinished run bounds nothing), or a value is out of range.
        NumericalError: the arithmetic broke, or every trial came to nothing: there is no estimate.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> answer = bz.estimate(model, data, bz.AIS(distributions=9), trials=4)
        >>> answer.side.value, answer.trials
        ('lower', 4)
    """
    data = as_data(data, model)
    check_seed(seed)
    check_confidence(confidence)
    if isinstance(estimator, str):
        from bracketz.estimators.registry import ESTIMATORS

        estimator = ESTIMATORS.find(estimator)()
    if not isinstance(estimator, Estimator):
        raise InputError(f"estimator must be one such as bracketz.AIS(), got {estimator!r}")
    for attribute in ("name", "knob", "combine"):
        if not hasattr(estimator, attribute):
            raise InputError(f"{type(estimator).__name__} needs a class attribute `{attribute}`")
    if refusal := estimator.refusal(model, data.simulated):
        raise InputError(refusal)
    session = session or Session()
    with double_precision():
        reference = None if estimator.anneals else False
        with session.working("pilot") if has_pilot(model, reference) else nullcontext():
            prepared = prepare(
                model,
                data.y,
                seed=seed,
                reference=reference,
                chains=trials,
                note=session.progress.note,
            )
        if data.simulated:
            data = dataclasses.replace(data, exact=prepared.adopt(data.exact))
        if prepared.schedule is not None:
            estimator = estimator.along(prepared.schedule)
        outcome = estimator.run(prepared.model, data, trials, seed, session)
    if not isinstance(outcome, Outcome):
        what = f"{type(estimator).__name__}.run must return what run_chains gives back"
        raise InputError(f"{what}, an Outcome; got {type(outcome).__name__}")
    if not outcome.finished:
        raise InputError(
            f"{estimator.name} did not finish within `max_seconds`, and an unfinished"
            f" {estimator.name} run bounds nothing; allow more time or lower `{estimator.knob}`"
        )
    values, side = outcome.log_values, estimator.side(data)
    log_ml, error = _combined(estimator, values, side)
    certificate = None
    if estimator.certifies and side is Side.LOWER:
        certificate = LowerCertificate.from_weights(values, confidence)
    return Estimate(
        model=model_label(model),
        estimator=estimator.name,
        side=side,
        log_ml=log_ml,
        log_ml_trials=tuple(values.tolist()),
        standard_error=error,
        standard_error_note=estimator.no_error_bar,
        knobs=estimator.settings(model),
        seed=seed,
        seconds=Seconds(outcome.run_seconds, outcome.compile_seconds),
        details=estimator.details(outcome) | _preparation(prepared),
        certificate=certificate,
    )


def _preparation(prepared: Prepared) -> dict:
    said = prepared.told()
    return {} if said is None else {"preparation": said}


def _combined(estimator: Estimator, values: np.ndarray, side: Side) -> tuple[float, float]:
    """(log evidence, standard error), or the reason why there is none."""
    if np.isnan(values).any():
        raise broken(f"{estimator.name} gave a log evidence of nan")
    nothing = {Side.LOWER: -math.inf, Side.UPPER: math.inf}.get(side)
    if np.all(values == nothing):
        raise NumericalError(
            f"every trial of {estimator.name} gave {nothing}, a {side} bound that says nothing;"
            f" raise `{estimator.knob}` or take another estimator"
        )
    log_ml, error = estimator.combined(values)
    if not math.isfinite(log_ml):
        raise broken(f"{estimator.name} gave a log evidence of {log_ml}")
    return log_ml, error
