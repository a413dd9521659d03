"""``bracketz simulate``."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.options import Columns, Components, Json, ModelName, Rows, Seed, Settings
from bracketz.errors import InputError


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
    from bracketz import data
    from bracketz.cli import parsing, tables
    from bracketz.cli.progress import waiting
    from bracketz.data.files import refuse_existing
    from bracketz.data.identity import described

    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz, got {out}")
    refuse_existing(out, force)
    chosen = parsing.make_model(model, components, settings or [])
    with waiting("simulating", json):
        drawn = data.simulate(chosen, rows, columns, seed)
    data.save(drawn, out, force=force)
    n, d = drawn.y.shape
    if json:
        tables.print_json(described(drawn.meta) | {"out": str(out), "rows": n, "columns": d})
    else:
        print(f"{out}: {n} rows, {d} columns and the exact sample, seed {seed}")
