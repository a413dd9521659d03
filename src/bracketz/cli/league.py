"""``bracketz league``: tools, problems, environments and truths; for its runs see league_run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli import league_tables
from bracketz.cli.command import Command, Group
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

    found: list[dict[str, Any]] = [
        {
            "tool": tool.name,
            "about": tool.about,
            "claims": tool.claims,
            "settings": tool.settings,
            "environment": "ours" if tool.lock is None else tool.lock.stem,
            "installed": _installed(tool),
        }
        for tool in catalogue(add or ()).tools.values()
    ]
    if json:
        as_json({"tools": found})
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
        as_json({"problems": found})
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
            made[entry.name] = str(environments.install(entry, lambda text: note(text, json)))
        except InputError as error:
            if tool != "all":
                raise
            failed[entry.name] = str(error)
    if json:
        as_json({"installed": made, "failed": failed})
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
    effort: Annotated[
        int | None,
        typer.Option(
            help="Distributions of a sandwich.",
            min=2,
            show_default="a ladder decides, to a gap of 0.1",
        ),
    ] = None,
    from_prior: Annotated[
        bool,
        typer.Option("--from-prior", help="Begin a sandwich at the prior, not at a fitted normal."),
    ] = False,
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
    names = named(problems) or list(known.problems)
    wanted = [known.problem(name) for name in names]
    ours = [problem.name for problem in wanted if problem.shipped and problem.suite == "league"]
    if out is None and ours:
        raise InputError(
            f"the truth of {ours[0]} comes with bracketz: name a folder for a new one with --out"
        )
    found = []
    how: dict[str, Any] = {"chains": chains, "effort": effort, "from_prior": from_prior}
    for problem in wanted:
        if problem.suite != "league":
            continue  # given data, and a closed form
        mine = []
        for one in truths.settle(problem, list(range(datasets)), **how):
            mine.append(one)
            note(
                f"{problem.name}, data {one.data_seed}: {one.log_z:.3f} by {one.by}; sandwich"
                f" {one.bennett:.3f} ± {one.bennett_error:.3f}, gap {one.gap:.3f}",
                json,
            )
        truths.write(problem, mine, out, **how)
        found += mine
    good = all(one.accepted if one.agrees is None else one.agrees for one in found)
    if json:
        as_json({"truths": [vars(one) | {"gap": one.gap} for one in found], "accepted": good})
    else:
        league_tables.print_truths(found)
    raise typer.Exit(0 if good else 1)


def _installed(tool: Any) -> bool:
    from bracketz.testbed.league.environments import ready

    return (tool.lock is None or tool.lock.is_file()) and ready(tool) is not None


def named(text: str | None) -> list[str] | None:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def note(text: str, quiet: bool) -> None:
    from bracketz.cli.screen import Screen

    if not quiet:
        Screen(stderr=True).print(text, soft_wrap=True)


def as_json(value: dict) -> None:
    from bracketz.cli import tables

    tables.print_json(value)
