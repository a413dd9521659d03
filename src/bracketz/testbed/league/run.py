"""The league's loop: one run at a time, every one a row; run it again to continue."""

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bracketz.testbed.league.datasets import Dataset, simulate
from bracketz.testbed.league.environments import python_of
from bracketz.testbed.league.plan import Run
from bracketz.testbed.league.process import Limits, run_tool
from bracketz.testbed.league.store import Store

#: What a row takes from an answer.
TAKEN = (
    "status",
    "message",
    "log_z",
    "error",
    "low",
    "high",
    "confidence",
    "kind",
    "seconds",
    "cpu_seconds",
    "compile_seconds",
    "import_seconds",
    "wall_seconds",
    "calls",
    "warnings",
    "versions",
)


@dataclass(frozen=True)
class Standing:
    """How a league stands.

    Attributes:
        total: runs asked for.
        done: of which there are rows.
        ran: made now.
        missing: tools without an environment; their runs were not made.
    """

    total: int
    done: int
    ran: int
    missing: tuple[str, ...]


def run_league(
    runs: list[Run],
    store: Store,
    limits: Limits,
    say: Callable[[str], None] = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
) -> Standing:
    """Make the runs that have no row yet. ``stop`` is asked before each."""
    interpreters = {run.tool.name: python_of(run.tool) for run in runs}
    there = store.done()
    kept: dict[tuple[str, int], Dataset] = {}
    ran = done = 0
    for number, run in enumerate(runs, 1):
        place = (run.problem.name, run.data_seed)
        data = kept.setdefault(place, simulate(run.problem, run.data_seed))
        key = run.key(data.fingerprint, limits)
        if key in there:
            done += 1
            continue
        python = interpreters[run.tool.name]
        if python is None or stop():
            continue
        row = begun(run, data, limits) | {"run": key}
        answer = run_tool(run.tool, python, data, run.settings, run.seed, limits)
        row |= {name: answer.get(name) for name in TAKEN}
        row["ended"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        store.add(row)
        ran, done = ran + 1, done + 1
        said = row["message"] if row["log_z"] is None else f"{row['log_z']:.3f}"
        say(
            f"{number} of {len(runs)}: {run.tool.name} ({run.setting}) on {run.problem.name},"
            f" data {run.data_seed}: {row['status']}, {said}, {row['wall_seconds']:.1f} s"
        )
    missing = tuple(sorted(name for name, python in interpreters.items() if python is None))
    return Standing(len(runs), done, ran, missing)


def begun(run: Run, data: Dataset, limits: Limits) -> dict[str, Any]:
    """The part of a row that is known beforehand."""
    return {
        "tool": run.tool.name,
        "setting": run.setting,
        "settings": run.settings,
        "problem": run.problem.name,
        "suite": run.problem.suite,
        "data_seed": run.data_seed,
        "data": data.fingerprint,
        "seed": run.seed,
        "load": os.getloadavg()[0],
        "cores": limits.cores,
        "limit_seconds": limits.seconds,
        "limit_memory": limits.memory,
    }
