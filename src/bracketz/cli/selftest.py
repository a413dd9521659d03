"""``bracketz selftest``: the checks that look at bracketz itself."""

from typing import Annotated

import typer

from bracketz.cli.options import Json, Level, Seed


def selftest(
    level: Level = "standard",
    everything: Annotated[
        bool, typer.Option("--all", help="Go on after the first failure.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="One family (numbers) or one check (numbers.averages).")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Check bracketz itself: the loop, its numbers and the estimators, on probes with known
    answers.

    Your own model is checked by [b]bracketz check[/b]. Exit code 1: a check failed.

    [dim]bracketz selftest --level quick[/dim]
    """
    from bracketz.check import selftest as kit
    from bracketz.cli import tables
    from bracketz.cli.progress import ProgressBar
    from bracketz.engine.session import Session

    session = Session(progress=ProgressBar(quiet=json))
    answer = kit.run(level=level, seed=seed, only=only, keep_going=everything, session=session)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_check(answer, None)
    raise typer.Exit(0 if answer.passed else 1)
