"""``bracketz compare``: model comparison on observed data."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from bracketz.cli.names import complete_models, one_of
from bracketz.cli.options import CheckpointFile, Json, Resume, Seed, Settings
from bracketz.cli.words import translated
from bracketz.errors import InputError, unknown


def compare(
    data: Annotated[Path, typer.Option(help="Observed data: .csv or .npy, N rows and D columns.")],
    models: Annotated[
        str,
        typer.Option(
            help="Names with commas between; your own module:Class too.",
            autocompletion=complete_models,
        ),
    ] = "clustering,low-rank,binary-attributes",
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
    missing: Annotated[
        str,
        typer.Option(
            help="Missing entries: refuse, or ignore (treated as unobserved, exactly).",
            autocompletion=one_of("refuse", "ignore"),
        ),
    ] = "refuse",
    gap: Annotated[float, typer.Option(help="Between a model's bounds, to aim at (nats).")] = 1.0,
    twins: Annotated[
        int,
        typer.Option(
            help="Data sets simulated from each fitted model and put through the same procedure;"
            " each costs about as much as the model itself."
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
        float | None, typer.Option(help="Time limit for all models, soft.")
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Begin hyperparameters at a fitted reference, or (--no-reference) at their"
            " priors.",
            show_default="whichever path is better",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture (.png, .pdf, .svg).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot.")] = False,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Which model do the data support? Log evidence of each, hyperparameters inferred.

    Lower ends of the intervals are certified, upper ends conditional on the runs having found
    what matters; twins check that by simulation. Exit code 1: not decided.

    [dim]bracketz compare --data iris.csv --components 2,3,5 --standardize --plot iris.png[/dim]
    """
    from bracketz.cli import parsing, tables
    from bracketz.data.files import load, refuse_existing
    from bracketz.data.identity import identity
    from bracketz.inference.compare import compare as run_compare
    from bracketz.inference.compare import standardized

    if plot is not None:
        refuse_existing(plot, force)
    if missing not in MISSING:
        raise unknown("--missing", missing, MISSING)
    counts = _counts(components)
    chosen = _models(models.split(","), counts, settings or [])
    loaded = load(data, missing=missing == "ignore")
    y, log_jacobian = standardized(loaded.y) if standardize else (loaded.y, 0.0)
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
        "log_jacobian": log_jacobian,
    }
    what = knobs | {
        "command": "compare",
        "models": [identity(m) for m in chosen],
    }
    session = parsing.make_session(
        what, y, quiet=json, max_seconds=max_seconds, checkpoint=checkpoint, resume=resume
    )
    answer = run_compare(chosen, y, session=session, **knobs)
    if plot is not None:
        with session.working("drawing"):
            from bracketz.plots import save_figure

            save_figure(answer.plot(), plot)
    if json:
        numbers = answer.to_json()
        tables.print_json(numbers | {"verdict": translated(numbers["verdict"])})
    else:
        tables.print_comparison(answer, standardize)
    raise typer.Exit(1 if len(chosen) > 1 and not answer.decided else 0)


MISSING = ("refuse", "ignore")


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


def _models(names: list[str], counts: list[int | None], settings: list[str]) -> list:
    """Every model with every number of components; a setting goes to the models that have it."""
    from bracketz.cli import parsing
    from bracketz.models.registry import INFERRED, model_class

    names = [name.strip() for name in names]
    names = [f"inferred-{n}" if f"inferred-{n}" in INFERRED else n for n in dict.fromkeys(names)]
    fields = {n: {f.name for f in dataclasses.fields(model_class(n))} for n in names}
    for setting in settings:
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
