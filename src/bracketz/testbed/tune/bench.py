"""A bench for settings: data sets with sandwiched truths, and errors and seconds upon them."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bracketz.core.model import Model
from bracketz.data.dataset import Data
from bracketz.data.simulate import simulate
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError
from bracketz.estimators.base import Estimator, estimate
from bracketz.inference.sandwich import sandwich

#: An error counts as so many nats at the most: an estimate of -inf is as bad as that.
WORST = 1e3
#: A run of fewer seconds is timed twice.
BRIEF = 0.2
#: Keeps data sets and runs of tuning apart from every other run's randomness.
BENCH = 0x7E57


@dataclass(frozen=True)
class Choice:
    """Settings: an estimator without its knob's value, and how the model moves."""

    estimator: Estimator
    moves: tuple[tuple[str, Any], ...] = ()  # fields of the model

    def at(self, knob: int) -> Estimator:
        """With a value of the knob."""
        return dataclasses.replace(self.estimator, **{self.estimator.knob: knob})

    def on(self, model: Model) -> Model:
        """The model that moves so."""
        return dataclasses.replace(model, **dict(self.moves)) if self.moves else model

    def told(self, model: Model) -> dict[str, Any]:
        """The settings as plain values, without the knob."""
        own = {name: getattr(self.estimator, name) for name in self.estimator.tunable}
        said = own | self.estimator.settings(self.on(model)) | dict(self.moves)
        return {name: value for name, value in said.items() if name != self.estimator.knob}


class Truth(NamedTuple):
    """A data set, and what is known of its log evidence."""

    data: Data
    log_ml: float
    error: float
    gap: float


class Measured(NamedTuple):
    """Answers on one data set, at one value of the knob."""

    errors: np.ndarray  # against the truth, nats; one per answer
    seconds: float  # per answer


@dataclass
class Bench:
    """Data sets by number, drawn and bracketed as they are asked for; what was measured is kept,
    also in the session's checkpoint."""

    model: Model
    rows: int | None
    columns: int | None
    target: float
    trials: int  # of an answer
    repeats: int  # answers per data set and setting
    seed: int
    session: Session

    def __post_init__(self):
        self.truths: dict[int, Truth] = {}

    def seed_of(self, number: int) -> int:
        return int(np.random.default_rng([self.seed, BENCH, number]).integers(1 << 31))

    def truth(self, number: int) -> Truth:
        """Of data set ``number``, by a sandwich whose gap is a quarter of the target."""
        if number not in self.truths:
            own = self.seed_of(number)
            data = simulate(self.model, self.rows, self.columns, own)
            kept = self.session.restore(f"truth {number}")
            if kept is None:
                with self.session.working(f"bracketing data set {number + 1}"):
                    found = sandwich(self.model, data, gap=0.25 * self.target, seed=own)
                numbers = np.array([found.log_ml, found.standard_error, found.gap])
                self.keep(f"truth {number}", numbers)
            else:
                numbers = kept[1][0]
            self.truths[number] = Truth(data, *(float(x) for x in numbers))
        return self.truths[number]

    def keep(self, stream: str, numbers: np.ndarray) -> None:
        """For a resume."""
        if self.session.checkpoint is not None:
            self.session.save(stream, 1, [numbers])

    def measure(self, choice: Choice, knob: int, number: int) -> Measured:
        """Answers of one setting on one data set."""
        truth = self.truth(number)
        told = json.dumps(choice.told(self.model), sort_keys=True, default=str)
        stream = f"{told} {knob} on {number}"
        kept = self.session.restore(stream)
        if kept is None:
            with self.session.working(f"{choice.estimator.knob} {knob:,}: {told}"):
                values, seconds = self._run(choice, knob, truth.data, number)
            numbers = np.append(values, seconds)
            self.keep(stream, numbers)
        else:
            numbers = kept[1][0]
        off = np.clip(np.nan_to_num(numbers[:-1] - truth.log_ml, nan=WORST), -WORST, WORST)
        return Measured(off, float(numbers[-1]))

    def _run(self, choice: Choice, knob: int, data: Data, number: int) -> tuple[Any, float]:
        estimator, count = choice.at(knob), self.trials * self.repeats
        try:
            found = estimate(
                choice.on(self.model), data, estimator, trials=count, seed=self.seed_of(number)
            )
            if found.seconds.run < BRIEF:  # the same once more: the first may have had company
                again = estimate(
                    choice.on(self.model), data, estimator, trials=count, seed=self.seed_of(number)
                )
                found = min(found, again, key=lambda one: one.seconds.run)
        except NumericalError:  # every trial came to nothing
            return np.full(self.repeats, -math.inf), math.inf
        groups = np.array(found.log_ml_trials).reshape(self.repeats, self.trials)
        return (
            np.array([estimator.combined(group)[0] for group in groups]),
            found.seconds.run / self.repeats,
        )


def choices(estimator: Estimator, model: Model, at: Choice) -> list[Choice]:
    """One setting changed, each of them."""
    found = []
    moves = dict(at.moves)
    for name, values in model.tunable.items():
        for value in values:
            if value == moves.get(name, getattr(model, name)):
                continue
            other = dataclasses.replace(at, moves=tuple((moves | {name: value}).items()))
            try:
                other.on(model)
            except InputError:  # not with these sizes
                continue
            found.append(other)
    for name, values in estimator.tunable.items():
        for value in values if at.estimator.matters(name) else ():
            if value != getattr(at.estimator, name):
                found.append(
                    dataclasses.replace(
                        at, estimator=dataclasses.replace(at.estimator, **{name: value})
                    )
                )
    return found
