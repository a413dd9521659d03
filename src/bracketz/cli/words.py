"""The library names its arguments, as `max_seconds` or `force=True`; on a terminal they are
options."""

import re

#: Arguments whose option is not their name with dashes.
OPTIONS = {"`missing=True`": "--missing ignore"}
_ARGUMENT = re.compile(r"`(\w+)(?:=(\w+))?`")


def translated(sentence: str) -> str:
    """Every argument in backticks as the option it is here: `max_seconds` is --max-seconds.

    Example:
        >>> translated("lower `max_effort`, or use `point=chain` with `force=True`")
        'lower --max-effort, or use --point chain with --force'
    """

    def option(found: re.Match) -> str:
        if found[0] in OPTIONS:
            return OPTIONS[found[0]]
        value = "" if found[2] in (None, "True") else f" {found[2]}"
        return f"--{found[1].replace('_', '-')}{value}"

    return _ARGUMENT.sub(option, sentence)
