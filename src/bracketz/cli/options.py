"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.names import complete_model, one_of

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="clustering, low-rank, binary-attributes, or your own: models.py:name.",
        autocompletion=complete_model,
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="A table (.csv, .tsv, .txt) whose columns are the arguments of your NumPyro function.",
    ),
]
Observed = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="sim.npz from bracketz simulate, or observed data as .npy or a table (.csv, .tsv,"
        " .txt); without it, your model's own.",
    ),
]
Observe = Annotated[
    str | None,
    typer.Option(
        "--observe",
        "--response",
        metavar="COLUMN",
        help="The observed column of a table (or --response); several with commas.",
    ),
]
Covariates = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="The columns of a table to use besides, with commas; for your own model words among"
        " them are coded.",
        show_default="all that are left",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Columns of a table to leave out, with commas."),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="The decimal sign of a table.", show_default="found out"),
]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing entries: refuse, or ignore (treated as unobserved, exactly).",
        autocompletion=one_of("refuse", "ignore"),
    ),
]
StanData = Annotated[
    Path | None, typer.Option(metavar="FILE.json", help="The data of a Stan program.")
]
Seed = Annotated[int, typer.Option(help="Everything random follows from this number.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")
]
Rows = Annotated[
    int | None, typer.Option(help="Data points N.", show_default="50; of a grid or machine its own")
]
Columns = Annotated[
    int | None, typer.Option(help="Columns D.", show_default="25; of a grid or machine its own")
]
Components = Annotated[
    int | None,
    typer.Option(help="Components K.", show_default="the model's: 10, low-rank 5"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A hyperparameter (see: bracketz models), or an argument of your function.",
    ),
]
Level = Annotated[
    str,
    typer.Option(
        help="quick, standard or deep: how much the statistical checks draw.",
        autocompletion=one_of("quick", "standard", "deep"),
    ),
]
CheckpointFile = Annotated[
    Path | None, typer.Option("--checkpoint", help="Save the chains here every few seconds.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue from --checkpoint; the numbers come out the same."),
]
Workers = Annotated[
    int | None, typer.Option(help="Run on this many Dask worker processes here.", min=1, max=1024)
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at tcp://host:port.")
]
TwinWorkers = Annotated[
    int | None,
    typer.Option("--workers", help="Try twins on this many Dask workers here.", min=1, max=1024),
]
TwinScheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Try twins on the Dask cluster at tcp://host:port."
    ),
]
