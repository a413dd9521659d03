"""How experiments look on a terminal."""

from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from bracketz.cli.progress import duration


def print_status(answer: dict[str, Any]) -> None:
    title = f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done"
    title += f", {answer['failed']} failed" if answer["failed"] else ""
    table = Table(
        "model",
        "estimator",
        "done",
        "running",
        "failed",
        "to do",
        title=title,
        title_justify="left",
    )
    for g in answer["groups"]:
        counts = (g["done"], g["running"], g["failed"], g["pending"])
        table.add_row(g["problem"], g["curve"], *(str(c) if c else "" for c in counts))
    console = Console()
    console.print(table)
    _truth_and_failures(console, answer)


def print_answer(answer: dict[str, Any]) -> None:
    console = Console()
    if "tasks" in answer:
        console.print(
            f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done,"
            f" {answer['ran']} of them now, in {duration(answer['seconds'])}"
            + (f"; {answer['failed']} failed" if answer["failed"] else ""),
            highlight=False,
        )
        _truth_and_failures(console, answer)
    elif answer.get("failed"):
        console.print(
            f"{answer['failed']} tasks failed and are left out of every measure; bracketz"
            " experiment status says why",
            highlight=False,
        )
    for file in answer.get("files", []):
        console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def _cross_table(console: Console, cells: list[dict[str, Any]]) -> None:
    """Data sets down, fitted models across; in parentheses how far behind the model that made the
    data."""

    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    def score(cell: dict[str, Any], value: str, behind: str) -> str:
        return number(cell[value]) + ("" if cell["true"] else f" ({number(cell[behind])})")

    fits = list(dict.fromkeys(cell["fit"] for cell in cells))
    several = len({cell["data_seed"] for cell in cells}) > 1
    table = Table("log evidence of fits", *(fit.replace("inferred-", "inferred ") for fit in fits))
    for (problem, data_seed), group in groupby(
        cells, lambda cell: (cell["problem"], cell["data_seed"])
    ):
        row = {cell["fit"]: cell for cell in group}
        lines = {
            problem + (f", data seed {data_seed}" if several else ""): lambda c: score(
                c, "log_ml", "behind"
            )
        }
        lines["  standard error"] = lambda c: number(c["standard_error"])
        if any(cell["paper"] is not None for cell in row.values()):
            lines["  paper"] = lambda c: score(c, "paper", "paper_behind")
        for name, shown in lines.items():
            table.add_row(name, *(shown(row[fit]) if fit in row else "" for fit in fits))
        table.add_section()
    console.print(table)


def _truth_and_failures(console: Console, answer: dict[str, Any]) -> None:
    if answer["truth"]:
        table = Table("ground truth", "data seed", "log evidence", "lower", "upper", "gap", "")
        for t in answer["truth"]:
            verdict = "accepted" if t["accepted"] else "[bold]not accepted[/bold]"
            cells = (
                "–" if t[k] is None else f"{t[k]:.2f}" for k in ("log_ml", "lower", "upper", "gap")
            )
            table.add_row(t["problem"], str(t["data_seed"]), *cells, verdict)
        console.print(table)
        if not all(t["accepted"] for t in answer["truth"]):
            console.print(
                "a truth is accepted when its bounds agree; raise truth.distributions in the spec"
            )
    if answer["cross"]:
        _cross_table(console, answer["cross"])
    for f in answer["failures"]:
        console.print(
            f"failed: {f['problem']} {f['curve']} at {f['rung']}: {f['message']}",
            highlight=False,
            markup=False,
        )
