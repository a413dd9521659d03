"""How the league looks on a terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

from bracketz.cli.screen import Screen


def print_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose first column keeps its width."""
    from rich.table import Column

    from bracketz.cli.tables import plain_table

    table = plain_table(Column(heads[0], no_wrap=True), *heads[1:])
    for row in rows:
        table.add_row(*row)
    Screen().print(table)


def print_tools(found: list[dict[str, Any]]) -> None:
    rows = [
        (t["tool"], t["about"], ", ".join(t["settings"]), "yes" if t["installed"] else "no")
        for t in found
    ]
    print_lines(("tool", "what it is", "settings", "installed"), rows)


def print_problems(found: list[dict[str, Any]]) -> None:
    rows = [
        (
            p["problem"],
            str(p["dimension"]),
            p["hard"],
            (p["exact"] or "").replace("closed form", "formula"),
            _sandwiches(p),
        )
        for p in found
    ]
    print_lines(("problem", "D", "what is hard", "exact by", "sandwich"), rows)


def _sandwiches(problem: dict[str, Any]) -> str:
    """How many were accepted, and how many a closed form contradicts."""
    if problem["suite"] != "league":
        return ""
    told = f"{problem['accepted']} of {problem['truths']}"
    return told + (f", {problem['disagree']} off" if problem["disagree"] else "")


def print_truths(found: list[Any]) -> None:
    rows = [
        (
            one.problem,
            str(one.data_seed),
            f"{one.log_z:.3f}",
            one.by,
            f"{one.bennett - one.log_z:+.3f}",
            f"{one.bennett_error:.3f}",
            f"{one.gap:.3f}",
            "yes" if one.accepted else "no",
        )
        for one in found
    ]
    heads = ("problem", "data", "log evidence", "by", "sandwich off", "±", "gap", "accepted")
    print_lines(heads, rows)


def print_standings(lines: list[dict[str, Any]]) -> None:
    rows = [
        (
            line["tool"],
            line["setting"],
            f"{line['answers']} of {line['runs']}",
            *(_cell(line[name]) for name in ("near", "fair", "rms", "ratio", "lies", "silent")),
        )
        for line in lines
    ]
    heads = ("tool", "setting", "answers", "near", "fair", "RMS", "ratio", "lies", "silent")
    print_lines(heads, rows)
    Screen().print(
        "near, fair: share of runs within 0.1 and 0.5 nats of the truth; ratio: error over claimed"
        " error; lies: off by more than three combined errors; silent: off by more than 0.5 nats"
        " and nobody was told"
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value == value else "–"
    return str(value)
