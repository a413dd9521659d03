"""From a spec to tasks. A task is identified by a hash of everything that determines its values."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from bracketz._version import __version__
from bracketz.testbed.spec import Curve, Problem, Spec, make_estimator, make_model

TRUTH, CURVE, LATENCY = "truth", "curve", "latency"


@dataclass(frozen=True)
class Task:
    """``trials`` independent values of one estimator at one rung on one data set.

    ``id`` hashes every field, with the version of bracketz; results do not depend on anything else (devices
    and number of workers included), so equal ids mean equal bits on one kind of machine.
    """

    model: str
    hyperparameters: dict[str, Any]  # all of them, defaults resolved
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

    @property
    def id(self) -> str:
        content = dataclasses.asdict(self) | {"version": __version__}
        del content["knobs"]  # their effect is in the settings
        return hashlib.sha256(canonical(content).encode()).hexdigest()[:32]

    @property
    def program(self) -> tuple:
        """Tasks alike in this share one compilation: everything else in a task is traced."""
        static = {k: v for k, v in self.settings.items() if k != self.knob}
        return (
            self.model, self.rows, self.columns, self.hyperparameters.get("components"), self.estimator,
            self.trials, canonical(static),
        )  # fmt: skip

    def describe(self) -> str:
        return f"{self.model} {self.estimator} {self.knob} {self.rung:,}"

    def to_json(self) -> str:
        return canonical(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Task":
        return cls(**json.loads(text))


class Entry(NamedTuple):
    """A task's place in an experiment: for which data set, curve and purpose it is run."""

    task: Task
    problem: str
    curve: str
    role: str  # truth, curve or latency


def canonical(value: Any) -> str:
    """One text for equal values: sorted keys, no spaces, floats by their shortest exact digits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def expand(spec: Spec) -> list[Entry]:
    """All tasks of a spec, those that share a compiled program next to each other, ladders upwards.

    The ground truth is forward and reverse AIS at its own number of distributions. Where a ladder
    holds that very rung, both entries point to one task, which is run once and gets no MSE of its own.
    """
    entries: list[Entry] = []
    for problem in spec.problems:
        for data_seed in problem.data_seeds:
            for name in ("ais", "reverse-ais"):
                curve = Curve(f"{name} truth", name, {}, (problem.truth_distributions,), (problem.label,))
                task = _task(spec, problem, curve, data_seed, problem.truth_distributions, spec.truth_chains)
                entries.append(Entry(task, problem.label, name, TRUTH))
            for curve in spec.curves:
                if problem.label not in curve.problems:
                    continue
                for rung in sorted(curve.rungs(problem.label)):
                    task = _task(spec, problem, curve, data_seed, rung, spec.trials)
                    entries.append(Entry(task, problem.label, curve.label, CURVE))
                    if spec.latency:
                        alone = _task(spec, problem, curve, data_seed, rung, 1)
                        entries.append(Entry(alone, problem.label, curve.label, LATENCY))
    order: dict[tuple, int] = {}
    for entry in entries:
        order.setdefault((entry.problem, *entry.task.program), len(order))
    return sorted(entries, key=lambda e: (order[(e.problem, *e.task.program)], e.task.data_seed, e.task.rung))


def _task(spec: Spec, problem: Problem, curve: Curve, data_seed: int, rung: int, trials: int) -> Task:
    from bracketz.simulation import hyperparameters, model_label

    model = make_model(problem)
    estimator = make_estimator(curve.estimator, curve.knobs, rung)
    unseeded = Task(
        model=model_label(model),
        hyperparameters=hyperparameters(model),
        rows=problem.rows,
        columns=problem.columns,
        data_seed=data_seed,
        estimator=curve.estimator,
        knob=estimator.knob,
        rung=rung,
        knobs=curve.knobs,
        settings=estimator.settings(model),
        trials=trials,
        seed=spec.seed,
    )
    # Every task gets its own stream of randomness: rungs of one ladder are independent of each other.
    return dataclasses.replace(unseeded, seed=int(unseeded.id[:8], 16))
