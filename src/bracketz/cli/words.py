"""The library names its arguments, as `max_seconds`, `force=True` or `drop='id'`; on a terminal
they are options."""

import dataclasses
import re
import shlex
from functools import cache

#: Arguments whose option is not their name with dashes.
OPTIONS = {"`missing=True`": "--missing ignore"}
#: Columns of a file by name; without a value, `columns` is a number of them.
COLUMNS = "columns"
_ARGUMENT = re.compile(r"`(\w+)(?:=(?:(\w+)|'([^'`]*)'))?`")


def translated(sentence: str) -> str:
    """Every argument in backticks as the option it is here: `max_seconds` is --max-seconds. Other
    words in backticks, such as the parameters of a user's model, stay as they are.

    Example:
        >>> translated("lower `max_effort`, or use `point=chain` with `force=True`")
        'lower --max-effort, or use --point chain with --force'
    """

    def option(found: re.Match) -> str:
        if found[0] in OPTIONS:
            return OPTIONS[found[0]]
        if found[1] not in _options():
            return found[0]
        name = found[1].replace("_", "-")
        if found[3] is not None:
            name = "covariates" if name == COLUMNS else name
            return f"--{name} {shlex.quote(found[3])}"
        value = "" if found[2] in (None, "True") else f" {found[2]}"
        return f"--{name}{value}"

    return _ARGUMENT.sub(option, sentence)


@cache
def _options() -> frozenset[str]:
    """What the commands and the estimators have options for, as the library writes it."""
    from typer.main import get_command

    from bracketz.cli.app import app
    from bracketz.estimators.registry import ESTIMATORS

    names: set[str] = set()
    commands = [get_command(app)]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        names |= {option.lstrip("-") for param in command.params for option in param.opts}
    knobs = {f.name for cls in ESTIMATORS.values() for f in dataclasses.fields(cls)}
    return frozenset(name.replace("-", "_") for name in names) | knobs
