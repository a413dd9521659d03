"""``bracketz estimate``."""

from typing import Annotated

import typer

from bracketz.cli.names import complete_estimator
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
)
from bracketz.errors import InputError


def estimate(
    context: typer.Context,
    model: ModelName,
    estimator: Annotated[
        str,
        typer.Argument(
            metavar="ESTIMATOR",
            help="Its name, from the list below.",
            autocompletion=complete_estimator,
        ),
    ],
    data: Observed = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    missing: Missing = "refuse",
    stan_data: StanData = None,
    components: Components = None,
    settings: Settings = None,
    trials: Annotated[int, typer.Option(help="Independent repetitions.")] = 25,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run one estimator; its knobs are further options, such as --distributions 1000 for ais.

    [dim]bracketz estimate clustering ais --data sim.npz --distributions 1000[/dim]

    [dim]bracketz estimate models.py:regression ais --data my.csv --observe y[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.estimators.base import estimate as run_estimate
    from bracketz.models.missing_data import Incomplete

    chosen_estimator = parsing.make_estimator(estimator, context.args)
    leaves_out = chosen_estimator.refusal(Incomplete, simulated=True) is None
    asked = problem.Asked.given(locals())
    chosen, loaded = problem.observed(asked)
    if refusal := chosen_estimator.refusal(chosen, loaded.simulated):
        raise InputError(refusal)
    what = {"command": "estimate", "estimator": estimator, "trials": trials, "seed": seed}
    session = parsing.make_session(
        what | chosen_estimator.settings(chosen) | identity(chosen),
        loaded.y,
        quiet=json,
        max_seconds=None,
        checkpoint=checkpoint,
        resume=resume,
    )
    answer = run_estimate(
        chosen, loaded, chosen_estimator, trials=trials, seed=seed, session=session
    )
    answer = problem.named_as(asked, chosen, answer)
    if json:
        tables.print_json(answer.to_json())
    else:
        tables.print_estimate(answer)
    parsing.wind_up(session)
