"""``bracketz demo``."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.options import Json, Seed


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path(
        "demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in --out.")] = False,
    seed: Seed = 16,  # one with which no bounds cross, for a first look
    json: Json = False,
) -> None:
    """Sandwich the paper's three models at the paper's size, to a gap of at most 1 nat."""
    from bracketz.cli import parsing, tables
    from bracketz.cli.progress import waiting
    from bracketz.data import simulate
    from bracketz.inference import sandwich
    from bracketz.models.registry import MODELS
    from bracketz.outputs import own_folder, refuse_existing, write_text
    from bracketz.plots import closing_bounds_of_all, save_figure

    picture, numbers = out / "bounds.png", out / "bounds.json"
    own_folder(out)
    for file in (picture, numbers):
        refuse_existing(file, force)
    answers = []
    for name in MODELS:
        chosen = parsing.make_model(name, None, [])
        with waiting("simulating", json):
            data = simulate(chosen, seed=seed)
        session = parsing.make_session(
            {}, data.y, quiet=json, max_seconds=None, checkpoint=None, resume=False
        )
        session.progress.note(f"{name}: 50 x 25, {chosen.components} components")
        with session.working("compiling both directions"):  # until the first bar
            answers.append(sandwich(chosen, data, gap=1.0, seed=seed, session=session))
    summary = {"sandwiches": [answer.to_json() for answer in answers]}
    if json:
        tables.print_json(summary | {"picture": str(picture)})
    else:
        tables.print_demo(answers, str(picture))
    write_text(numbers, json_module.dumps(summary, indent=2))
    with session.working("drawing"):
        save_figure(closing_bounds_of_all(answers), picture)
    raise typer.Exit(0 if all(answer.converged for answer in answers) else 1)
