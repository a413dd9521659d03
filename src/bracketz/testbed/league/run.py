"""The league's loop: every run is a row, written when it has ended; run it again to continue.

Here one run follows another. On a Dask cluster (``cluster``) the same runs are made on workers;
only this process writes to the store.
"""

import datetime
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from bracketz.testbed.league.datasets import Dataset, simulate
from bracketz.testbed.league.environments import ready
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


class Due(NamedTuple):
    """A run that has no row yet, with what names its row."""

    run: Run
    data: Dataset
    limits: Limits
    key: str


#: Stands for the row of a run that was lost with the process that made it.
LOST: dict[str, Any] = {}
#: Makes runs and yields their rows as they end; None for a run whose tool is not ready where it was
#: sent to, ``LOST`` for one to be made another day. It takes the next one only when there is a
#: place for it.
Executor = Callable[[Iterator[Due]], Iterable[tuple[Due, dict[str, Any] | None]]]


@dataclass(frozen=True)
class Standing:
    """How a league stands.

    Attributes:
        total: runs asked for.
        done: of which there are rows.
        ran: made now.
        missing: tools without an environment, or without what it needs besides; their runs were
            not made.
        lost: runs lost with a worker; run the league again to make them.
    """

    total: int
    done: int
    ran: int
    missing: tuple[str, ...]
    lost: int = 0


def here(due: Iterator[Due]) -> Iterator[tuple[Due, dict[str, Any] | None]]:
    """One after another, on this machine."""
    for one in due:
        yield one, make(one)


def run_league(
    runs: list[Run],
    store: Store,
    limits: Limits,
    say: Callable[[str], None] = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
    executor: Executor = here,
) -> Standing:
    """Make the runs that have no row yet. ``stop`` is asked before each."""
    left = waiting(runs, store.done(), limits)
    done = len(runs) - len(left)
    # Elsewhere the environments are those of the workers.
    absent = _not_ready(left) if executor is here else set()
    due = (one for one in left if one.run.tool.name not in absent and not stop())
    ran = lost = 0
    for one, row in executor(due):
        if row is None:
            absent.add(one.run.tool.name)
            continue
        if row is LOST:
            lost += 1
            continue
        store.add(row)
        ran += 1
        said = row["message"] if row["log_z"] is None else f"{row['log_z']:.3f}"
        say(
            f"{done + ran} of {len(runs)}: {one.run.tool.name} ({one.run.setting}) on"
            f" {one.run.problem.name}, data {one.run.data_seed}: {row['status']}, {said},"
            f" {row['wall_seconds']:.1f} s"
        )
    return Standing(len(runs), done + ran, ran, tuple(sorted(absent)), lost)


def waiting(runs: list[Run], there: set[str], limits: Limits) -> list[Due]:
    """Those that have no row among ``there``."""
    simulated: dict[tuple[str, int], Dataset] = {}
    found = []
    for run in runs:
        place = (run.problem.name, run.data_seed)
        if place not in simulated:
            simulated[place] = simulate(run.problem, run.data_seed)
        data = simulated[place]
        key = run.key(data.fingerprint, limits)
        if key not in there:
            found.append(Due(run, data, limits, key))
    return found


def make(due: Due) -> dict[str, Any] | None:
    """The row of a run, made on this machine; None where its tool is not ready here."""
    run, data, limits, key = due
    if (python := ready(run.tool)) is None:
        return None
    row = begun(run, data, limits) | {"run": key}
    answer = run_tool(run.tool, python, data, run.settings, run.seed, limits)
    row |= {name: answer.get(name) for name in TAKEN}
    row["ended"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return row


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


def _not_ready(due: list[Due]) -> set[str]:
    tools = {one.run.tool.name: one.run.tool for one in due}
    return {name for name, tool in tools.items() if ready(tool) is None}
