"""The commands, one file each. JAX is imported when one of them runs, not for ``--help``."""

from typing import Annotated

import typer

from bracketz.cli.check import check
from bracketz.cli.command import Command, Estimate, Group
from bracketz.cli.compare import compare
from bracketz.cli.demo import demo
from bracketz.cli.estimate import estimate
from bracketz.cli.estimators import estimators
from bracketz.cli.evidence import evidence
from bracketz.cli.experiment import experiment
from bracketz.cli.fractional import fractional
from bracketz.cli.information import information
from bracketz.cli.league_run import league
from bracketz.cli.models import models
from bracketz.cli.quality import quality
from bracketz.cli.reproduce import reproduce
from bracketz.cli.sandwich import sandwich
from bracketz.cli.selftest import selftest
from bracketz.cli.simulate import simulate
from bracketz.cli.tune import tune

app = typer.Typer(
    name="bracketz",
    help="Bracket the log evidence (the log marginal likelihood) between two bounds, by"
    " bidirectional Monte Carlo.",
    cls=Group,
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


app.command(cls=Command)(models)
app.command(cls=Command)(estimators)
app.command(cls=Command)(simulate)
app.command(
    cls=Estimate,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(estimate)
app.command(cls=Command)(sandwich)
app.command(cls=Command)(evidence)
app.command(cls=Command)(fractional)
app.command(cls=Command)(information)
app.command(cls=Command)(quality)
app.command(cls=Command)(tune)
app.command(cls=Command)(demo)
app.command(cls=Command)(compare)
app.command(cls=Command)(check)
app.command(cls=Command)(selftest)
app.add_typer(experiment)
app.add_typer(league)
app.command(cls=Command)(reproduce)
