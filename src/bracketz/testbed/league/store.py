"""Where rows are kept: SQLite, one row per run, written as soon as it has ended."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz.errors import InputError

#: Columns, in order. Numbers are NULL where a run gave none.
COLUMNS = {
    "run": "TEXT PRIMARY KEY",  # a hash of what determines it
    "tool": "TEXT NOT NULL",
    "setting": "TEXT NOT NULL",  # name of the rung of the tool's ladder
    "settings": "TEXT NOT NULL",  # the same as JSON
    "problem": "TEXT NOT NULL",
    "suite": "TEXT NOT NULL",  # league, silent
    "data_seed": "INTEGER NOT NULL",
    "data": "TEXT NOT NULL",  # hash of the data
    "seed": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",  # done, no answer, failed, memory, timeout, killed
    "message": "TEXT",
    "log_z": "REAL",
    "error": "REAL",  # claimed standard error
    "low": "REAL",  # claimed interval
    "high": "REAL",
    "confidence": "REAL",  # of that interval
    "kind": "TEXT",  # what the claim rests on: none, error bar, certified, conditional
    "seconds": "REAL",  # of the run, compilation and imports apart
    "cpu_seconds": "REAL",  # the same, compilation included; of the whole process if it was killed
    "compile_seconds": "REAL",
    "import_seconds": "REAL",
    "wall_seconds": "REAL",  # of the whole process
    "calls": "INTEGER",  # likelihood evaluations
    "warnings": "TEXT",  # JSON list
    "versions": "TEXT",  # JSON
    "load": "REAL",  # of the machine, before the run
    "cores": "INTEGER",
    "limit_seconds": "REAL",
    "limit_memory": "REAL",
    "ended": "TEXT",  # UTC
}
JSON_COLUMNS = ("settings", "warnings", "versions")


class Store:
    """Rows of runs. Several processes may write: a run that both did is kept once."""

    def __init__(self, path: Path, *, create: bool = False):
        if not create and not path.is_file():
            raise InputError(f"there is no store {path}; run the league first")
        try:
            self._connection = sqlite3.connect(path, timeout=60)
            self._connection.execute("PRAGMA journal_mode = WAL")
            columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns})")
            found = [row[1] for row in self._connection.execute("PRAGMA table_info(runs)")]
        except sqlite3.OperationalError as error:
            raise _unwritable(path, error) from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} is no store of the league: {error}") from None
        self.path = path
        if found != list(COLUMNS):
            raise InputError(f"{path} was written by another version; name another folder")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def done(self, ended: tuple[str, ...] | None = None) -> set[str]:
        """Runs that need not be made again: every one that ended, however it ended, or those that
        ``ended`` so."""
        rows = self._connection.execute("SELECT run, status FROM runs")
        return {run for run, status in rows if ended is None or status in ended}

    def forget(self, runs: set[str]) -> None:
        """Rows to be made again."""
        self._write("DELETE FROM runs WHERE run = ?", [(run,) for run in runs])

    def add(self, row: dict[str, Any]) -> None:
        """One row; unknown keys are refused."""
        if strange := set(row) - set(COLUMNS):
            raise ValueError(f"no columns {sorted(strange)}")
        values = [
            json.dumps(row.get(name)) if name in JSON_COLUMNS else row.get(name) for name in COLUMNS
        ]
        marks = ", ".join("?" * len(COLUMNS))
        self._write(f"INSERT OR REPLACE INTO runs VALUES ({marks})", [values])

    def _write(self, statement: str, rows: list) -> None:
        """All or nothing; a disk that is full is one sentence."""
        try:
            with self._connection:
                self._connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            raise _unwritable(self.path, error) from None

    def rows(self) -> pd.DataFrame:
        """All of them, JSON unpacked."""
        order = "problem, data_seed, tool, setting, seed"
        frame = pd.read_sql(f"SELECT * FROM runs ORDER BY {order}", self._connection)
        for name, kind in COLUMNS.items():
            if kind.startswith("TEXT"):
                texts = [text if isinstance(text, str) else None for text in frame[name]]
                found = (
                    [json.loads(t) if t else None for t in texts] if name in JSON_COLUMNS else texts
                )
                frame[name] = pd.Series(found, index=frame.index, dtype=object)
        return frame


def _unwritable(path: Path, error: Exception) -> InputError:
    return InputError(f"cannot write to {path}: {error}; check the disk and its rights")
