"""``bracketz check``: the correctness kit on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.options import (
    Columns,
    Components,
    Covariates,
    Decimal,
    Drop,
    Json,
    Level,
    ModelName,
    Observe,
    Rows,
    Seed,
    Settings,
    StanData,
    TableFile,
)
from bracketz.errors import InputError


def check(
    model: ModelName,
    level: Level = "standard",
    everything: Annotated[
        bool, typer.Option("--all", help="Go on after the first failure.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(help="One family (conditionals) or one check (conditionals.ratios)."),
    ] = None,
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    data: TableFile = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    stan_data: StanData = None,
    report: Annotated[
        Path | None, typer.Option(help="Folder for pictures, a page and the numbers.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in --report.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Find the bug: check a model's conditionals, caches, densities, sampler and bounds.

    Exact checks come first, then statistical ones; a correct model fails anything with probability
    at most 1 %. Exit code 1: a check failed.

    [dim]bracketz check models.py:regression --level quick[/dim]
    """
    from bracketz import check as kit
    from bracketz.cli import problem, tables
    from bracketz.cli.progress import ProgressBar
    from bracketz.engine.session import Session
    from bracketz.outputs import own_folder

    if report is not None and report.is_dir() and any(report.iterdir()) and not force:
        raise InputError(
            f"{report} is not empty; add --force to write there, or name another folder"
        )
    asked = problem.Asked.given(locals())
    chosen = problem.without_data(asked).model
    shape = None
    if rows is not None or columns is not None:
        shape = (
            chosen.default_shape[0] if rows is None else rows,
            chosen.default_shape[1] if columns is None else columns,
        )
    if report is not None:
        own_folder(report)
    session = Session(progress=ProgressBar(quiet=json))
    answer = kit.run(
        chosen,
        level=level,
        seed=seed,
        shape=shape,
        only=only,
        keep_going=everything,
        session=session,
    )
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_check(answer, report)
    if report is not None:
        with session.working("drawing"):
            from bracketz.check.pages import write_pages

            write_pages(answer, report)
    raise typer.Exit(0 if answer.passed else 1)
