"""``bracketz information``."""

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


def information(
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
    datasets: Annotated[int, typer.Option(help="Data sets to simulate and bracket.")] = 100,
    gap: Annotated[float, typer.Option(help="The gap of one sandwich to aim at (nats).")] = 1.0,
    chains: Annotated[int, typer.Option(help="Chains of a sandwich, in each direction.")] = 25,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="Count variables that are integrated out as part of x."),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Where -log p(y) is known to lie for every y: gives the entropy a certificate.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Of the intervals, and of the certificate.")
    ] = 0.95,
    max_seconds: Annotated[
        float | None, typer.Option(help="Soft limit: no data set begins after it.")
    ] = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bound the information that data carry about what made them, and the entropy of the data.

    Simulates data sets and brackets each: averages of the bounds are on either side of I(x; y) and
    of E[-log p(y)] in expectation. Intervals are asymptotic in the number of data sets. Exit code
    1: bounds further apart than --gap on average, or time was up.

    [dim]bracketz information clustering --rows 10 --columns 2 --components 3[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference.information import mutual_information

    asked = problem.Asked.given(locals())
    chosen = problem.without_data(asked).model
    knobs: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "gap": gap,
        "chains": chains,
        "parameters": parameters,
        "seed": seed,
    }
    # Data sets are numbered, so a run goes on with more of them; the rest is said of the same ones.
    session = parsing.make_session(
        knobs | {"command": "information"} | identity(chosen),
        None,
        quiet=json,
        max_seconds=max_seconds,
        checkpoint=checkpoint,
        resume=resume,
    )
    answer = mutual_information(
        chosen,
        datasets=datasets,
        within=_range(within),
        confidence=confidence,
        session=session,
        **knobs,
    )
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_answer(f"information, {answer.model}", answer)
    parsing.wind_up(session)
    raise typer.Exit(0 if answer.converged else 1)


def _range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"--within takes LOW,HIGH, got '{text}'") from None
    return low, high
