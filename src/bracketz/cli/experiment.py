"""``bracketz experiment run|status|report|export`` and ``bracketz reproduce``: the testbed's commands."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.options import Json
from bracketz.errors import InputError

app = typer.Typer(
    name="experiment",
    help="Run every estimator against ground truth; see docs/testbed.md.",
    no_args_is_help=False,
    rich_markup_mode="rich",
)

StoreFile = Annotated[Path, typer.Option("--store", help="The results (SQLite).")]
Seed = Annotated[int, typer.Option(help="Taken by every command; nothing here is random.")]
SpecSeed = Annotated[
    int | None, typer.Option(help="Instead of the spec's seed.  [default: the spec's]", min=0, max=2**32 - 1)
]
Workers = Annotated[
    int | None, typer.Option(help="Run on this many Dask worker processes here.", min=1, max=1024)
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at tcp://host:port.")
]
ExperimentName = Annotated[
    str | None, typer.Option("--experiment", help="Which, if the store holds several.  [default: the latest]")
]


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A TOML file; see docs/testbed.md.")],
    store: StoreFile,
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: SpecSeed = None,
    json: Json = False,
) -> None:
    """Run an experiment, or what is left of it. Exit code 1: a task failed or a ground truth was not accepted.

    [dim]bracketz experiment run spec.toml --store results.db[/dim]
    """
    from bracketz.testbed.spec import read

    answer = _run(read(spec).with_seed(seed), store, workers, scheduler, quiet=json)
    _print(answer, json)
    raise typer.Exit(0 if answer["accepted"] and not answer["failed"] else 1)


@app.command()
def status(store: StoreFile, experiment: ExperimentName = None, seed: Seed = 0, json: Json = False) -> None:
    """Show what is done, running and failed."""
    from bracketz.cli import show_experiment
    from bracketz.testbed import progress_report

    answer = progress_report.status(store, experiment)
    if json:
        show_experiment.print_json(answer)
    else:
        show_experiment.print_status(answer)


@app.command()
def report(
    store: StoreFile,
    out: Annotated[Path, typer.Option(help="Folder for report.html, the figures and the numbers.")],
    experiment: ExperimentName = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write the report (one HTML page), the figures (PDF, PNG, SVG) and the numbers (CSV, JSON)."""
    from bracketz.testbed.frames import load
    from bracketz.testbed.output import write

    written = write(load(store, experiment), out)
    _print({"out": str(out), "files": written}, json)


@app.command()
def export(
    store: StoreFile,
    out: Annotated[Path, typer.Option(help="Folder for one file a table.")],
    format: Annotated[str, typer.Option("--format", help="csv, parquet, or both.")] = "both",
    experiment: ExperimentName = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write every table, the summary and the truth as CSV and Parquet."""
    from bracketz.testbed.frames import load
    from bracketz.testbed.output import export as write_tables

    written = write_tables(load(store, experiment), out, format, force=force)
    _print({"out": str(out), "files": written}, json)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="grosse2015")],
    out: Annotated[Path, typer.Option(help="Folder for the store, the figures and the report.")],
    preset: Annotated[str, typer.Option(help="quick (a few minutes) or full (the paper's size).")] = "quick",
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: SpecSeed = None,
    json: Json = False,
) -> None:
    """Every figure and claim of a paper, in one command; run it again to continue.

    [dim]bracketz reproduce grosse2015 --preset quick --out out/[/dim]
    """
    from bracketz.testbed.frames import load
    from bracketz.testbed.output import write
    from bracketz.testbed.papers import spec_file
    from bracketz.testbed.spec import read

    chosen = read(spec_file(paper, preset)).with_seed(seed)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}") from None
    store = out / "results.db"
    answer = _run(chosen, store, workers, scheduler, quiet=json)
    answer["files"] = write(load(store, chosen.name), out)
    _print(answer, json)
    raise typer.Exit(0 if answer["accepted"] and not answer["failed"] else 1)


def _run(spec, store: Path, workers: int | None, scheduler: str | None, *, quiet: bool) -> dict:
    from bracketz.cli.bars import Bars
    from bracketz.testbed import progress_report, runner
    from bracketz.testbed.store import Store

    if workers is not None and scheduler is not None:
        raise InputError("--workers starts a cluster here and --scheduler names another; give one of them")
    bars = Bars(quiet)
    with Store.open(store, create=True) as opened:
        if workers is None and scheduler is None:
            outcome = runner.run(spec, opened, watcher=bars)
        else:
            from bracketz.testbed.cluster import cluster

            with cluster(workers, scheduler) as executor:
                outcome = runner.run(spec, opened, executor, bars)
    return progress_report.after_run(store, spec.name, outcome)


def _print(answer: dict, as_json: bool) -> None:
    from bracketz.cli import show_experiment

    if as_json:
        show_experiment.print_json(answer)
    else:
        show_experiment.print_answer(answer)
