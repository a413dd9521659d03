"""How experiments look on a terminal."""

from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Column
from rich.text import Text

from bracketz.cli.progress import duration
from bracketz.cli.screen import Screen
from bracketz.cli.tables import plain_table


def print_status(answer: dict[str, Any]) -> None:
    title = f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done"
    title += f", {answer['failed']} failed" if answer["failed"] else ""
    table = plain_table(
        "model",
        "estimator",
        "done",
        "running",
        "failed",
        "to do",
        title=title,
    )
    for g in answer["groups"]:
        counts = (g["done"], g["running"], g["failed"], g["pending"])
        table.add_row(g["problem"], g["curve"], *(str(c) if c else "" for c in counts))
    console = Screen()
    console.print(table)
    _truth_and_failures(console, answer)


def print_answer(answer: dict[str, Any]) -> None:
    console = Screen()

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    if "tasks" in answer:
        say(
            f"{answer['experiment']}: {answer['done']} of {answer['tasks']} tasks done,"
            f" {answer['ran']} of them now, in {duration(answer['seconds'])}"
            + (f"; {answer['failed']} failed" if answer.get("failed") else "")
        )
        _truth_and_failures(console, answer)
    elif answer.get("failed"):
        say(
            f"{answer['failed']} tasks failed and are left out of every measure; bracketz"
            " experiment status says why"
        )
    if "accuracy" in answer:
        _accuracy_table(console, answer["accuracy"])
    claims = dict(answer.get("claims", {}))
    theirs = claims.pop("about_seconds", {})
    for tally, what in ((claims, "claims"), (theirs, "claims about its authors' seconds")):
        if any(tally.values()):
            say(f"{sum(tally.values())} {what}: {_counted(tally)}")
    if "report" in answer:
        say(f"{len(answer['files'])} files written; open {answer['report']}")
    else:
        for file in answer.get("files", []):
            say(f"wrote {file}")


def _counted(tally: dict[str, int]) -> str:
    """The counts that are not zero, in the order of the states."""
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in tally.items() if n)


def _accuracy_table(console: Console, lines: list[dict[str, Any]]) -> None:
    """Curves down, models across: when a trial is first accurate, and the best it gets."""
    from bracketz.testbed.analysis.ledger import seconds
    from bracketz.testbed.analysis.measures import ACCURATE

    def shown(line: dict[str, Any] | None) -> str:
        if line is None or line["best_rmse"] is None:
            return "not run" if line is None else "not judged"
        first = line["seconds_to_accurate"]
        return f"{'never' if first is None else seconds(first)} ({line['best_rmse']:.1f})"

    problems = list(dict.fromkeys(line["problem"] for line in lines))
    by_place = {(line["curve"], line["problem"]): line for line in lines}
    table = plain_table(
        "estimator",
        *problems,
        title=f"time per trial to a root mean squared error below {ACCURATE:g} nats (in parentheses"
        " the smallest error)",
    )
    for curve in dict.fromkeys(line["curve"] for line in lines):
        table.add_row(curve, *(shown(by_place.get((curve, problem))) for problem in problems))
    console.print(table)


def _cross_table(console: Console, cells: list[dict[str, Any]]) -> None:
    """Data sets down, fitted models across; in parentheses how far behind the model that made the
    data."""

    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    def score(cell: dict[str, Any], value: str, behind: str) -> str:
        return number(cell[value]) + ("" if cell["true"] else f" ({number(cell[behind])})")

    fits = list(dict.fromkeys(cell["fit"] for cell in cells))
    several = len({cell["data_seed"] for cell in cells}) > 1
    table = plain_table(
        "data",
        *(fit.replace("inferred-", "inferred ") for fit in fits),
        title="log evidence of fits (in parentheses how far behind the model that made the data)",
    )
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
        several = len({t["data_seed"] for t in answer["truth"]}) > 1
        table = plain_table(
            "model",
            *(["data seed"] if several else []),
            Column("log evidence", no_wrap=True),
            "lower",
            "upper",
            "gap",
            "",
            title="ground truth",
        )
        for t in answer["truth"]:
            verdict = "accepted" if t["accepted"] else Text("not accepted", "bold")
            cells = (
                "–" if t[k] is None else f"{t[k]:.2f}" for k in ("log_ml", "lower", "upper", "gap")
            )
            seed = [str(t["data_seed"])] if several else []
            table.add_row(t["problem"], *seed, *cells, verdict)
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
        )
