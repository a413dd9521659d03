"""How answers look on a terminal."""

import json
import math
import re
from typing import TYPE_CHECKING, Any

from rich import box
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from bracketz.cli.screen import Screen
from bracketz.cli.words import translated
from bracketz.wording import percent, plus_minus

if TYPE_CHECKING:
    from bracketz.check import Report
    from bracketz.core.results import Estimate
    from bracketz.inference import Comparison, Sandwich
    from bracketz.inference.interval import Evidence
    from bracketz.inference.sweep import Sweep


def print_json(value: dict) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def _answer_table(title: str, rows: list[tuple[str, str]]) -> Table:
    table = Table(title=title, show_header=False, title_justify="left")
    for row in rows:
        table.add_row(*row)
    return table


def print_sandwich(answer: "Sandwich") -> None:
    console = Screen()
    console.print(_answer_table(f"log evidence, {answer.model}", answer.rows()))
    if answer.split:
        console.print(
            f"Of one chain's {answer.jeffreys_bound:.2f} nats the schedule costs"
            f" {answer.split.schedule:.2f} (perfect mixing would leave them) and the mixing"
            f" {answer.split.mixing:.2f}.",
        )
    if answer.crossing:
        console.print(answer.crossing)
    if not answer.converged:
        console.print(f"not converged: {answer.reason}.")
        if answer.predicted:
            console.print(f"{str(answer.predicted).capitalize()}.")


#: How an answer on observed data looks by what it rests on; each also says it in a word.
KINDS = {"certified": "bold green", "conditional": "yellow", "heuristic": "italic magenta"}
_OPENINGS = ("Certified", "Conditional", "No upper bound", "Heuristic")


def print_evidence(answer: "Evidence") -> None:
    table = Table(
        title=f"log evidence of observed data, {answer.model}",
        show_header=False,
        title_justify="left",
    )
    for name, value in answer.rows():
        kind = re.search(r"\((certified|conditional|heuristic)[^()]*\)$", value)
        table.add_row(name, Text(value, style=KINDS[kind[1]] if kind else ""))
    console = Screen()
    console.print(table)
    for said in re.split(rf" (?=(?:{'|'.join(_OPENINGS)}): )", answer.statement):
        opening = said.partition(":")[0]
        line = Text(said)
        line.stylize(KINDS.get(opening.lower(), "bold"), 0, len(opening) + 1)
        console.print(line)


def print_answer(title: str, answer: Any) -> None:
    """An answer's own rows, and what it lacks or depends on."""
    console = Screen()
    console.print(_answer_table(title, answer.rows()))
    if getattr(answer, "condition", None):
        console.print(f"{answer.condition.capitalize()}.")
    if not answer.converged:
        console.print(f"not converged: {answer.reason}.")


def print_estimate(answer: "Estimate") -> None:
    Screen().print(_answer_table(f"{answer.estimator} on {answer.model}", answer.rows()))


def plain_table(*columns: Column | str, title: str = "", gap: int = 2) -> Table:
    """Without lines between columns, which would not fit into 80 characters."""
    return Table(
        *columns,
        box=box.SIMPLE,
        padding=(0, gap - 1, 0, 0),
        title=title or None,
        title_justify="left",
    )


def print_models(models: list[dict]) -> None:
    console = Screen()
    for m in models:
        settings = [
            f"{k}={v:g}" if isinstance(v, float) else f"{k}={'auto' if v is None else v}"
            for k, v in m["defaults"].items()
        ]
        console.print(Text(m["name"], style="bold"))
        console.print(Padding(Text(m["summary"]), (0, 0, 0, 2)))
        console.print(Padding(_unbroken(settings, console.width - 2), (0, 0, 1, 2)), style="dim")
    console.print(
        "Under each model: its hyperparameters and their defaults; --set NAME=VALUE changes one.",
    )
    console.print(
        "Your own, in NumPyro, PyMC, Stan or JAX: bracketz sandwich models.py:name",
    )


