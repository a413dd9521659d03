"""``bracketz league``: other people's tools, and ours, against the truth."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli import league_tables
from bracketz.cli.command import Command, Group
from bracketz.cli.names import one_of
from bracketz.cli.options import Json

league = typer.Typer(
    name="league",
    cls=Group,
    help="Every evidence tool against a truth nobody has to believe; see docs/league.md.",
    no_args_is_help=False,
    rich_markup_mode="rich",
)

Seed = Annotated[int, typer.Option(help="Taken by every command; nothing here is random.")]
Added = Annotated[
    list[Path] | None,
    typer.Option("--add", metavar="FILE", help="A problem or a tool of your own (a .py file)."),
]
Problems = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="With commas; see league problems.", show_default="all"),
]
Out = Annotated[Path, typer.Option(help="Folder of the store (league.db) and the report.")]


@league.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@league.command(cls=Command)
def tools(add: Added = None, seed: Seed = 0, json: Json = False) -> None:
    """List the tools: what each claims, its settings, and whether its environment has been made.

    A tool is one file; your own joins by [b]--add my_tool.py[/b].
    """
    from bracketz.testbed.league.catalogue import catalogue
    from bracketz.testbed.league.environments import python_of

    found: list[dict[str, Any]] = [
        {
            "tool": tool.name,
            "about": tool.about,
            "claims": tool.claims,
            "settings": tool.settings,
            "environment": "ours" if tool.lock is None else tool.lock.stem,
            "installed": tool.lock is None or (tool.lock.is_file() and bool(python_of(tool))),
        }
        for tool in catalogue(add or ()).tools.values()
    ]
    if json:
        _json({"tools": found})
        return
    league_tables.print_tools(found)


@league.command(cls=Command)
def problems(add: Added = None, seed: Seed = 0, json: Json = False) -> None:
    """List the problems: dimension, what is hard, and how well the truth is known.

    A problem is one file; your own joins by [b]--add my_problem.py[/b], and its truth by [b]league
    truth[/b].
    """
    from bracketz.testbed.league.catalogue import catalogue
    from bracketz.testbed.league.datasets import simulate
    from bracketz.testbed.league.truth import read

    found = []
    for problem in catalogue(add or ()).problems.values():
        truths = read(problem)
        accepted = [t for t in truths.values() if t.accepted]
        found.append(
            {
                "problem": problem.name,
                "dimension": simulate(problem, 0).for_tools().dimension,
                "hard": problem.hard,
                "suite": problem.suite,
                "exact": problem.exact,
                "truths": len(truths),
                "accepted": len(accepted),
                "disagree": sum(t.agrees is False for t in truths.values()),
                "largest_gap": max((t.gap for t in accepted), default=None),
                "largest_error": max((t.bennett_error for t in accepted), default=None),
            }
        )
    if json:
        _json({"problems": found})
        return
    league_tables.print_problems(found)


@league.command(cls=Command)
def install(
    tool: Annotated[
        str, typer.Argument(metavar="TOOL|all", help="A tool's name, or all; see league tools.")
    ],
    add: Added = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make a tool's own environment from its lock file, so that its pins bind nobody else's.

    Environments lie in the cache folder, or in $BRACKETZ_LEAGUE. Exit code 1: one of all could not
    be made.

    [dim]bracketz league install dynesty[/dim]
    """
    from bracketz.errors import InputError
    from bracketz.testbed.league import environments
    from bracketz.testbed.league.catalogue import catalogue

    known = catalogue(add or ())
    wanted = list(known.tools.values()) if tool == "all" else [known.tool(tool)]
    made, failed = {}, {}
    for entry in wanted:
        try:
            made[entry.name] = str(environments.install(entry, lambda text: _note(text, json)))
        except InputError as error:
            if tool != "all":
                raise
            failed[entry.name] = str(error)
    if json:
        _json({"installed": made, "failed": failed})
    else:
        league_tables.print_lines(("tool", "interpreter"), [*made.items(), *failed.items()])
    raise typer.Exit(1 if failed else 0)


