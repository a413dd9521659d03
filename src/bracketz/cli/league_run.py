"""``bracketz league run`` and ``report``: rows, and what they come to."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli import league_tables
from bracketz.cli.command import Command
from bracketz.cli.league import Added, Seed, as_json, league, named, note
from bracketz.cli.names import one_of
from bracketz.cli.options import Json, Scheduler, Workers

__all__ = ["league"]

Out = Annotated[Path, typer.Option(help="Folder of the store (league.db) and the report.")]


@league.command(cls=Command)
def run(
    out: Out,
    preset: Annotated[
        str,
        typer.Option(
            help="quick (defaults on a few problems), full (hours) or complete (days).",
            autocompletion=one_of("quick", "full", "complete"),
        ),
    ] = "quick",
    tools: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="With commas; see league tools.", show_default="installed ones"
        ),
    ] = None,
    problems: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="With commas.", show_default="the preset's"),
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="default, accurate.", show_default="the preset's"),
    ] = None,
    datasets: Annotated[
        int | None,
        typer.Option(help="Data sets of each problem.", min=1, show_default="the preset's"),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Of one run, then it is killed.", show_default="the preset's"),
    ] = None,
    max_memory: Annotated[
        float | None,
        typer.Option(metavar="GIB", help="Of one run.", show_default="6"),
    ] = None,
    cores: Annotated[int, typer.Option(help="Of one run, the same for every tool.", min=1)] = 1,
    stop_after: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Begin no run after this long.", show_default="never"),
    ] = None,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Make those runs again that failed or were killed."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many runs are left, and how long.")
    ] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    add: Added = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run tools on problems, one at a time, in shuffled order; run it again to continue.

    Every run is a row: an answer, a failure, or a process that was killed at its limit. No tool
    sees the truth or the parameters behind the data. With workers there is one run at a time for
    each of them, on cores of its own. Exit code 1: something is left to do.

    [dim]bracketz league run --preset quick --out league/[/dim]
    """
    from bracketz.outputs import own_folder
    from bracketz.testbed.league.catalogue import catalogue
    from bracketz.testbed.league.plan import plan
    from bracketz.testbed.league.plan import preset as find_preset
    from bracketz.testbed.league.run import run_league
    from bracketz.testbed.league.run import waiting as waiting_runs
    from bracketz.testbed.league.store import Store

    known, chosen = catalogue(add or ()), find_preset(preset)
    runs = plan(
        known,
        chosen,
        tools=_tools(known, named(tools), anywhere=dry_run or scheduler is not None),
        problems=named(problems),
        settings=named(settings),
        datasets=datasets,
    )
    limits = _limits(chosen.limits, max_seconds, max_memory, cores)
    if dry_run:
        _foretell(runs, limits, out, workers or 1, json)
        return
    began = time.monotonic()
    with ExitStack() as stack:
        executor = _executor(stack, workers, scheduler, json)
        own_folder(out)
        store = stack.enter_context(Store(out / "league.db", create=True))
        if retry:
            asked = {due.key for due in waiting_runs(runs, set(), limits)}
            store.forget(asked & store.done(("failed", "killed")))
        standing = run_league(
            runs,
            store,
            limits,
            lambda text: note(text, json),
            lambda: stop_after is not None and time.monotonic() - began > stop_after,
            executor,
        )
    told = vars(standing) | {"out": str(out), "seconds": time.monotonic() - began}
    if json:
        as_json(told)
    else:
        if standing.missing:
            _say(f"not made, for want of an environment or more: {', '.join(standing.missing)}")
        if standing.lost:
            _say(f"{standing.lost} runs were lost with their workers; run this again to make them")
        _say(
            f"{standing.done} of {standing.total} runs done, {standing.ran} of them now; next:"
            f" bracketz league report --out {out}"
        )
    raise typer.Exit(0 if standing.done == standing.total else 1)


