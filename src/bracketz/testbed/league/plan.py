"""Which runs a league consists of, in which order."""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bracketz.errors import InputError, unknown
from bracketz.testbed.league.catalogue import Catalogue, ProblemEntry, ToolEntry
from bracketz.testbed.league.process import Limits


@dataclass(frozen=True)
class Preset:
    """How much of a league.

    Attributes:
        problems: by name; None: all.
        datasets: of each problem, at a tool's default.
        accurate: of each problem, at its other settings; they are the first ones.
        limits: of one run.
    """

    problems: tuple[str, ...] | None
    datasets: int
    accurate: int
    limits: Limits

    def count(self, setting: str) -> int:
        return self.datasets if setting == DEFAULT else self.accurate


#: Runs of an example of the documentation: its data are given, the tool's seeds differ.
EXAMPLES = 5
#: The rung that every tool begins with.
DEFAULT = "default"
PRESETS = {
    "quick": Preset(("regression-5", "clustering-8", "start-at-the-data"), 1, 0, Limits(40.0)),
    "full": Preset(None, 3, 1, Limits(60.0)),
    "complete": Preset(None, 10, 10, Limits(600.0)),
}


@dataclass(frozen=True)
class Run:
    """One run: a tool at a setting on a data set."""

    tool: ToolEntry
    setting: str
    settings: dict[str, Any]
    problem: ProblemEntry
    data_seed: int

    @property
    def seed(self) -> int:
        """The tool's own; it follows from the rest, and differs from data set to data set."""
        text = f"{self.tool.name} {self.setting} {self.problem.name} {self.data_seed}"
        return int(hashlib.sha256(text.encode()).hexdigest()[:7], 16)

    def key(self, data: str, limits: Limits) -> str:
        """A hash of what determines its row. A row that ran out of a limit counts for that
        limit: with a wider one the run is made again."""
        parts = (
            self.tool.name,
            self.tool.fingerprint,
            self.setting,
            json.dumps(self.settings, sort_keys=True),
            self.problem.name,
            self.problem.fingerprint,
            str(self.data_seed),
            data,
            f"{limits.seconds:g} {limits.memory:g} {limits.cores}",
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def preset(name: str) -> Preset:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]


def plan(
    known: Catalogue,
    chosen: Preset,
    *,
    tools: Sequence[str] | None = None,
    problems: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    datasets: int | None = None,
) -> list[Run]:
    """The runs, shuffled (always the same way), so that no tool has the quiet hours for itself."""
    if datasets is not None and datasets < 1:
        raise InputError(f"datasets must be at least 1, got {datasets}")
    names = problems or chosen.problems or known.problems
    wanted = [known.problem(name) for name in names]
    who = [known.tool(name) for name in (tools or known.tools)]
    _check_rungs(settings, who)
    runs = []
    for problem in wanted:
        for tool in who:
            if problem.tools is not None and tool.name not in problem.tools:
                continue
            ladder = {k: v for k, v in tool.settings.items() if not settings or k in settings}
            if problem.suite != "league":
                ladder = _of_suite(tool, problem)
            for setting, values in ladder.items():
                count = _count(chosen, problem, setting, named=bool(settings), datasets=datasets)
                runs += [Run(tool, setting, values, problem, seed) for seed in range(count)]
    random.Random(0).shuffle(runs)
    return runs


def _count(
    chosen: Preset, problem: ProblemEntry, setting: str, *, named: bool, datasets: int | None
) -> int:
    """How many data sets. A setting that a preset leaves out is run where it was named."""
    if problem.suite == "silent":
        return 1
    usual = EXAMPLES if problem.suite == "documented" else chosen.count(setting)
    if named:
        usual = max(1, usual)
    return datasets if usual and datasets is not None else usual


def _of_suite(tool: ToolEntry, problem: ProblemEntry) -> dict[str, dict[str, Any]]:
    """At a tool's default, and with what brings a failure about, where a tool has that; an example
    of its documentation with what that page has, if it has anything."""
    special = tool.special.get(problem.name)
    if problem.suite == "documented" and special is not None:
        return {"as documented": special}
    ladder = {DEFAULT: tool.settings[DEFAULT]}
    return ladder if special is None else ladder | {"tempted": special}


def _check_rungs(rungs: Sequence[str] | None, tools: list[ToolEntry]) -> None:
    there = {name for tool in tools for name in tool.settings}
    for name in rungs or ():
        if name not in there:
            raise unknown("setting", name, there)