def _unbroken(words: list[str], width: int) -> Text:
    """Words in lines of at most ``width`` characters, broken between them only."""
    lines = [words[0]] if words else []
    for word in words[1:]:
        if len(lines[-1]) + 2 + len(word) <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return Text("\n".join(lines))


def print_estimators(estimators: list[dict]) -> None:
    table = plain_table(
        Column("estimator", no_wrap=True),
        "in full",
        "side",
        "cost of one trial",
        title="estimators",
    )
    for e in estimators:
        side = e["side"] + ("*" if e["needs_exact_sample"] else "")
        table.add_row(e["name"], e["full_name"], side, e["cost"])
    console = Screen()
    console.print(table)
    sentences = [
        f"{e['name']} has side {e['side_observed']} on observed data."
        for e in estimators
        if e["side_observed"] not in (None, e["side"])
    ]
    if any(e["needs_exact_sample"] for e in estimators):
        sentences = ["* simulated data only: it needs their exact posterior sample.", *sentences]
    for sentence in sentences + _refusals(estimators):
        console.print(sentence)


def _refusals(estimators: list[dict]) -> list[str]:
    """Which estimators do not run on which models."""
    refused: dict[tuple[str, ...], list[str]] = {}
    for model in estimators[0]["models"]:
        missing = tuple(e["name"] for e in estimators if not e["models"][model])
        refused.setdefault(missing, []).append(model)
    return [
        f"On {', '.join(models)}: " + (f"not {', '.join(missing)}." if missing else "all of them.")
        for missing, models in refused.items()
    ]


def print_knobs(estimators: list[dict]) -> None:
    console = Screen()
    console.print("\nknobs and their defaults; the first trades accuracy for time", style="italic")
    widest = max(len(e["name"]) for e in estimators)
    table = Table.grid(Column(no_wrap=True), Column(), padding=(0, 2, 0, 0))
    for e in estimators:
        ordered = sorted(e["knobs"].items(), key=lambda item: item[0] != e["knob"])
        knobs = [f"--{k} {'auto' if v is None else v}" for k, v in ordered]
        table.add_row(e["name"], _unbroken(knobs, console.width - widest - 2))
    console.print(table)


def print_demo(answers: "list[Sandwich]", picture: str) -> None:
    columns = ("model", "estimate", "lower", "upper", "gap", "90 % certified", "run s")
    title = "log evidence of three simulated data sets, 50 x 25"
    table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for a in answers:
        table.add_row(
            a.model.removesuffix("-attributes"),
            f"{a.log_ml:.2f}±{a.standard_error:.2f}",
            f"{a.lower:.2f}",
            f"{a.upper:.2f}",
            f"{a.gap:.2f}",
            f"{a.certificate.low:.1f} {a.certificate.high:.1f}",
            f"{a.seconds.run:.1f}",
        )
    console = Screen()
    console.print(table)
    for a in answers:
        if a.crossing:
            console.print(f"{a.model}: {a.crossing}")
        if not a.converged:
            console.print(f"{a.model}: not converged: {a.reason}.")
    compiling = sum(a.seconds.compile for a in answers)
    console.print(f"and {compiling:.0f} s to compile; bounds and certificates: {picture}")


def outwards(low: float, high: float | None) -> tuple[str, str]:
    """The ends of an interval with one decimal, never narrower than it is."""
    below = math.floor(10 * low) / 10 if math.isfinite(low) else low
    above = "no bound" if high is None else f"{math.ceil(10 * high) / 10:.1f}"
    return f"{below:.1f}", above


