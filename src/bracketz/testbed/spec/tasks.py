"""From a spec to tasks. A task is identified by a hash of everything that determines its values."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from bracketz._version import __version__
from bracketz.data.identity import identity
from bracketz.testbed.spec.construct import estimator_from_spec, model_from_spec
from bracketz.testbed.spec.cross import FittedModel
from bracketz.testbed.spec.experiment import Problem, Spec

TRUTH, CURVE, LATENCY, CROSS = "truth", "curve", "latency", "cross"
#: Stands for the version in a task's randomness: the one that first drew these numbers. Another
#: word here gives every experiment other numbers, and belongs into the changelog.
RANDOMNESS = "0.1.0"


@dataclass(frozen=True)
class Task:
    """``trials`` independent values of one estimator at one rung on one data set.

    ``id`` hashes every field, with the version of bracketz; results do not depend on anything else
    (devices and number of workers included), so equal ids mean equal bits on one kind of machine.
    """

    model: str
    hyperparameters: dict[
        str, Any
    ]  # all of them, defaults resolved; arrays by the hash of their bytes
    rows: int
    columns: int
    data_seed: int
    estimator: str
    knob: str
    rung: int
    knobs: dict[str, Any]  # as given in the spec; the estimator's defaults fill the rest
    settings: dict[str, Any]  # all of them, defaults resolved
    trials: int
    seed: int
    #: Model and hyperparameters that made the data, where another model sees them as observed;
    #: None: its own data.
    made_by: dict[str, Any] | None = None

    @property
    def content(self) -> dict[str, Any]:
        content = dataclasses.asdict(self)
        if self.made_by is None:
            del content["made_by"]
        return content

    @property
    def id(self) -> str:
        return self._digest(__version__)

    @property
    def stream(self) -> int:
        """What a task's randomness follows from: its content, and no version of bracketz."""
        return int(self._digest(RANDOMNESS)[:8], 16)

    def _digest(self, version: str) -> str:
        content = self.content | {"version": version}
        del content["knobs"]  # their effect is in the settings
        return hashlib.sha256(canonical(content).encode()).hexdigest()[:32]

    @property
    def program(self) -> tuple:
        """Tasks alike in this share one compilation: everything else in a task is traced."""
        static = {k: v for k, v in self.settings.items() if k != self.knob}
        return (
            self.model,
            self.rows,
            self.columns,
            self.hyperparameters.get("components"),
            self.estimator,
            self.trials,
            canonical(static),
        )

    def describe(self) -> str:
        data = f" on {self.made_by['model']} data" if self.made_by else ""
        return f"{self.model}{data} {self.estimator} {self.knob} {self.rung:,}"

    def to_json(self) -> str:
        return canonical(self.content)

    @classmethod
    def from_json(cls, text: str) -> "Task":
        return cls(**json.loads(text))


class Entry(NamedTuple):
    """A task's place in an experiment: for which data set, curve and purpose it is run."""

    task: Task
    problem: str
    label: str  # the estimator's, or of a cross the fitted model's; the store's column "curve"
    role: str  # truth, curve, latency or cross


def canonical(value: Any) -> str:
    """One text for equal values: sorted keys, no spaces, floats by their shortest exact digits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def expand(spec: Spec) -> list[Entry]:
    """All tasks of a spec, those that share a compiled program next to each other, ladders upwards.

    The ground truth is forward and reverse AIS at its own number of distributions. Where a ladder
    holds that very rung, both entries point to one task, which is run once and gets no MSE of its
    own. Fits of other models to the data sets come last.
    """
    entries: list[Entry] = []
    for problem in spec.problems:
        for data_seed in problem.data_seeds:
            for name in ("ais", "reverse-ais"):
                task = _task(
                    spec,
                    problem,
                    data_seed,
                    name,
                    {},
                    problem.truth_distributions,
                    spec.truth_chains,
                )
                entries.append(Entry(task, problem.label, name, TRUTH))
            for curve in spec.curves:
                if problem.label not in curve.problems:
                    continue
                for rung in sorted(curve.rungs(problem.label)):
                    what = (spec, problem, data_seed, curve.estimator, curve.knobs, rung)
                    task = _task(*what, spec.trials)
                    entries.append(Entry(task, problem.label, curve.label, CURVE))
                    if spec.latency:
                        alone = _task(*what, 1)
                        entries.append(Entry(alone, problem.label, curve.label, LATENCY))
    order: dict[tuple, int] = {}
    for entry in entries:
        order.setdefault((entry.problem, *entry.task.program), len(order))
    entries.sort(key=lambda e: (order[(e.problem, *e.task.program)], e.task.data_seed, e.task.rung))
    return entries + _crosses(spec)


def _crosses(spec: Spec) -> list[Entry]:
    """Every fit of every data set, shorter runs first; one fit has one program, whatever the
    data."""
    cross = spec.cross
    if cross is None:
        return []
    return [
        Entry(
            _task(spec, problem, seed, cross.estimator, cross.knobs, rung, cross.trials, fit),
            problem.label,
            fit.label,
            CROSS,
        )
        for fit in cross.fits
        for problem in spec.problems
        for seed in problem.data_seeds
        for rung in (cross.shorter, cross.rung)
        if rung is not None
    ]


def _task(
    spec: Spec,
    problem: Problem,
    data_seed: int,
    estimator_name: str,
    knobs: dict[str, Any],
    rung: int,
    trials: int,
    fit: FittedModel | None = None,
) -> Task:
    maker = model_from_spec(problem.name, problem.hyperparameters)
    model = model_from_spec(fit.name, fit.hyperparameters) if fit else maker
    estimator = estimator_from_spec(estimator_name, knobs, rung)
    unseeded = Task(
        **identity(model),
        rows=problem.rows,
        columns=problem.columns,
        data_seed=data_seed,
        estimator=estimator_name,
        knob=estimator.knob,
        rung=rung,
        knobs=knobs,
        settings=estimator.settings(model),
        trials=trials,
        seed=spec.seed,
        made_by=identity(maker) if fit else None,
    )
    # Every task gets its own stream of randomness: rungs of one ladder are independent of each
    # other.
    return dataclasses.replace(unseeded, seed=unseeded.stream)