@league.command(cls=Command)
def truth(
    problems: Problems = None,
    datasets: Annotated[int, typer.Option(help="Data sets of each problem.", min=1)] = 10,
    chains: Annotated[
        int, typer.Option(help="Of a sandwich, in each direction, at the least.", min=2)
    ] = 2048,
    add: Added = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the truths.", show_default="truths, beside a file that was added"
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bracket the evidence of every data set by our own sandwich, which knows the parameters that
    made them, and keep it with what made it.

    Exit code 1: a gap above 0.1 nats or an error above 0.03 where no closed form is known, or a
    sandwich that disagrees with one.

    [dim]bracketz league truth --problems logistic-10 --out truths[/dim]
    """
    from bracketz.errors import InputError
    from bracketz.testbed.league import truth as truths
    from bracketz.testbed.league.catalogue import catalogue

    known = catalogue(add or ())
    names = problems.split(",") if problems else list(known.problems)
    wanted = [known.problem(name) for name in names]
    ours = [problem.name for problem in wanted if problem.shipped and problem.suite == "league"]
    if out is None and ours:
        raise InputError(
            f"the truth of {ours[0]} comes with bracketz: name a folder for a new one with --out"
        )
    found = []
    for problem in wanted:
        if problem.suite != "league":
            continue  # given data, and a closed form
        mine = []
        for one in truths.settle(problem, list(range(datasets)), chains=chains):
            mine.append(one)
            _note(
                f"{problem.name}, data {one.data_seed}: {one.log_z:.3f} by {one.by}; sandwich"
                f" {one.bennett:.3f} ± {one.bennett_error:.3f}, gap {one.gap:.3f}",
                json,
            )
        truths.write(problem, mine, out, chains=chains)
        found += mine
    good = all(one.accepted if one.agrees is None else one.agrees for one in found)
    if json:
        _json({"truths": [vars(one) | {"gap": one.gap} for one in found], "accepted": good})
    else:
        league_tables.print_truths(found)
    raise typer.Exit(0 if good else 1)


@league.command(cls=Command)
def run(
    out: Out,
    preset: Annotated[
        str,
        typer.Option(
            help="quick (a few problems, defaults) or full (all, 10 data sets, every setting).",
            autocompletion=one_of("quick", "full"),
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
    add: Added = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run tools on problems, one at a time, in shuffled order; run it again to continue.

    Every run is a row: an answer, a failure, or a process that was killed at its limit. No tool
    sees the truth or the parameters behind the data. Exit code 1: something is left to do.

    [dim]bracketz league run --preset quick --out league/[/dim]
    """
    import time

    from bracketz.errors import InputError
    from bracketz.outputs import own_folder
    from bracketz.testbed.league.catalogue import catalogue
    from bracketz.testbed.league.environments import python_of
    from bracketz.testbed.league.plan import plan
    from bracketz.testbed.league.plan import preset as find_preset
    from bracketz.testbed.league.process import Limits
    from bracketz.testbed.league.run import run_league
    from bracketz.testbed.league.store import Store

    known, chosen = catalogue(add or ()), find_preset(preset)
    names = _names(tools) or [name for name, tool in known.tools.items() if python_of(tool)]
    runs = plan(
        known,
        chosen,
        tools=names,
        problems=_names(problems),
        settings=_names(settings),
        datasets=datasets,
    )
    for name in names:
        if python_of(known.tool(name)) is None:
            raise InputError(
                f"{name} has no environment; make one with: bracketz league install {name}"
            )
    seconds = chosen.limits.seconds if max_seconds is None else max_seconds
    memory = chosen.limits.memory if max_memory is None else max_memory
    if not (seconds > 0 and memory > 0):
        raise InputError(f"a run needs seconds and memory, got {seconds:g} s and {memory:g} GiB")
    limits = Limits(seconds, memory, cores)
    own_folder(out)
    began = time.monotonic()
    with Store(out / "league.db", create=True) as store:
        standing = run_league(
            runs,
            store,
            limits,
            lambda text: _note(text, json),
            lambda: stop_after is not None and time.monotonic() - began > stop_after,
        )
    told = vars(standing) | {"out": str(out), "seconds": time.monotonic() - began}
    if json:
        _json(told)
    else:
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

        _json(finite_json({"tools": shown.to_dict("records"), "files": written}))
        return
    league_tables.print_standings(shown.to_dict("records"))
    _say(f"{len(written)} files written; open {out / 'index.html'}")


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _note(text: str, quiet: bool) -> None:
    from bracketz.cli.screen import Screen

    if not quiet:
        Screen(stderr=True).print(text, soft_wrap=True)


def _say(text: str) -> None:
    from bracketz.cli.screen import Screen

    Screen().print(text, soft_wrap=True)


def _json(value: dict) -> None:
    from bracketz.cli import tables

    tables.print_json(value)
