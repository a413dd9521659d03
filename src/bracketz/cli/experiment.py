"""``bracketz experiment run|status|report|export``: the testbed's commands."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.command import Command, Group
from bracketz.cli.names import one_of
from bracketz.cli.options import Json, Scheduler, Workers

experiment = typer.Typer(
    name="experiment",
    cls=Group,
    help="Run every estimator against ground truth; see docs/testbed.md.",
    no_args_is_help=False,
    rich_markup_mode="rich",
)

StoreFile = Annotated[Path, typer.Option("--store", help="The results (SQLite).")]
Seed = Annotated[int, typer.Option(help="Taken by every command; nothing here is random.")]
SpecSeed = Annotated[
    int | None,
    typer.Option(
        help="Instead of the spec's seed.", show_default="the spec's", min=0, max=2**32 - 1
    ),
]
ExperimentName = Annotated[
    str | None,
    typer.Option(
        "--experiment", help="Which, if the store holds several.", show_default="the latest"
    ),
]


@experiment.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@experiment.command(cls=Command)
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A TOML file; see docs/testbed.md.")],
    store: StoreFile,
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: SpecSeed = None,
    json: Json = False,
) -> None:
    """Run an experiment, or what is left of it. Exit code 1: a task failed or a ground truth was
    not accepted.

    [dim]bracketz experiment run spec.toml --store results.db[/dim]
    """
    from bracketz import papers
    from bracketz.testbed.spec.experiment import read

    chosen = read(spec).with_seed(seed)
    if chosen.paper is not None:
        papers.find(chosen.paper)
    answer = run_and_sum_up(chosen, store, workers, scheduler, quiet=json)
    print_answer(answer, json)
    raise typer.Exit(0 if answer["accepted"] and not answer["failed"] else 1)


@experiment.command(cls=Command)
def status(
    store: StoreFile, name: ExperimentName = None, seed: Seed = 0, json: Json = False
) -> None:
    """Show what is done, running and failed."""
    from bracketz.cli import experiment_tables, tables
    from bracketz.cli.progress import waiting
    from bracketz.papers import PAPERS
    from bracketz.testbed.analysis.status import status as look

    with waiting("reading the store", json):
        answer = look(store, name, PAPERS)
    if json:
        tables.print_json(answer)
    else:
        experiment_tables.print_status(answer)


@experiment.command(cls=Command)
def report(
    store: StoreFile,
    out: Annotated[Path, typer.Option(help="Folder for report.html, the figures and the numbers.")],
    name: ExperimentName = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files of --out that are not bracketz's.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write the report (one HTML page), the figures (PDF, PNG, SVG) and the numbers (CSV, JSON)."""
    from bracketz.cli.progress import waiting
    from bracketz.papers import PAPERS
    from bracketz.testbed.report.output import failed, write
    from bracketz.testbed.store.frames import read_frames

    with waiting("drawing the figures", json):
        frames = read_frames(store, name, PAPERS)
        written = write(frames, out, force=force)
    page = str(out / "report.html")
    found = {"out": str(out), "files": written, "report": page, "failed": failed(frames)}
    print_answer(found, json)


@experiment.command(cls=Command)
def export(
    store: StoreFile,
    out: Annotated[Path, typer.Option(help="Folder for one file per table.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, parquet, or both.",
            autocompletion=one_of("csv", "parquet", "both"),
        ),
    ] = "both",
    name: ExperimentName = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write every table, the summary and the truth as CSV and Parquet."""
    from bracketz.cli.progress import waiting
    from bracketz.papers import PAPERS
    from bracketz.testbed.report.output import export as write_tables
    from bracketz.testbed.report.output import failed
    from bracketz.testbed.store.frames import read_frames

    with waiting("writing the tables", json):
        frames = read_frames(store, name, PAPERS)
        written = write_tables(frames, out, format, force=force)
    print_answer({"out": str(out), "files": written, "failed": failed(frames)}, json)


def run_and_sum_up(
    spec, store: Path, workers: int | None, scheduler: str | None, *, quiet: bool
) -> dict:
    """Bring an experiment to its end here or on a cluster; how it stands then."""
    from bracketz.cli.progress import ExperimentBars, waiting
    from bracketz.papers import PAPERS
    from bracketz.testbed.analysis.status import after_run
    from bracketz.testbed.run.runner import Executor, in_process, run_experiment
    from bracketz.testbed.store.store import Store

    bars = ExperimentBars(quiet)
    with ExitStack() as stack:
        executor: Executor = in_process
        if workers is not None or scheduler is not None:
            from bracketz.testbed.run.cluster import cluster

            with waiting("starting the workers", quiet):
                executor = stack.enter_context(cluster(workers, scheduler))
        opened = stack.enter_context(Store.open(store, create=True))
        standing = run_experiment(spec, opened, executor, bars)
    with waiting("summing up", quiet):
        return after_run(store, spec.name, standing, PAPERS)


def print_answer(answer: dict, as_json: bool) -> None:
    from bracketz.cli import experiment_tables, tables

    if as_json:
        tables.print_json(answer)
    else:
        experiment_tables.print_answer(answer)
