"""What every benchmark hands in: rows with goals, tables, and one way to print and to save them.

A benchmark is ``python benchmarks/NAME.py [--json] [--smoke]``: a function from its options to a
``Report``, passed to ``main``. ``suite.py`` runs them all. Exit codes, of one benchmark and of the
suite: 0 every goal is reached, 1 one is missed, another number: something broke. Nothing here needs
more than the standard library and bracketz's core.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bracketz.core.results import finite_json

MISSED, BROKEN = 1, 3


@dataclass(frozen=True)
class Goal:
    """``value relation limit``. A stretch goal is shown, and missing it is no failure."""

    relation: str  # "<=" or ">="
    limit: float
    stretch: bool = False

    def reached_by(self, value: float) -> bool:
        return value <= self.limit if self.relation == "<=" else value >= self.limit

    def __str__(self) -> str:
        return f"{self.relation} {number(self.limit)}{' (stretch)' if self.stretch else ''}"


def at_most(limit: float, stretch: bool = False) -> Goal:
    return Goal("<=", limit, stretch)


def at_least(limit: float, stretch: bool = False) -> Goal:
    return Goal(">=", limit, stretch)


@dataclass(frozen=True)
class Row:
    """One measured number. NaN: it could not be had, which reaches no goal; ``note`` says why."""

    benchmark: str
    case: str
    quantity: str
    value: float
    unit: str = ""
    goal: Goal | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        return None if self.goal is None else self.goal.reached_by(self.value)

    @property
    def missed(self) -> bool:
        return self.goal is not None and not self.goal.stretch and not self.reached

    @property
    def verdict(self) -> str:
        return {None: "", True: "met", False: "MISSED" if self.missed else "not met"}[self.reached]

    def to_json(self) -> dict[str, Any]:
        goal = self.goal and {
            "relation": self.goal.relation,
            "limit": self.goal.limit,
            "stretch": self.goal.stretch,
        }
        return {
            "benchmark": self.benchmark,
            "case": self.case,
            "quantity": self.quantity,
            "value": finite_json(self.value),
            "unit": self.unit,
            "goal": goal,
            "reached": self.reached,
            "note": self.note,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "Row":
        fields = {k: given[k] for k in ("benchmark", "case", "quantity", "unit", "note")}
        value = math.nan if given["value"] is None else given["value"]
        return cls(**fields, value=value, goal=Goal(**given["goal"]) if given["goal"] else None)


@dataclass(frozen=True)
class Table:
    """Text in columns; numbers are formatted by whoever made it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        cells = [list(map(str, line)) for line in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = [_numeric(column[1:]) for column in zip(*cells, strict=True)]

        def line(texts):
            padded = (
                t.rjust(w) if r else t.ljust(w)
                for t, w, r in zip(texts, widths, right, strict=True)
            )
            return "  ".join(padded).rstrip()

        head, *body = map(line, cells)
        return "\n".join([self.title, head, "-" * max(map(len, [head, *body])), *body])


def _numeric(column: Sequence[str]) -> bool:
    filled = [text for text in column if text]
    return bool(filled) and all(text[0].isdigit() or text[0] in "+-<>~" for text in filled)


def number(value: float) -> str:
    """Three digits, thousands with commas; a dash for what could not be had."""
    if not math.isfinite(value):
        return "-"
    if value == 0 or 0.001 <= abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1e}"


def goal_table(rows: Sequence[Row], title: str, *, with_benchmark: bool = False) -> Table:
    """Value, goal and verdict of each row."""
    columns = ["case", "quantity", "value", "goal", "", ""]
    lines = [
        [
            r.case,
            r.quantity,
            f"{number(r.value)} {r.unit}".rstrip(),
            str(r.goal or ""),
            r.verdict,
            r.note,
        ]
        for r in rows
    ]
    if with_benchmark:
        columns = ["benchmark", *columns]
        lines = [[r.benchmark, *line] for r, line in zip(rows, lines, strict=True)]
    return Table(title, columns, lines)


@dataclass(frozen=True)
class Report:
    """A benchmark's outcome. ``tables`` and ``notes`` are for readers, ``details`` for the JSON."""

    benchmark: str
    rows: Sequence[Row]
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    details: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def missed(self) -> list[Row]:
        return [row for row in self.rows if row.missed]

    def __str__(self) -> str:
        judged = [row for row in self.rows if row.goal]
        goals = [goal_table(judged, f"{self.benchmark}: goals")] if judged else []
        return "\n\n".join(map(str, [*self.tables, *goals, *self.notes]))

    def to_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "rows": [row.to_json() for row in self.rows],
            "tables": [
                {"title": t.title, "columns": list(t.columns), "rows": [list(r) for r in t.rows]}
                for t in self.tables
            ],
            "notes": list(self.notes),
            "details": finite_json(self.details),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "Report":
        rows = [Row.from_json(row) for row in given["rows"]]
        tables = [Table(**table) for table in given["tables"]]
        return cls(
            given["benchmark"], rows, tables, given["notes"], given["details"], given["seconds"]
        )


def machine() -> dict[str, Any]:
    """Kind of machine and versions, no names of hosts or users."""
    import jax

    from bracketz.testbed.run.execute import versions

    devices = jax.devices()
    return versions() | {"devices": f"{len(devices)} x {devices[0].device_kind}"}


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"  {text}", file=sys.stderr, flush=True)


def main(
    benchmark: Callable[[argparse.Namespace], Report],
    doc: str,
    options: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> int:
    """The command line of a benchmark; its exit code."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--smoke", action="store_true", help="tiny settings: only to see that it runs"
    )
    options(parser)
    given = parser.parse_args()
    began = time.perf_counter()
    found = benchmark(given)
    report = Report(**(vars(found) | {"seconds": time.perf_counter() - began}))
    print(json.dumps(report.to_json() | {"machine": machine()}, indent=1) if given.json else report)
    return MISSED if report.missed else 0
