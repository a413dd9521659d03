"""``bracketz simulate``."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.options import (
    Columns,
    Components,
    Covariates,
    Decimal,
    Drop,
    Json,
    ModelName,
    Observe,
    Rows,
    Seed,
    Settings,
    StanData,
    TableFile,
)
from bracketz.errors import InputError


def simulate(
    model: ModelName,
    out: Annotated[Path, typer.Option(help="Where to write the simulation (.npz).")],
    rows: Rows = None,
    columns: Columns = None,
    components: Components = None,
    settings: Settings = None,
    data: TableFile = None,
    observe: Observe = None,
    covariates: Covariates = None,
    drop: Drop = None,
    decimal: Decimal = None,
    stan_data: StanData = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw data from a model and keep the exact posterior sample that made them.

    [dim]bracketz simulate clustering --rows 50 --columns 25 --components 10 --out sim.npz[/dim]
    """
    from bracketz.cli import problem, tables
    from bracketz.cli.progress import waiting
    from bracketz.data.files import save
    from bracketz.data.identity import described
    from bracketz.outputs import refuse_existing

    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz, got {out}")
    refuse_existing(out, force)
    asked = problem.Asked.given(locals())
    found = problem.without_data(asked)
    with waiting("simulating", json):
        drawn = found.simulation(rows, columns, seed)
    save(drawn, out, force=force)
    n, d = problem.size(drawn.y)
    if json:
        tables.print_json(described(drawn.meta) | {"out": str(out), "rows": n, "columns": d})
    else:
        print(f"{out}: {problem.sized(drawn.y)} and the exact sample, seed {seed}")
