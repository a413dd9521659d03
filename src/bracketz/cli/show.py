"""How answers look on a terminal."""

import json
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bracketz.answer import Estimate
from bracketz.bidirectional import Sandwich

if TYPE_CHECKING:
    from bracketz.check import Report
    from bracketz.comparison import Comparison

BOUND = {"lower": "stochastic lower bound", "upper": "stochastic upper bound", "none": "no bound"}


def print_json(value: dict) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def print_sandwich(answer: Sandwich) -> None:
    table = Table(title=f"log p(y), {answer.model}", show_header=False, title_justify="left")
    certificate = answer.certificate
    table.add_row("lower bound", f"{answer.lower:.2f}")
    table.add_row("upper bound", f"{answer.upper:.2f}")
    table.add_row("gap", f"{answer.gap:.2f} nats (goal {answer.target:g})")
    table.add_row("log ML (BAR)", f"{answer.log_ml:.2f} ± {answer.standard_error:.2f}")
    table.add_row(
        f"{certificate.confidence:.0%} certificate", f"[{certificate.low:.2f}, {certificate.high:.2f}]"
    )
    table.add_row("Jeffreys bound", f"{answer.jeffreys_bound:.2f} nats, one chain")
    table.add_row("distributions", f"{answer.distributions:,} x {answer.chains} chains, both ways")
    pilot = f" ({answer.pilot.seconds:.1f} s of it the pilot)" if answer.pilot else ""
    table.add_row("time", f"{answer.seconds.run:.1f} s{pilot}, and {answer.seconds.compile:.1f} s to compile")
    console = Console()
    console.print(table)
    if answer.split:
        console.print(
            f"Of one chain's {answer.jeffreys_bound:.2f} nats the schedule costs {answer.split.schedule:.2f} (perfect mixing"
            f" would leave them) and the mixing {answer.split.mixing:.2f}.",
            highlight=False,
        )
    if not answer.converged:
        console.print(
            f"not converged: the gap is {answer.gap:.2f} and the goal {answer.target:g}; allow more --max-seconds"
            + (f" ({answer.predicted})" if answer.predicted else "")
        )


def print_estimate(answer: Estimate) -> None:
    table = Table(title=f"{answer.estimator} on {answer.model}", show_header=False, title_justify="left")
    table.add_row("log ML", f"{answer.log_ml:.2f} ± {answer.standard_error:.2f}")
    table.add_row("side", f"{answer.side}: {BOUND[answer.side]}")
    mean, low, high = answer.expected()
    table.add_row("one trial", f"{mean:.2f} on average, 95 % interval for that mean [{low:.2f}, {high:.2f}]")
    table.add_row("trials", str(answer.trials))
    for name, values in answer.details.items():
        table.add_row(name, f"{sum(values) / len(values):.0f} on average")
    table.add_row("knobs", ", ".join(f"{k} {v}" for k, v in answer.knobs.items() if v is not None))
    table.add_row("time", f"{answer.seconds.run:.2f} s, and {answer.seconds.compile:.1f} s to compile")
    Console().print(table)


def print_models(models: list[dict]) -> None:
    table = Table("model", "what it is", "hyperparameters (--set) and their defaults")
    for m in models:
        settings = ", ".join(
            f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in m["defaults"].items()
        )
        table.add_row(m["name"], m["summary"], settings)
    Console().print(table)


def print_estimators(estimators: list[dict], models: list[str]) -> None:
    table = Table(
        "estimator", "side", *models, title="which estimator runs on which model", title_justify="left"
    )
    for e in estimators:
        side = e["side"] + ("*" if e["needs_exact_sample"] else "")
        table.add_row(e["name"], side, *("yes" if e["models"][m] else "no" for m in models))
    console = Console()
    console.print(table)
    console.print(
        "* upper bounds need an exact posterior sample, that is, simulated data; hme has side none otherwise\n",
        highlight=False,
    )
    knobs = Table("estimator", "knobs and their defaults (the first trades accuracy for time)")
    for e in estimators:
        ordered = sorted(e["knobs"].items(), key=lambda item: item[0] != e["knob"])
        knobs.add_row(e["name"], "  ".join(f"--{k} {'auto' if v is None else v}" for k, v in ordered))
    console.print(knobs)