def print_comparison(answer: "Comparison", standardized: bool) -> None:
    from bracketz.inference.comparison import strength

    table = plain_table(
        Column("model", overflow="fold"),
        Column("log evidence", no_wrap=True),
        Column(f"{percent(answer.confidence)} interval", no_wrap=True),
        Column("behind", no_wrap=True),
        Column("prob.", no_wrap=True),
        "evidence against",
        title="lower ends certified; estimates and upper ends conditional",
        gap=1,
    )
    for c, row in zip(answer.candidates, answer.rows(), strict=True):
        low, high = outwards(row["low"], row["high"])
        word = "" if c is answer.best else strength(row["difference"])
        table.add_row(
            c.name + ("" if c.warning is None else " *"),
            f"{c.log_ml:.2f} {plus_minus(c.evidence.standard_error)}",
            f"[{low}, {high}]",
            f"{row['difference']:.1f}",
            f"{row['probability']:.3f}",
            word.removeprefix("not worth more than a "),
        )
    console = Screen()
    console.print(table)

    def say(text):
        console.print(text)

    for c in answer.candidates:
        if c.warning is not None:
            say(f"* {c.name}: {translated(c.warning)}.")
    if standardized:
        say(
            f"The columns were standardised; {answer.log_jacobian:+.1f} nats (the Jacobian) are"
            " put back, so these are bounds for the data as given."
        )
    if answer.missing:
        say(f"{answer.missing} missing entries were treated as unobserved.")
    say("prob.: equal prior odds. Words after Kass and Raftery (1995).")
    best = answer.best.evidence.certificate
    say(
        f"Certified: the log evidence of {answer.best.name} is at least {best.low:.1f}, with"
        f" {percent(best.confidence)} confidence."
    )
    if answer.twins:
        covered = sum(c.evidence.twins.covered for c in answer.candidates if c.evidence.twins)
        say(
            f"Heuristic: on {answer.twins * len(answer.candidates)} data sets simulated from the"
            f" fitted models the same procedure held the truth in {covered}; intervals have the"
            " margins that the others ask for."
        )
    verdict = translated(answer.verdict)
    say(verdict[0].upper() + verdict[1:])
    say(f"{answer.seconds.run:.0f} s, and {answer.seconds.compile:.0f} s to compile")


def print_sweep(answer: "Sweep") -> None:
    table = plain_table(
        Column(answer.parameter, no_wrap=True),
        *(Column(name, overflow="fold") for name in answer.names),
        title="log evidence [certified low, conditional high]",
        gap=1,
    )
    curves = [answer.curve(name) for name in answer.names]
    for k, value in enumerate(answer.values):
        cells = []
        for middle, low, high in curves:
            end = f"{high[k]:.1f}" if math.isfinite(high[k]) else "no bound"
            cells.append(f"{middle[k]:.1f} [{low[k]:.1f}, {end}]")
        table.add_row(f"{value:g}", *(Text(cell) for cell in cells))
    console = Screen()
    console.print(table)
    verdict = answer.verdict
    console.print(verdict[0].upper() + verdict[1:])


def print_check(answer: "Report", folder) -> None:

    table = plain_table(
        "check",
        "kind",
        "verdict",
        "statistic",
        "threshold",
        title=f"{answer.model}, level {answer.level}, seed {answer.seed}",
    )
    for r in answer.results:
        if r.passed is None:
            table.add_row(r.name, str(r.kind), Text("n/a", style="dim"), "", "")
            continue
        verdict = Text("passed", "green") if r.passed else Text("FAILED", "bold red")
        relation = (">", "<")[r.passed] if r.kind == "exact" else ("<", ">")[r.passed]
        table.add_row(
            r.name, str(r.kind), verdict, f"{r.statistic:.2g}", f"{relation} {r.threshold:.2g}"
        )
    console = Screen()
    console.print(table)
    for r in answer.failures:
        console.print(Text(r.name, "bold red"), f": {r.detail}", sep="")
        console.print(f"  usual cause: {r.bug}")
    for r in answer.results:
        if r.passed is None:
            console.print(f"{r.name} could not be checked: {r.detail}", style="dim")
    run = sum(r.passed is not None for r in answer.results)
    left = answer.planned - len(answer.results)
    rest = f"; {left} were not run after the failure (--all runs them)" if left else ""
    console.print(
        f"{run} checks, {len(answer.failures)} failed{rest}. Exact checks compare numbers up to"
        " rounding; p-values share a false-alarm rate of"
        f" {percent(answer.false_alarm_rate)} for the whole run.",
    )
    if folder is not None:
        console.print(f"pictures and numbers: open {folder}/report.html")