@league.command(cls=Command)
def report(
    out: Out,
    add: Added = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files of --out that are not bracketz's.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Judge every row by the truth: a page, one per tool, the figure, and CSV tables.

    [dim]bracketz league report --out league/[/dim]
    """
    from bracketz.cli.progress import waiting
    from bracketz.testbed.league import report as pages
    from bracketz.testbed.league.catalogue import catalogue
    from bracketz.testbed.league.store import Store

    known = catalogue(add or ())
    with Store(out / "league.db") as store, waiting("drawing", json):
        found_rows = store.rows()
        written = pages.write(found_rows, known, out, force=force)
        found = pages.tables(found_rows, pages.truths_of(known, found_rows))
    shown = found["tools"]
    if json:
        from bracketz.core.results import finite_json

        as_json(finite_json({"tools": shown.to_dict("records"), "files": written}))
        return
    league_tables.print_standings(shown.to_dict("records"))
    _say(f"{len(written)} files written; open {out / 'index.html'}")


def _tools(known: Any, wanted: list[str] | None, *, anywhere: bool) -> list[str]:
    """Those that were named, else those whose environments are there; refuses what was named and
    is not there, unless it may be elsewhere."""
    from bracketz.errors import InputError
    from bracketz.testbed.league.environments import python_of, ready

    if wanted is None:
        return [name for name, tool in known.tools.items() if anywhere or ready(tool)]
    for name in () if anywhere else wanted:
        if python_of(known.tool(name)) is None:
            raise InputError(
                f"{name} has no environment; make one with: bracketz league install {name}"
            )
        if (sentence := known.tool(name).missing()) is not None:
            raise InputError(f"{name} is {sentence}")
    return wanted


def _limits(usual: Any, seconds: float | None, memory: float | None, cores: int) -> Any:
    from bracketz.errors import InputError
    from bracketz.testbed.league.process import Limits

    seconds = usual.seconds if seconds is None else seconds
    memory = usual.memory if memory is None else memory
    if not (seconds > 0 and memory > 0):
        raise InputError(f"a run needs seconds and memory, got {seconds:g} s and {memory:g} GiB")
    return Limits(seconds, memory, cores)


def _executor(
    stack: ExitStack, workers: int | None, scheduler: str | None, quiet: bool
) -> Callable[..., Any]:
    """Here, or on a cluster for as long as the stack is open."""
    from bracketz.testbed.league.run import here

    if workers is None and scheduler is None:
        return here
    from bracketz.cli.progress import waiting
    from bracketz.testbed.league.cluster import cluster

    with waiting("starting the workers", quiet):
        return stack.enter_context(cluster(workers, scheduler, lambda text: note(text, quiet)))


def _foretell(runs: list[Any], limits: Any, out: Path, workers: int, json: bool) -> None:
    """How many runs have no row yet, and what they will take."""
    from bracketz.testbed.league.forecast import costs_of, forecast, read_costs
    from bracketz.testbed.league.run import waiting
    from bracketz.testbed.league.store import Store

    known, there = read_costs(), set()
    if (out / "league.db").is_file():
        with Store(out / "league.db") as store:
            there = store.done()
            known |= costs_of(store.rows())
    left = [due.run for due in waiting(runs, there, limits)]
    found = forecast(left, limits, known)
    hours, most = found.seconds / 3600 / workers, found.at_most / 3600 / workers
    if json:
        told = {"total": len(runs), "left": found.runs, "hours": hours, "hours_at_most": most}
        as_json(told | {"unknown": found.unknown, "workers": workers})
        return
    who = "one at a time" if workers == 1 else f"on {workers} workers"
    _say(
        f"{found.runs} of {len(runs)} runs are left: about {_time(hours)} {who} on idle cores,"
        f" {_time(most)} if each takes its {limits.seconds:g} s"
    )
    if found.unknown:
        _say(f"{found.unknown} of them by their limit, for want of anything better")


def _time(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.0f} min"


def _say(text: str) -> None:
    from bracketz.cli.screen import Screen

    Screen().print(text, soft_wrap=True)
