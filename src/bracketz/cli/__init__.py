"""The command line. ``main`` turns every kind of bad input into one sentence and exit code 2, and
arithmetic that broke into one sentence and exit code 1."""

import errno
import itertools
import os
import sys
from typing import Any

#: What JAX takes for a truth value in the environment.
BOOLEANS = ("0", "1", "y", "n", "yes", "no", "t", "f", "true", "false", "on", "off")
TOO_LARGE = "not enough memory for data of this size; use fewer rows, components or chains"


def main() -> None:
    import typer

    from bracketz.caches import cache_folder
    from bracketz.cli.app import app
    from bracketz.cli.screen import encode_whatever_comes
    from bracketz.cli.words import translated
    from bracketz.errors import InputError, NumericalError

    encode_whatever_comes()
    # Settings of this process, not of the library: double precision throughout, a compilation
    # cache between runs. Both give way to the user's own.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    if (text := os.environ["JAX_ENABLE_X64"]).lower() not in BOOLEANS:
        _fail(f"JAX_ENABLE_X64 must be 1 or 0, got '{text}'")
    usage_error: Any = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer keeps it
    try:
        code = app(prog_name="bracketz", standalone_mode=False)
        sys.stdout.flush()
    except usage_error as error:
        _fail(error.format_message() + _given_value(error))
    except InputError as error:
        _fail(translated(str(error)))
    except NumericalError as error:
        _fail(translated(str(error)), code=1)
    except (typer.Abort, KeyboardInterrupt):
        _stopped()
    except MemoryError:
        _fail(TOO_LARGE)
    except BrokenPipeError:  # whoever read has seen enough
        _let_go_of_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:
            _fail(f"cannot use {error.filename}: {error.strerror}")
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EIO):
            raise
        _let_go_of_output()
        _fail(f"cannot write the output: {error.strerror}")
    except RuntimeError as error:
        if "Unable to initialize backend" in str(error):
            _fail(f"JAX cannot start: {' '.join(str(error).split())}")
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        _fail(TOO_LARGE)
    else:
        if code == 130:  # what newer versions of typer make of Ctrl-C
            _stopped()
        sys.exit(code if isinstance(code, int) else 0)


def _let_go_of_output() -> None:
    """What could not be written is not tried again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    from bracketz.cli.screen import printable

    print(f"error: {printable(sentence, lines=False)}", file=sys.stderr)
    sys.exit(code)


def _stopped() -> None:
    print(
        "stopped; an experiment goes on with the same command, and a checkpoint file, if you"
        " named one, with --resume",
        file=sys.stderr,
    )
    sys.exit(130)