def print_demo(answers: list[Sandwich], picture: str) -> None:
    columns = ("model", "log ML", "±", "lower", "upper", "gap", "distr.", "run s")
    title = "log p(y) of three simulated data sets, 50 x 25"
    table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for a in answers:
        table.add_row(
            a.model,
            f"{a.log_ml:.2f}",
            f"{a.standard_error:.2f}",
            f"{a.lower:.2f}",
            f"{a.upper:.2f}",
            f"{a.gap:.2f}",
            f"{a.distributions:,}",
            f"{a.seconds.run:.1f}",
        )
    console = Console()
    console.print(table)
    compiling = sum(a.seconds.compile for a in answers)
    console.print(f"and {compiling:.0f} s to compile; both bounds closing: {picture}", highlight=False)


def print_comparison(answer: "Comparison", standardized: bool) -> None:
    from bracketz.comparison import strength

    validated = answer.decided is not None
    columns = [
        "model",
        "K",
        "log p(y) >=",
        "±",
        "distr.",
        *(["off by"] if validated else []),
        "behind",
        "prob.",
        "evidence against",
    ]
    table = Table(
        *columns, box=box.SIMPLE, padding=(0, 1, 0, 0),
        title="evidence of each model: stochastic lower bounds, hyperparameters inferred", title_justify="left",
    )  # fmt: skip
    for c, probability in zip(answer.candidates, answer.probabilities, strict=True):
        behind = answer.best.lower - c.lower
        margin = [f"{c.margin:.1f}" if c.margin is not None else ""] if validated else []
        table.add_row(
            c.model,
            "" if c.components is None else str(c.components),
            f"{c.lower:.1f}",
            f"{c.standard_error:.1f}",
            f"{c.distributions:,}" + ("" if c.settled else " +"),
            *margin,
            f"{behind:.1f}",
            f"{probability:.3f}",
            "" if c is answer.best else strength(behind),
        )
    console = Console(width=max(100, Console().width))
    console.print(table)

    def say(text):
        console.print(text, highlight=False)

    if any(not c.settled for c in answer.candidates):
        say("+ not settled when it stopped at --max-effort.")
    if standardized:
        say(
            f"The columns were standardised; {answer.log_jacobian:+.1f} nats (the Jacobian) are put back, so these are bounds"
            " for the data as given."
        )
    if answer.missing:
        say(f"{answer.missing} missing entries were treated as unobserved.")
    say(
        "prob.: equal prior odds, with lower bounds in place of evidences. Words after Kass and Raftery (1995)."
    )
    if validated:
        say(
            "off by: how far apart both bounds were, with the same settings, on data simulated from the fitted model; a"
            " heuristic margin for the real data."
        )
    say(answer.verdict[0].upper() + answer.verdict[1:])
    say(f"{answer.seconds.run:.0f} s, and {answer.seconds.compile:.0f} s to compile")


def print_check(answer: "Report", folder) -> None:
    table = Table(
        "check", "kind", "verdict", "statistic", "threshold", box=box.SIMPLE, padding=(0, 1, 0, 0),
        title=f"{answer.model}, level {answer.level}, seed {answer.seed}", title_justify="left",
    )  # fmt: skip
    for r in answer.results:
        if r.passed is None:
            table.add_row(r.name, str(r.kind), "[dim]n/a[/dim]", "", "")
            continue
        verdict = "[green]passed[/green]" if r.passed else "[bold red]FAILED[/bold red]"
        relation = (">", "<")[r.passed] if r.kind == "exact" else ("<", ">")[r.passed]
        table.add_row(r.name, str(r.kind), verdict, f"{r.statistic:.2g}", f"{relation} {r.threshold:.2g}")
    console = Console()
    console.print(table)
    for r in answer.failures:
        console.print(f"[bold red]{r.name}[/bold red]: {escape(r.detail)}", highlight=False)
        console.print(f"  usual cause: {escape(r.bug)}", highlight=False)
    run = sum(r.passed is not None for r in answer.results)
    left = answer.planned - len(answer.results)
    rest = f"; {left} were not run after the failure (--all runs them)" if left else ""
    console.print(
        f"{run} checks, {len(answer.failures)} failed{rest}. Exact checks compare numbers up to rounding; p-values share a"
        f" false-alarm rate of {answer.false_alarm_rate:.0%} for the whole run.",
        highlight=False,
    )
    if folder is not None:
        console.print(f"pictures and numbers: {folder}/report.html", highlight=False)
