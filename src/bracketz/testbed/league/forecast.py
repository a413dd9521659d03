"""How long runs will take, by what runs took: rows of the store, and a table that comes with
bracketz.

An estimate for an idle core, whatever the load was: CPU seconds, and what a process needs to begin.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pandas as pd

from bracketz.testbed.league.catalogue import HOME
from bracketz.testbed.league.plan import Run
from bracketz.testbed.league.process import Limits

#: Made by a league's report (``costs.csv``).
SHIPPED = HOME / "costs.csv"
#: Seconds for an interpreter to begin and to import.
BEGIN = 3.0
Costs = dict[tuple[str, str, str], float]


@dataclass(frozen=True)
class Forecast:
    """What is ahead.

    Attributes:
        runs: how many are left.
        seconds: one after another.
        at_most: were every run to reach its limit.
        unknown: of how many nothing is known but their limit.
    """

    runs: int
    seconds: float
    at_most: float
    unknown: int


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Median seconds of every tool, setting and problem, and whether runs ended at their limit: of
    these it is known only that they take longer."""
    frame = rows.assign(
        seconds=pd.to_numeric(rows.cpu_seconds, errors="coerce") + BEGIN,
        stopped=rows.status == "timeout",
    ).dropna(subset=["seconds"])
    grouped = frame.groupby(["tool", "setting", "problem"])
    table = grouped.agg(seconds=("seconds", "median"), stopped=("stopped", "mean")).reset_index()
    return table.assign(seconds=table.seconds.round(1), stopped=table.stopped > 0.5)


def costs_of(rows: pd.DataFrame) -> Costs:
    """The same by tool, setting and problem; what ended at its limit counts as endless."""
    return {
        (line.tool, line.setting, line.problem): math.inf if line.stopped else line.seconds
        for line in costs(rows).itertuples()
    }


def read_costs(path: Path = SHIPPED) -> Costs:
    """What comes with bracketz."""
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {
            (line["tool"], line["setting"], line["problem"]): (
                math.inf if line["stopped"] == "True" else float(line["seconds"])
            )
            for line in csv.DictReader(file)
        }


def forecast(runs: Iterable[Run], limits: Limits, known: Costs) -> Forecast:
    """Of a problem that a tool was not tried on: the mean of those of its suite that it was tried
    on, a run that was stopped counting as long as the limit; of a tool that was not tried at that
    setting: the limit."""
    runs = list(runs)
    suites = {run.problem.name: run.problem.suite for run in runs}
    tried = defaultdict(list)
    for (tool, setting, problem), took in known.items():
        tried[tool, setting, suites.get(problem, "league")].append(min(took, limits.seconds))
    each, unknown = [], 0
    for run in runs:
        seconds = known.get((run.tool.name, run.setting, run.problem.name))
        others = tried[run.tool.name, run.setting, run.problem.suite]
        if seconds is None and others:
            seconds = mean(others)
        unknown += seconds is None
        each.append(limits.seconds if seconds is None else min(limits.seconds, seconds))
    return Forecast(len(each), sum(each), len(each) * limits.seconds, unknown)
