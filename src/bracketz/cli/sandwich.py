"""``bracketz sandwich``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli.names import one_of
from bracketz.cli.options import (
    CheckpointFile,
    Columns,
    Components,
    Covariates,
    Decimal,
    Drop,
    Json,
    ModelName,
    Observe,
    Resume,
    Rows,
    Seed,
    Settings,
    StanData,
)


def sandwich(
    model: ModelName,
    data: Annotated[
        Path | None,
        typer.Option(
            help="sim.npz; without it, data are simulated here. Or a table (.csv, .tsv, .txt):"
            " covariates of your NumPyro function."
        ),
    ] = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    stan_data: StanData = None,
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    gap: Annotated[float, typer.Option(help="The gap to reach, upper - lower (nats).")] = 1.0,
    chains: Annotated[
        int, typer.Option(help="Chains in each direction; a multiple where that is cheaper.")
    ] = 25,
    max_seconds: Annotated[
        float | None, typer.Option(help="Soft limit; the answer is then unconverged.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the certificate.")] = 0.9,
    path: Annotated[
        str,
        typer.Option(
            help="tempered (AIS both ways) or prefix (SMC and SHME).",
            autocompletion=one_of("tempered", "prefix"),
        ),
    ] = "tempered",
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Begin at a fitted reference, or (--no-reference) at the prior; of your own"
            " model, or with inferred hyperparameters.",
            show_default="whichever path is better",
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Of the tempered path: sigmoid, linear, or adapted to a pilot.",
            autocompletion=one_of("sigmoid", "linear", "adapted"),
            show_default="sigmoid; your own model: by a pilot",
        ),
    ] = None,
    pilot: Annotated[
        int, typer.Option(help="Distributions of the pilot of --schedule adapted.")
    ] = 256,
    sweeps: Annotated[int, typer.Option(help="Kernel sweeps at each distribution.")] = 1,
    particles: Annotated[int, typer.Option(help="Particles in each chain, resampled by ESS.")] = 1,
    first: Annotated[
        int | None, typer.Option(help="Effort of the first of the forward runs that decide.")
    ] = None,
    max_effort: Annotated[
        int | None,
        typer.Option(help="Do not go beyond this effort; equal to --first: measure right there."),
    ] = None,
    looks: Annotated[
        int,
        typer.Option(help="Measurements at the most; each pays its share of the certificate."),
    ] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Save a picture of the bounds closing (.png, .pdf, .svg).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot.")] = False,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bracket the log evidence of simulated data between a lower and an upper bound.

    Forward runs decide how much effort the gap takes, then one run in both directions measures.
    Exit code 1: not converged.

    [dim]bracketz sandwich clustering --gap 0.5[/dim]

    [dim]bracketz sandwich models.py:regression --data my.csv[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference import sandwich as run_sandwich

    plot = parsing.picture(plot, force)
    asked = problem.Asked.given(locals())
    chosen, loaded = problem.simulated(asked, seed)
    # Nothing said about the path: a model that goes through a pilot brings a schedule of its own.
    along = parsing.make_path(path, schedule, pilot)
    knobs: dict[str, Any] = {
        "gap": gap,
        "chains": chains,
        "seed": seed,
        "confidence": confidence,
        "reference": reference,
        "sweeps": sweeps,
        "particles": particles,
        "first": first,
        "max_effort": max_effort,
        "looks": looks,
    }
    named = {"command": "sandwich", "path": path, "schedule": schedule or "sigmoid", "pilot": pilot}
    session = parsing.make_session(
        knobs | named | identity(chosen),
        loaded.y,
        quiet=json,
        max_seconds=max_seconds,
        checkpoint=checkpoint,
        resume=resume,
    )
    with session.working("compiling both directions"):  # until the first bar
        answer = run_sandwich(chosen, loaded, path=along, session=session, **knobs)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_sandwich(answer)
    parsing.wind_up(session, answer, plot)
    raise typer.Exit(0 if answer.converged else 1)
