"""The command line. ``main`` turns every kind of bad input into one sentence and exit code 2, and
arithmetic that broke into one sentence and exit code 1."""

import itertools
import os
import sys
from typing import Any


def main() -> None:
    import typer

    from bracketz.caches import cache_folder
    from bracketz.cli.app import app
    from bracketz.cli.words import translated
    from bracketz.errors import InputError, NumericalError

    # Settings of this process, not of the library: double precision throughout, a compilation
    # cache between runs. Both give way to the user's own.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    usage_error: Any = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer keeps it
    try:
        code = app(prog_name="bracketz", standalone_mode=False)
    except usage_error as error:
        _fail(error.format_message() + _given_value(error))
    except InputError as error:
        _fail(translated(str(error)))
    except NumericalError as error:
        _fail(translated(str(error)), code=1)
    except (typer.Abort, KeyboardInterrupt):
        _stopped()
    except MemoryError:
        _fail("not enough memory for data of this size; use fewer rows, components or chains")
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        _fail("not enough memory for data of this size; use fewer rows, components or chains")
    else:
        if code == 130:  # what newer versions of typer make of Ctrl-C
            _stopped()
        sys.exit(code if isinstance(code, int) else 0)


def _given_value(error: Any) -> str:
    """``, got 'ten'``: the word after the option that was refused, which the parser does not
    name."""
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for word, following in itertools.pairwise(sys.argv):
            if word == option:
                return f", got '{following}'"
            if word.startswith(option + "="):
                return f", got '{word.partition('=')[2]}'"
    return ""


def _fail(sentence: str, code: int = 2) -> None:
    print(f"error: {_printable(sentence)}", file=sys.stderr)
    sys.exit(code)


def _printable(sentence: str) -> str:
    """On one line, and without what a terminal would obey: words and files are quoted in it."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence)


def _stopped() -> None:
    print(
        "stopped; an experiment goes on with the same command, and a checkpoint file, if you"
        " named one, with --resume",
        file=sys.stderr,
    )
    sys.exit(130)
