"""What an experiment is: models with data seeds, estimators with ladders of knob values, trials,
ground truth, fits.

A spec is a TOML file (docs/testbed.md). ``read`` turns it into frozen dataclasses, or refuses it in
one sentence before anything runs: every model and every rung of every ladder is constructed once,
so what a task would refuse later is refused here.
"""

import dataclasses
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bracketz.errors import InputError, unknown
from bracketz.estimators.registry import ESTIMATORS
from bracketz.testbed.spec.checked import MAX_TRIALS, Table, distinct, one_line, shown
from bracketz.testbed.spec.construct import estimator_from_spec, model_from_spec
from bracketz.testbed.spec.cross import Cross, read_cross

MAX_FILE = 1_000_000
MAX_TASKS = 100_000
MAX_CELLS = 10**8


@dataclass(frozen=True)
class Problem:
    """One model at one size: each data seed gives one data set, with its own ground truth."""

    label: str
    name: str  # as on the command line: clustering, low-rank, ..., or module:Class
    rows: int
    columns: int
    data_seeds: tuple[int, ...]
    hyperparameters: dict[str, Any]  # as given; the model's own defaults fill the rest
    truth_distributions: int


@dataclass(frozen=True)
class Curve:
    """One estimator with a ladder of values of its knob: one curve in every figure."""

    label: str
    estimator: str
    knobs: dict[str, Any]
    ladder: tuple[int, ...]
    problems: tuple[str, ...]  # labels of the models it runs on
    ladders: dict[str, tuple[int, ...]] = field(
        default_factory=dict
    )  # by model label, instead of ``ladder``

    def rungs(self, problem: str) -> tuple[int, ...]:
        return self.ladders.get(problem, self.ladder)


@dataclass(frozen=True)
class Spec:
    """A validated experiment. ``text`` is the file it came from, kept for provenance."""

    name: str
    seed: int
    trials: int
    latency: bool
    truth_chains: int
    agree_within: float
    problems: tuple[Problem, ...]
    curves: tuple[Curve, ...]
    paper: str | None
    text: str = ""
    cross: Cross | None = None

    def with_seed(self, seed: int | None) -> "Spec":
        return self if seed is None else dataclasses.replace(self, seed=seed)


def read(path: str | Path) -> Spec:
    """The spec in a TOML file, validated."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_FILE:
            raise InputError(
                f"{path} is larger than {MAX_FILE:,} bytes, so it is no spec; name another file"
            )
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; save it as such") from None
    except OSError as error:
        raise InputError(f"cannot read the spec {path}: {error.strerror}") from None
    return parse(text, str(path))


def parse(text: str, source: str = "the spec") -> Spec:
    """The spec in a TOML text; ``source`` names it in refusals."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        sentence = one_line(str(error)) or "too deeply nested"
        raise InputError(f"{source} is not valid TOML: {sentence}") from None
    try:
        return _spec(Table(values), text)
    except InputError as error:
        raise InputError(f"{source}: {one_line(str(error))}") from None


def _spec(table: Table, text: str) -> Spec:
    name = table.label("name")
    seed = table.whole("seed", 0, minimum=0, maximum=2**32 - 1)
    trials = table.whole("trials", 25, minimum=2, maximum=MAX_TRIALS)
    latency = table.flag("latency", False)
    paper = table.text("paper", None)
    truth = table.table("truth")
    distributions = truth.whole("distributions", 10_000, minimum=2)
    chains = truth.whole("chains", trials, minimum=2, maximum=MAX_TRIALS)
    agree = truth.positive("agree_within", 1.0)
    truth.finish()
    problems = tuple(_problem(entry, distributions) for entry in table.tables("models"))
    distinct([p.label for p in problems], "models", "label")
    curves = tuple(_curve(entry, problems) for entry in table.tables("estimators"))
    crossed = table.take("cross", None)
    cross = None if crossed is None else read_cross(Table(crossed, "cross"), problems, trials)
    table.finish()
    for problem in problems:
        distinct([c.label for c in curves if problem.label in c.problems], "estimators", "label")
    tasks = sum(len(c.rungs(p.label)) * len(p.data_seeds) for p in problems for c in curves)
    if cross is not None:
        runs = len(cross.fits) * (1 if cross.shorter is None else 2)
        tasks += runs * sum(len(p.data_seeds) for p in problems)
    if tasks > MAX_TASKS:
        raise InputError(
            f"the ladders expand to {tasks:,} tasks and the limit is {MAX_TASKS:,}; shorten them"
        )
    return Spec(name, seed, trials, latency, chains, agree, problems, curves, paper, text, cross)


def _problem(table: Table, truth_distributions: int) -> Problem:
    name = table.text("model")
    label = table.label("label", name)
    rows = table.whole("rows", 50)
    columns = table.whole("columns", 25)
    if rows * columns > MAX_CELLS:
        raise InputError(
            f"{table.where} asks for {rows:,} x {columns:,} data and the limit is {MAX_CELLS:,}"
            " values; use fewer rows or columns"
        )
    seeds = table.wholes("data_seeds", (0,), minimum=0, maximum=2**32 - 1)
    distributions = table.whole("truth_distributions", truth_distributions, minimum=2)
    hyperparameters = table.table("hyperparameters").values
    table.finish()
    problem = Problem(label, name, rows, columns, seeds, hyperparameters, distributions)
    model = model_from_spec(name, hyperparameters, f"{table.where}.hyperparameters")
    try:
        model.check_shape((rows, columns))
    except InputError as error:
        raise InputError(f"{table.where}: {error}") from None
    return problem


def _curve(table: Table, problems: tuple[Problem, ...]) -> Curve:
    estimator = table.text("estimator")
    ESTIMATORS.find(estimator)
    label = table.label("label", estimator)
    all_labels = [p.label for p in problems]
    chosen = table.take("models", all_labels)
    if not isinstance(chosen, list) or not chosen or not all(isinstance(c, str) for c in chosen):
        raise InputError(
            f"{table.name('models')} must be a list of model labels, got {shown(chosen)}"
        )
    for name in chosen:
        if name not in all_labels:
            raise unknown(f"model label in {table.name('models')}:", name, all_labels)
    ladder = table.wholes("ladder", minimum=0)
    own = table.table("ladders")
    ladders = {name: own.wholes(name, minimum=0) for name in list(own.values) if name in all_labels}
    own.known = all_labels
    own.finish()
    knobs = table.table("knobs").values
    table.finish()
    curve = Curve(label, estimator, knobs, ladder, tuple(dict.fromkeys(chosen)), ladders)
    for problem in problems:
        if problem.label in curve.problems:
            _check_rungs(curve, problem, table.where)
    return curve


def _check_rungs(curve: Curve, problem: Problem, where: str) -> None:
    model = model_from_spec(problem.name, problem.hyperparameters)
    for rung in curve.rungs(problem.label):
        estimator = estimator_from_spec(curve.estimator, curve.knobs, rung, where)
        if refusal := estimator.refusal(model, simulated=True):
            raise InputError(f"{where}: {refusal}; leave '{problem.label}' out of {where}.models")
        try:
            estimator.settings(model)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
