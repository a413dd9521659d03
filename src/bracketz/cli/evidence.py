"""``bracketz evidence``: both sides on observed data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli.options import (
    CheckpointFile,
    Components,
    Covariates,
    Decimal,
    Drop,
    Json,
    Missing,
    ModelName,
    Observe,
    Observed,
    Resume,
    Seed,
    Settings,
    StanData,
    TwinScheduler,
    TwinWorkers,
)


def evidence(
    model: ModelName,
    data: Observed = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    missing: Missing = "refuse",
    stan_data: StanData = None,
    components: Components = None,
    settings: Settings = None,
    gap: Annotated[float, typer.Option(help="The gap to aim at, upper - lower (nats).")] = 1.0,
    twins: Annotated[
        int,
        typer.Option(
            help="Simulated data sets like yours to put through the same procedure; each takes"
            " longer than the measurement itself, and 0 leaves them out."
        ),
    ] = 20,
    starts: Annotated[
        int, typer.Option(help="Coupled chains, whose ends begin the reverse runs.")
    ] = 16,
    chains: Annotated[int, typer.Option(help="Reverse runs, in equal parts from those ends.")] = 64,
    confidence: Annotated[
        float, typer.Option(help="Of the certificate, and of the interval.")
    ] = 0.95,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Begin at a fitted reference, or (--no-reference) at the prior.",
            show_default="whichever path is shorter",
        ),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(help="Distributions of the first of the forward runs that decide."),
    ] = None,
    max_effort: Annotated[
        int | None,
        typer.Option(help="Distributions at the most; equal to --first: measure right there."),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Soft limit; the measurement is made to fit, twins come on top."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save a picture of both sides (.png, .pdf, .svg).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot.")] = False,
    workers: TwinWorkers = None,
    scheduler: TwinScheduler = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bound the log evidence of your own data from both sides, and say what each side rests on.

    Certified: the lower bound, whatever the data. Conditional: the upper bound, from states of
    coupled chains; it holds if the forward runs found every region that matters, and there is none
    where these chains do not meet. Heuristic: twins, how the same procedure did on simulated data
    like yours. Exit code 1: not converged.

    [dim]bracketz evidence inferred-clustering --components 3 --data iris.csv --twins 0[/dim]

    [dim]bracketz evidence models.py:regression --data my.csv --observe y --gap 0.5[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference.evidence import evidence as run_evidence

    plot = parsing.picture(plot, force)
    asked = problem.Asked.given(locals())
    chosen, loaded = problem.observed(asked)
    knobs: dict[str, Any] = {
        "gap": gap,
        "twins": twins,
        "starts": starts,
        "chains": chains,
        "confidence": confidence,
        "seed": seed,
        "reference": reference,
        "first": first,
        "max_effort": max_effort,
    }
    # Twins come last and are numbered: a run goes on with more of them, or fewer.
    same = {name: value for name, value in knobs.items() if name != "twins"}
    session = parsing.make_session(
        same | {"command": "evidence"} | identity(chosen),
        loaded.y,
        quiet=json,
        max_seconds=max_seconds,
        checkpoint=checkpoint,
        resume=resume,
    )
    # "compiling": until the first bar.
    with parsing.helped(session, workers, scheduler), session.working("compiling"):
        answer = run_evidence(chosen, loaded, session=session, **knobs)
    answer = problem.named_as(asked, chosen, answer)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_evidence(answer)
    parsing.wind_up(session, answer, plot)
    raise typer.Exit(0 if answer.converged else 1)
