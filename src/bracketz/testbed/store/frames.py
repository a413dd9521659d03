"""A store as tidy pandas frames."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bracketz.errors import InputError, unknown
from bracketz.testbed.store.schema import NO_NUMBER
from bracketz.testbed.store.store import Store

if TYPE_CHECKING:
    from bracketz.testbed.analysis.ledger import Paper

_ENTRIES = f"""
SELECT position, task, problem, curve, role, model, rows, columns, data_seed, estimator, knob, rung,
       trials, seed,
       CASE WHEN {NO_NUMBER} THEN 'failed' ELSE status END AS status,
       CASE WHEN {NO_NUMBER} THEN 'a trial gave no number' ELSE message END AS message,
       side, finished, content, compile_seconds, run_seconds, chains,
       run_seconds / chains AS seconds, device, versions
FROM entries JOIN tasks USING (task) LEFT JOIN timings USING (task)
     LEFT JOIN environments USING (environment)
WHERE experiment = ? ORDER BY position
"""


@dataclass(frozen=True)
class Frames:
    """One experiment of a store.

    ``experiment``: its name, seed, spec, paper and when. ``tasks``: one row per entry (a task for a
    purpose: role truth, curve, latency or cross) with its timings; ``seconds`` is run time per
    trial. ``trials``: one row per value. ``details``: what else estimators report, one row per
    trial and name. ``paper``: whose claims it checks, where that was looked up.
    """

    experiment: dict[str, Any]
    tasks: pd.DataFrame
    trials: pd.DataFrame
    details: pd.DataFrame
    paper: "Paper | None" = None


def read_frames(
    path: str | Path, experiment: str | None = None, papers: "Mapping[str, Paper] | None" = None
) -> Frames:
    """One experiment of a store as tidy pandas frames.

    Args:
        path: the store.
        experiment: its name; the latest by default.
        papers: where to look up the paper an experiment belongs to (``bracketz.papers.PAPERS``).

    Returns:
        The frames.

    Raises:
        InputError: not a store, or no such experiment in it.

    Example:
        >>> import bracketz as bz
        >>> try:
        ...     bz.testbed.read_frames("nowhere.db")
        ... except bz.InputError as error:
        ...     print(str(error).partition(":")[0])
        cannot open the store nowhere.db
    """
    with Store.read(path) as store:
        columns = ("experiment", "name", "spec", "seed", "paper", "agree_within", "updated")
        found = [
            dict(zip(columns, row, strict=True))
            for row in store.rows(
                f"SELECT {', '.join(columns)} FROM experiments ORDER BY updated, experiment"
            )
        ]
        if not found:
            raise InputError(
                f"{path} holds no experiment yet; run one with bracketz experiment run"
            )
        chosen = found[-1]
        if experiment is not None:
            named = {row["name"]: row for row in found}
            if experiment not in named:
                raise unknown("experiment", experiment, named)
            chosen = named[experiment]
        return _frames(store._db, chosen, (papers or {}).get(chosen["paper"]))


def _frames(db: sqlite3.Connection, experiment: dict[str, Any], paper: "Paper | None") -> Frames:
    number = experiment.pop("experiment")
    tasks = pd.read_sql_query(_ENTRIES, db, params=(number,))
    mine = "SELECT DISTINCT task FROM entries WHERE experiment = ?"
    trials = pd.read_sql_query(
        f"SELECT task, trial, log_ml FROM trials WHERE task IN ({mine}) ORDER BY task, trial",
        db,
        params=(number,),
    )
    details = pd.read_sql_query(
        f"SELECT task, trial, name, value FROM details WHERE task IN ({mine}) ORDER BY task,"
        " name, trial",
        db,
        params=(number,),
    )
    labels = tasks[["task", "problem", "curve", "role", "data_seed", "estimator", "rung"]]
    return Frames(
        experiment, tasks, labels.merge(trials, on="task"), labels.merge(details, on="task"), paper
    )
