"""``bracketz fractional``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli.options import (
    CheckpointFile,
    Columns,
    Components,
    Json,
    ModelName,
    Resume,
    Rows,
    Seed,
    Settings,
)


def fractional(
    model: ModelName,
    data: Annotated[
        Path | None, typer.Option(help="sim.npz; without it, data are simulated here.")
    ] = None,
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    fraction: Annotated[
        float | None,
        typer.Option(
            help="Train on this power of the likelihood given all variables, latent ones of rows"
            " too (fractional Bayes factors)."
        ),
    ] = None,
    training: Annotated[
        int | None,
        typer.Option(help="Train on this many rows, chosen by the seed (intrinsic ones)."),
    ] = None,
    gap: Annotated[float, typer.Option(help="The gap to aim at, upper - lower (nats).")] = 1.0,
    chains: Annotated[int, typer.Option(help="Chains in each direction.")] = 25,
    confidence: Annotated[
        float, typer.Option(help="Of the certificate, and of the conditional interval.")
    ] = 0.9,
    first: Annotated[
        int | None,
        typer.Option(help="Distributions of the first of the forward runs that decide."),
    ] = None,
    max_effort: Annotated[
        int | None,
        typer.Option(help="Distributions at the most; equal to --first: measure right there."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Soft limit; the answer is then unconverged.")
    ] = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bracket the log evidence of simulated data beyond that of training data.

    log p(y) less the log evidence of a power of the likelihood, or of some rows. The upper bound is
    certified; the lower one too for rows, and conditional for a power. Exit code 1: not converged.

    [dim]bracketz fractional clustering --fraction 0.1[/dim]

    [dim]bracketz fractional clustering --training 10 --gap 0.5[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference.fractional import fractional as run_fractional

    asked = problem.Asked.given(locals())
    chosen, loaded = problem.simulated(asked, seed)
    knobs: dict[str, Any] = {
        "fraction": fraction,
        "training": training,
        "gap": gap,
        "chains": chains,
        "seed": seed,
        "confidence": confidence,
        "first": first,
        "max_effort": max_effort,
    }
    session = parsing.make_session(
        knobs | {"command": "fractional"} | identity(chosen),
        loaded.y,
        quiet=json,
        max_seconds=max_seconds,
        checkpoint=checkpoint,
        resume=resume,
    )
    with session.working("compiling both directions"):
        answer = run_fractional(chosen, loaded, session=session, **knobs)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_answer(f"log evidence beyond training data, {answer.model}", answer)
    parsing.wind_up(session)
    raise typer.Exit(0 if answer.converged else 1)
