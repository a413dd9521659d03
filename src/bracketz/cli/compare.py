"""``bracketz compare``: any models on one data set."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bracketz.cli.names import complete_models
from bracketz.cli.options import (
    CheckpointFile,
    Covariates,
    Decimal,
    Drop,
    Json,
    Missing,
    Observe,
    Resume,
    Seed,
    Settings,
    StanData,
    TwinScheduler,
    TwinWorkers,
)
from bracketz.cli.words import translated
from bracketz.errors import InputError, unknown

if TYPE_CHECKING:
    from bracketz.core.model import Model

#: Values of a sweep, from end to end.
SWEPT = 5


def compare(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="clustering, low-rank, binary-attributes, or your own: models.py:name.",
            autocompletion=complete_models,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Observed data: a table (.csv, .tsv, .txt) or .npy; without it, your models' own."
        ),
    ] = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    missing: Missing = "refuse",
    stan_data: StanData = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="The same as the arguments, with commas between.",
            show_default="all three",
            autocompletion=complete_models,
        ),
    ] = None,
    components: Annotated[
        str | None,
        typer.Option(
            help="Numbers of components to try, such as 2,3,5,8.",
            show_default="the models': 10, low-rank 5",
        ),
    ] = None,
    settings: Settings = None,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize",
            help="Columns to mean 0, variance 1; bounds stay those of the data as given.",
        ),
    ] = False,
    sweep: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW..HIGH",
            help=f"Compare at {SWEPT} values of a setting: does the prior decide?",
        ),
    ] = None,
    gap: Annotated[float, typer.Option(help="Between a model's bounds, to aim at (nats).")] = 1.0,
    twins: Annotated[
        int,
        typer.Option(
            help="Data sets simulated from each fitted model and put through the same procedure;"
            " each takes longer than the model itself."
        ),
    ] = 2,
    confidence: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    starts: Annotated[int, typer.Option(help="Coupled chains per model.")] = 16,
    chains: Annotated[int, typer.Option(help="Reverse runs per model.")] = 64,
    first: Annotated[
        int | None, typer.Option(help="Distributions to begin with.", show_default="32")
    ] = None,
    max_effort: Annotated[
        int | None, typer.Option(help="Distributions at the most.", show_default="65,536")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Time limit for all models, soft; twins come on top.")
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Begin at a fitted reference, or (--no-reference) at the prior.",
            show_default="whichever path is better",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture (.png, .pdf, .svg).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot.")] = False,
    workers: TwinWorkers = None,
    scheduler: TwinScheduler = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Which model do the data support? The log evidence of each, as an interval.

    Lower ends are certified, upper ends conditional on the runs having found what matters; twins
    check that by simulation. Shipped models have their hyperparameters inferred. Exit code 1: not
    decided.

    [dim]bracketz compare --data iris.csv --components 2,3,5 --standardize --plot iris.png[/dim]

    [dim]bracketz compare models.py:linear models.py:quadratic --data my.csv --observe y[/dim]
    """
    from bracketz.cli import parsing, problem, tables
    from bracketz.data.identity import identity
    from bracketz.inference.compare import compare as run_compare
    from bracketz.inference.compare import standardized
    from bracketz.inference.sweep import sweep as run_sweep

    plot = parsing.picture(plot, force)
    names = _names(named, models)
    asked = problem.Asked.given(locals() | {"model": names[0], "components": None})
    parameter, values = ("", ()) if sweep is None else _swept(sweep)

    def at(value: float | None) -> tuple[dict[str, "Model"], Any]:
        more = [] if value is None else [f"{parameter}={value!r}"]
        return _chosen(names, _counts(components), asked, [*(settings or []), *more])

    chosen, y = at(values[0] if values else None)
    log_jacobian = 0.0
    if standardize:
        if not hasattr(y, "ndim") or y.ndim != 2:
            raise InputError("--standardize is for tables; scale the data of your models yourself")
        y, log_jacobian = standardized(y)
    knobs: dict[str, Any] = {
        "gap": gap,
        "twins": twins,
        "starts": starts,
        "chains": chains,
        "confidence": confidence,
        "first": first,
        "max_effort": max_effort,
        "reference": reference,
        "seed": seed,
    }
    what = knobs | {
        "command": "compare",
        "models": [identity(m) for m in chosen.values()],
        "sweep": sweep,
        "log_jacobian": log_jacobian,
    }
    session = parsing.make_session(
        what, y, quiet=json, max_seconds=max_seconds, checkpoint=checkpoint, resume=resume
    )
    common = {"session": session, "log_jacobian": log_jacobian} | knobs
    # "compiling": until the first bar.
    with parsing.helped(session, workers, scheduler), session.working("compiling"):
        if values:
            answer: Any = run_sweep(lambda v: at(v)[0], parameter, values, y, **common)
        else:
            answer = run_compare(chosen, y, **common)
    if json:
        numbers = answer.to_json()
        tables.print_json(numbers | {"verdict": translated(numbers["verdict"])})
    elif values:
        tables.print_sweep(answer)
    else:
        tables.print_comparison(answer, standardize)
    parsing.wind_up(session, answer, plot)
    last = answer.comparisons[-1] if values else answer
    raise typer.Exit(1 if len(chosen) > 1 and not values and not last.decided else 0)


