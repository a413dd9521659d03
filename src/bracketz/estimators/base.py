"""What an estimator is: knobs as fields, a side, a way to combine trials, and one method."""

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar

from bracketz.answer import Combine, Estimate, Seconds, Side
from bracketz.errors import InputError
from bracketz.loop import Outcome
from bracketz.models.base import Model
from bracketz.session import Session
from bracketz.simulation import Data, as_data, check_seed, model_label


class Estimator(ABC):
    """A frozen dataclass whose fields are its knobs.

    ``knob`` names the field that trades accuracy for time. ``requires`` lists the capabilities
    (abstract classes) a model must have; they are checked before anything compiles.
    """

    name: ClassVar[str]
    knob: ClassVar[str]
    combine: ClassVar[Combine]
    requires: ClassVar[tuple[type, ...]] = ()
    needs_exact_sample: ClassVar[bool] = False

    @abstractmethod
    def side(self, data: Data) -> Side:
        """What the estimate bounds on these data."""

    @abstractmethod
    def run(self, model: Model, data: Data, trials: int, seed: int, session: Session) -> Outcome:
        """``trials`` independent values of log p(y)."""

    def settings(self, model: Model) -> dict:
        """The knobs as reported, defaults resolved."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    def details(self, outcome: Outcome) -> dict:
        """What else is worth reporting, as plain values."""
        return {}

    def refusal(self, model: type[Model] | Model, simulated: bool) -> str | None:
        """Why this estimator cannot run, as a sentence; None if it can."""
        kind = model if isinstance(model, type) else type(model)
        for capability in self.requires:
            if not issubclass(kind, capability):
                return (
                    f"{self.name} cannot run on {kind.__name__}: it lacks {capability.__name__};"
                    " see docs/adding-a-model.md"
                )
        if self.needs_exact_sample and not simulated:
            return (
                f"{self.name} is an upper bound only from an exact posterior sample, which observed data"
                " do not have; use data from bracketz simulate, or a lower bound such as ais"
            )
        return None


def require_at_least(minimum: int, **knobs) -> None:
    for name, value in knobs.items():
        if value < minimum:
            raise InputError(f"{name.replace('_', '-')} must be at least {minimum}, got {value}")


def estimate(
    model: Model,
    data,
    estimator: Estimator,
    *,
    trials: int = 25,
    seed: int = 0,
    session: Session | None = None,
) -> Estimate:
    """Run one estimator: ``trials`` independent values and their combination."""
    data = as_data(data, model)
    check_seed(seed)
    if refusal := estimator.refusal(model, data.simulated):
        raise InputError(refusal)
    outcome = estimator.run(model, data, trials, seed, session or Session())
    if not outcome.finished:
        raise InputError(
            f"{estimator.name} did not finish within max-seconds, and an unfinished {estimator.name} run bounds"
            f" nothing; allow more time or lower --{estimator.knob}"
        )
    log_ml, error = estimator.combine(outcome.log_values)
    return Estimate(
        model=model_label(model),
        estimator=estimator.name,
        side=estimator.side(data),
        log_ml=log_ml,
        log_ml_trials=tuple(outcome.log_values.tolist()),
        standard_error=error,
        knobs=estimator.settings(model),
        seed=seed,
        seconds=Seconds(outcome.run_seconds, outcome.compile_seconds),
        details=estimator.details(outcome),
    )
