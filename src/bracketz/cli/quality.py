"""``bracketz quality``."""

from typing import Annotated, Any

import typer

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
    TableFile,
)
from bracketz.errors import InputError


def quality(
    model: ModelName,
    data: TableFile = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    stan_data: StanData = None,
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    distributions: Annotated[
        str, typer.Option(help="Lengths of the annealed chains, with commas.")
    ] = "16,64,256",
    datasets: Annotated[int, typer.Option(help="Data sets to simulate.")] = 10,
    chains: Annotated[int, typer.Option(help="Chains in each direction, on each of them.")] = 16,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    max_seconds: Annotated[
        float | None, typer.Option(help="Soft limit: no data set begins after it.")
    ] = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bound how far the annealed chains of a model are from its posterior, in nats.

    The Jeffreys divergence of a chain's last state from the posterior, on average over simulated
    data sets; of the model's own kernels, or the one a pilot tunes. (In Python: of your own kernel
    or approximation.) Exit code 1: time was up.

    [dim]bracketz quality clustering --distributions 10,100,1000[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference.quality import quality as run_quality

    try:
        lengths = tuple(int(word) for word in distributions.split(","))
    except ValueError:
        raise InputError(
            f"--distributions takes whole numbers with commas, got '{distributions}'"
        ) from None
    asked = problem.Asked.given(locals())
    chosen = problem.without_data(asked).model
    knobs: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "distributions": lengths,
        "chains": chains,
        "seed": seed,
    }
    # Data sets are numbered, so a run goes on with more of them.
    session = parsing.make_session(
        knobs | {"command": "quality"} | identity(chosen),
        None,
        quiet=json,
        max_seconds=max_seconds,
        checkpoint=checkpoint,
        resume=resume,
    )
    answer = run_quality(chosen, datasets=datasets, confidence=confidence, session=session, **knobs)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_answer(f"distance from the posterior, {answer.model}", answer)
    parsing.wind_up(session)
    raise typer.Exit(0 if answer.converged else 1)
