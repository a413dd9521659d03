"""How experiments look on a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bracketz.cli.bars import duration
from bracketz.cli.show import print_json

__all__ = ["print_answer", "print_json", "print_status"]


def print_status(answer: dict[str, Any]) -> None:
    title = f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done"
    table = Table(
        "model", "estimator", "done", "running", "failed", "to do", title=title, title_justify="left"
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
            f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done, {answer['ran']} of them now,"
            f" in {duration(answer['seconds'])}",
            highlight=False,
        )
        _truth_and_failures(console, answer)
    for file in answer.get("files", []):
        console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def _truth_and_failures(console: Console, answer: dict[str, Any]) -> None:
    if answer["truth"]:
        table = Table("ground truth", "data seed", "log ML", "lower", "upper", "gap", "")
        for t in answer["truth"]:
            verdict = "accepted" if t["accepted"] else "[bold]not accepted[/bold]"
            cells = (f"{t[k]:.2f}" for k in ("log_ml", "lower", "upper", "gap"))
            table.add_row(t["problem"], str(t["data_seed"]), *cells, verdict)
        console.print(table)
        if not all(t["accepted"] for t in answer["truth"]):
            console.print("a truth is accepted when its bounds agree; raise truth.distributions in the spec")
    for f in answer["failures"]:
        console.print(
            f"failed: {f['problem']} {f['curve']} at {f['rung']}: {f['message']}",
            highlight=False,
            markup=False,
        )
