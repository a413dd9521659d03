"""``bracketz tune``."""

from typing import Annotated, Any

import typer

from bracketz.cli.names import complete_estimator
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


def tune(
    model: ModelName,
    estimator: Annotated[
        str,
        typer.Argument(
            metavar="ESTIMATOR",
            help="Its name (see: bracketz estimators).",
            autocompletion=complete_estimator,
        ),
    ],
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
    budget: Annotated[
        float, typer.Option(help="Seconds for choosing; judging on fresh data comes on top.")
    ] = 300.0,
    target: Annotated[
        float, typer.Option(help="Root mean squared error of an answer to reach (nats).")
    ] = 1.0,
    datasets: Annotated[int, typer.Option(help="Simulated data sets to choose by.")] = 3,
    fresh: Annotated[int, typer.Option(help="Other data sets to judge by.")] = 8,
    trials: Annotated[int, typer.Option(help="Trials of an answer.")] = 1,
    repeats: Annotated[int, typer.Option(help="Answers per data set and setting.")] = 16,
    confidence: Annotated[float, typer.Option(help="Of the gain's interval.")] = 0.95,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Choose an estimator's settings by ground truth, and say what they gain on fresh data.

    Settings are compared by the time until an answer is accurate to --target, on simulated data
    whose log evidence is bracketed. Exit code 1: no setting got there.

    [dim]bracketz tune clustering smc --budget 120 --rows 20 --columns 5[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.testbed.tune import tune as run_tune

    asked = problem.Asked.given(locals())
    chosen = problem.without_data(asked).model
    chosen_estimator = parsing.make_estimator(estimator, [])
    knobs: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "target": target,
        "trials": trials,
        "repeats": repeats,
        "seed": seed,
    }
    # What was measured is kept by setting and data set: a run goes on with another budget.
    session = parsing.make_session(
        knobs | {"command": "tune", "estimator": estimator} | identity(chosen),
        None,
        quiet=json,
        max_seconds=None,
        checkpoint=checkpoint,
        resume=resume,
    )
    answer = run_tune(
        chosen,
        chosen_estimator,
        budget=budget,
        datasets=datasets,
        fresh=fresh,
        confidence=confidence,
        session=session,
        **knobs,
    )
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_answer(f"settings of {answer.estimator} on {answer.model}", answer)
    parsing.wind_up(session)
    raise typer.Exit(0 if answer.converged else 1)