def _names(named: list[str] | None, models: str | None) -> list[str]:
    if named and models:
        raise InputError("give models as arguments or by --models, not both")
    given = named or (models or "clustering,low-rank,binary-attributes").split(",")
    return list(dict.fromkeys(name.strip() for name in given))


def _swept(text: str) -> tuple[str, tuple[float, ...]]:
    """(name, values), in equal ratios where both ends are positive."""
    import numpy as np

    name, _, ends = text.partition("=")
    try:
        low, high = (float(end) for end in ends.split(".."))
    except ValueError:
        raise InputError(f"--sweep must be NAME=LOW..HIGH, got '{text}'") from None
    if not low < high:
        raise InputError(f"--sweep must go from a lower to a higher value, got '{text}'")
    values = np.geomspace(low, high, SWEPT) if low > 0 else np.linspace(low, high, SWEPT)
    return name.strip(), tuple(float(f"{value:.6g}") for value in values)


def _counts(text: str | None) -> list[int | None]:
    if text is None:
        return [None]
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--components must be whole numbers with commas between, got '{text}'"
        ) from None
    return list(dict.fromkeys(counts))


def _chosen(
    names: list[str], counts: list[int | None], asked, settings: list[str]
) -> tuple[dict[str, "Model"], Any]:
    """Models by name, and the data all of them describe (None: those they were made with)."""
    from bracketz.cli import own, problem
    from bracketz.inference.compare import named_models

    theirs = [name for name in names if own.is_own(name) or name.endswith(".stan")]
    shipped = [name for name in names if name not in theirs]
    if asked.stan_data is not None and not any(name.endswith(".stan") for name in names):
        raise InputError(f"--stan-data is for Stan programs, and {names[0]} is none; leave it out")
    out: dict[str, Model] = {}
    y: Any = None
    if shipped:
        if asked.data is None:
            raise InputError(f"{shipped[0]} has no data of its own: give --data FILE")
        y = problem.matrix(dataclasses.replace(asked, name=shipped[0])).y
        own_fields = not theirs
        out |= named_models(_shipped(shipped, counts, settings, strict=own_fields))
    for name in theirs:
        model, found = problem.observed(dataclasses.replace(asked, name=name, settings=settings))
        out[_short(name, theirs)] = model
        y = found.y if y is None else y
    return out, y


def _short(name: str, names: list[str]) -> str:
    """``linear`` of ``models.py:linear``, where that tells it from the others."""
    short = name.rpartition(":")[2]
    return short if sum(n.rpartition(":")[2] == short for n in names) == 1 else name


def _shipped(names: list[str], counts: list[int | None], settings: list[str], strict: bool) -> list:
    """Every model with every number of components; a setting goes to the models that have it."""
    from bracketz.cli import parsing
    from bracketz.models.registry import INFERRED, model_class

    names = [f"inferred-{n}" if f"inferred-{n}" in INFERRED else n for n in dict.fromkeys(names)]
    fields = {n: {f.name for f in dataclasses.fields(model_class(n))} for n in names}
    for setting in settings if strict else ():
        key = setting.partition("=")[0]
        if not any(key in f for f in fields.values()):
            raise unknown(
                "hyperparameter's prior", key, set().union(*fields.values()) - {"components"}
            )
    return [
        parsing.make_model(n, k, [s for s in settings if s.partition("=")[0] in fields[n]])
        for n in names
        for k in (counts if "components" in fields[n] else [None])
    ]
