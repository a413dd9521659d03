"""The commands. JAX is imported when one of them runs, not for ``--help``."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli import experiment
from bracketz.cli.check import check
from bracketz.cli.compare import compare
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
from bracketz.errors import InputError

app = typer.Typer(
    name="bracketz",
    help="Bracket log Z: marginal likelihoods with two-sided bounds (bidirectional Monte Carlo).",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from bracketz import __version__

        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def models(seed: Seed = 0, json: Json = False) -> None:
    """List the models and their hyperparameters."""
    from bracketz.cli import build, show
    from bracketz.models import INFERRED, REGISTRY
    from bracketz.simulation import hyperparameters

    listed = []
    for name in REGISTRY | INFERRED:
        cls = build.model_class(name)
        text = cls.__doc__ if name in INFERRED else __import__(cls.__module__, fromlist=["_"]).__doc__
        summary = (text or "").split("\n")[0]
        defaults = {f.name: f.default for f in dataclasses.fields(cls)}
        listed.append(
            {"name": name, "summary": summary, "defaults": defaults, "values": hyperparameters(cls())}
        )
    if json:
        show.print_json({"models": listed})
    else:
        show.print_models(listed)


@app.command()
def estimators(seed: Seed = 0, json: Json = False) -> None:
    """List the estimators, their knobs, and which runs on which model."""
    from bracketz.cli import build, show
    from bracketz.estimators import REGISTRY
    from bracketz.models import REGISTRY as MODELS
    from bracketz.simulation import Data

    simulated = Data(None, exact=())  # type: ignore[arg-type]
    listed = []
    for name in REGISTRY:
        estimator = build.make_estimator(name, [])
        can_run = {m: estimator.refusal(build.model_class(m), simulated=True) is None for m in MODELS}
        listed.append(
            {
                "name": name,
                "side": str(estimator.side(simulated)),
                "needs_exact_sample": estimator.needs_exact_sample,
                "knob": estimator.knob,
                "knobs": {f.name.replace("_", "-"): f.default for f in dataclasses.fields(estimator)},
                "models": can_run,
            }
        )
    if json:
        show.print_json({"estimators": listed})
    else:
        show.print_estimators(listed, list(MODELS))


@app.command()
def simulate(
    model: ModelName,
    out: Annotated[Path, typer.Option(help="Where to write the simulation (.npz).")],
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw data from a model and keep the exact posterior sample that made them.

    [dim]bracketz simulate clustering --rows 50 --columns 25 --components 10 --out sim.npz[/dim]
    """
    from bracketz import simulation
    from bracketz.cli import build, show

    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz, got {out}")
    simulation.refuse_existing(out, force)
    chosen = build.make_model(model, components, settings or [])
    data = simulation.simulate(chosen, rows, columns, seed)
    simulation.save(data, out, force=force)
    if json:
        show.print_json(data.meta | {"out": str(out), "rows": data.y.shape[0], "columns": data.y.shape[1]})
    else:
        print(f"{out}: {data.y.shape[0]} rows, {data.y.shape[1]} columns and the exact sample, seed {seed}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def estimate(
    context: typer.Context,
    model: ModelName,
    estimator: Annotated[str, typer.Argument(metavar="ESTIMATOR", help="See: bracketz estimators.")],
    data: Annotated[
        Path, typer.Option(help="sim.npz from bracketz simulate, or observed data as .npy or .csv.")
    ],
    components: Components = None,
    settings: Settings = None,
    trials: Annotated[int, typer.Option(help="Independent repetitions.")] = 25,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run one estimator. Its knobs are further options, such as --distributions 1000 for ais.

    [dim]bracketz estimate clustering ais --data sim.npz --distributions 1000[/dim]
    """
    from bracketz.cli import build, show
    from bracketz.estimators.base import estimate as run_estimate

    chosen_estimator = build.make_estimator(estimator, context.args)
    chosen, loaded = build.load_problem(model, data, components, settings or [])
    if refusal := chosen_estimator.refusal(chosen, loaded.simulated):
        raise InputError(refusal)
    what = {"command": "estimate", "estimator": estimator, "trials": trials, "seed": seed}
    session = build.make_session(
        what | chosen_estimator.settings(chosen) | build.identity(chosen), loaded.y,
        quiet=json, max_seconds=None, checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    answer = run_estimate(chosen, loaded, chosen_estimator, trials=trials, seed=seed, session=session)
    if json:
        show.print_json(answer.to_json())
    else:
        show.print_estimate(answer)


@app.command()
def sandwich(
    model: ModelName,
    data: Annotated[Path | None, typer.Option(help="sim.npz; without it, data are simulated here.")] = None,
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    gap: Annotated[float, typer.Option(help="Stop when upper - lower is at most this (nats).")] = 1.0,
    chains: Annotated[int, typer.Option(help="Chains in each direction.")] = 25,
    max_seconds: Annotated[
        float | None, typer.Option(help="Soft limit; the answer is then unconverged.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the certificate.")] = 0.9,
    path: Annotated[
        str, typer.Option(help="tempered (AIS both ways) or prefix (SMC and SHME).")
    ] = "tempered",
    schedule: Annotated[
        str, typer.Option(help="Of the tempered path: sigmoid, linear, or adapted to a pilot.")
    ] = "sigmoid",
    pilot: Annotated[int, typer.Option(help="Distributions of the pilot of --schedule adapted.")] = 256,
    sweeps: Annotated[int, typer.Option(help="Kernel sweeps at each distribution.")] = 1,
    particles: Annotated[int, typer.Option(help="Particles in each chain, resampled by ESS.")] = 1,
    first: Annotated[
        int | None, typer.Option(help="Effort of the first rung; it doubles from there.")
    ] = None,
    max_effort: Annotated[int | None, typer.Option(help="Do not go beyond this effort.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save a picture of the bounds closing (.png, .pdf, .svg).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot.")] = False,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bracket log p(y) of simulated data between a lower and an upper bound.

    The number of distributions doubles until the gap is small enough. Exit code 1: not converged.

    [dim]bracketz sandwich clustering --gap 0.5[/dim]
    """
    from bracketz import simulation
    from bracketz.bidirectional import sandwich as run_sandwich
    from bracketz.cli import build, show

    if plot is not None:
        simulation.refuse_existing(plot, force)
    if data is None:
        chosen = build.make_model(model, components, settings or [])
        loaded = simulation.simulate(chosen, rows, columns, seed)
    else:
        if rows is not None or columns is not None:
            raise InputError("--rows and --columns are for data simulated here; leave them out with --data")
        chosen, loaded = build.load_problem(model, data, components, settings or [])
    knobs = {
        "gap": gap, "chains": chains, "seed": seed, "confidence": confidence, "path": path,
        "schedule": schedule, "sweeps": sweeps, "particles": particles, "pilot": pilot, "first": first,
        "max_effort": max_effort,
    }  # fmt: skip
    session = build.make_session(
        knobs | {"command": "sandwich"} | build.identity(chosen), loaded.y,
        quiet=json, max_seconds=max_seconds, checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    answer = run_sandwich(chosen, loaded, session=session, **knobs)  # type: ignore[arg-type]
    if plot is not None:
        from bracketz.figures import closing_bounds

        closing_bounds([answer], plot)
    if json:
        show.print_json(answer.to_json())
    else:
        show.print_sandwich(answer)
    raise typer.Exit(0 if answer.converged else 1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Sandwich the paper's three models at the paper's size, to a gap of at most 1 nat."""
    import json as json_module

    from bracketz import simulation
    from bracketz.bidirectional import sandwich as run_sandwich
    from bracketz.cli import build, show
    from bracketz.figures import closing_bounds
    from bracketz.models import REGISTRY

    picture, numbers = out / "bounds.png", out / "bounds.json"
    out.mkdir(parents=True, exist_ok=True)
    for file in (picture, numbers):
        simulation.refuse_existing(file, force)
    answers = []
    for name in REGISTRY:
        chosen = build.make_model(name, None, [])
        data = simulation.simulate(chosen, seed=seed)
        session = build.make_session({}, data.y, quiet=json, max_seconds=None, checkpoint=None, resume=False)
        session.progress.note(f"{name}: 50 x 25, {chosen.components} components")
        answers.append(run_sandwich(chosen, data, gap=1.0, seed=seed, session=session))
    closing_bounds(answers, picture)
    summary = {"sandwiches": [answer.to_json() for answer in answers]}
    numbers.write_text(json_module.dumps(summary, indent=2))
    if json:
        show.print_json(summary | {"picture": str(picture)})
    else:
        show.print_demo(answers, str(picture))
    raise typer.Exit(0 if all(answer.converged for answer in answers) else 1)


app.command()(compare)
app.command()(check)
app.add_typer(experiment.app)
app.command()(experiment.reproduce)
