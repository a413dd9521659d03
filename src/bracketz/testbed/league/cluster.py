"""The same runs on a Dask cluster: started here (``workers``) or already there (``scheduler``).

A worker gets the names of a run, simulates the data itself and returns the row. It refuses if its
tool's file, lock or data are not the same as here: then the row would be another run's. Workers
need the environments (``bracketz league install``) and files that were added at the same paths.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bracketz.engine.cluster import await_work, connected, fetch
from bracketz.errors import InputError
from bracketz.testbed.league.catalogue import HOME, catalogue
from bracketz.testbed.league.datasets import simulate
from bracketz.testbed.league.plan import Run
from bracketz.testbed.league.process import Limits
from bracketz.testbed.league.run import LOST, Due, Executor, make


@contextmanager
def cluster(
    workers: int | None = None,
    scheduler: str | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[Executor]:
    """An executor on ``workers`` new processes here, or on the cluster whose scheduler is at
    ``scheduler``; ``note`` is told what it waits for."""
    with connected(workers, scheduler) as client:
        yield on(client, note)


def on(client: Any, note: Callable[[str], None] = lambda text: None) -> Executor:
    """The executor of a connected ``distributed.Client``: one run at a time for each worker."""

    def executor(due: Iterator[Due]) -> Iterator[tuple[Due, dict[str, Any] | None]]:
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        running: dict[str, Due] = {}
        completed = as_completed()

        def fill() -> None:
            while len(running) < max(1, len(client.nthreads())):
                if (one := next(due, None)) is None:
                    return
                future = client.submit(
                    make_remotely, told(one), key=f"league-{one.key}", pure=False
                )
                running[future.key] = one
                completed.add(future)

        fill()
        while running:
            await_work(client, completed.has_ready, note)
            future = next(completed)
            one = running.pop(future.key)
            try:
                row = fetch(client, future, note)
            except KilledWorker:  # every worker it was tried on died
                row = LOST
            future.release()
            fill()
            yield one, row

    return executor


def told(due: Due) -> str:
    """What a worker must know, as JSON."""
    run = due.run
    files = [run.tool.file, run.problem.file]
    return json.dumps(
        {
            "added": [str(file) for file in files if not file.is_relative_to(HOME)],
            "tool": run.tool.name,
            "setting": run.setting,
            "settings": run.settings,
            "problem": run.problem.name,
            "data_seed": run.data_seed,
            "limits": asdict(due.limits),
            "key": due.key,
        }
    )


def make_remotely(text: str) -> dict[str, Any] | None:
    """On a worker: the row of a run."""
    given = json.loads(text)
    known = catalogue(Path(file) for file in given["added"])
    run = Run(
        known.tool(given["tool"]),
        given["setting"],
        given["settings"],
        known.problem(given["problem"]),
        given["data_seed"],
    )
    data, limits = simulate(run.problem, run.data_seed), Limits(**given["limits"])
    if run.key(data.fingerprint, limits) != given["key"]:
        raise InputError(
            f"a worker has another version of {run.tool.name} or {run.problem.name}: give every"
            " worker the same bracketz"
        )
    return make(Due(run, data, limits, given["key"]))
