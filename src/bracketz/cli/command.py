"""Commands as Typer makes them, with a plainer help."""

import inspect
from typing import Any

from typer.core import TyperCommand, TyperGroup


def _plain(params: list) -> list:
    """Options without a value name none in the help: ``--json``, not ``--json <bool>``."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """One command. Its help breaks lines where the terminal ends, not where the source does."""

    def __init__(self, *args: Any, help: str | None = None, **others: Any):
        paragraphs = inspect.cleandoc(help or "").split("\n\n")
        super().__init__(*args, help="\n\n".join(" ".join(p.split()) for p in paragraphs), **others)

    def get_params(self, ctx: Any) -> list:
        return _plain(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Without a column for ``--no-...`` or second names, which would take the room of the
        sentences: these name them. (Words have been parsed by now.)"""
        for param in self.params:
            param.secondary_opts = []
            param.opts = param.opts[:1]
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        from bracketz.cli.progress import waiting

        with waiting("loading JAX", quiet=bool(ctx.params.get("json"))):
            import bracketz.models.registry  # noqa: F401  (JAX, and most of what a command needs)
        return super().invoke(ctx)


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list:
        return _plain(super().get_params(ctx))


class Estimate(Command):
    """``estimate``: what its help lists besides depends on the estimators there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from bracketz.cli import tables
        from bracketz.cli.estimators import listing

        tables.print_knobs(listing())
