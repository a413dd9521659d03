"""What JAX says of a user's function, in one sentence that names the function."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from bracketz.errors import InputError, NumericalError

#: What a wrong function, or a function given wrong values, raises; anything else is let through.
_TRANSLATED = (
    TypeError,  # the parent of JAX's concretization errors
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    RuntimeError,
    jax.errors.JAXTypeError,
    jax.errors.JAXIndexError,
)


def name_of(function: Callable) -> str:
    """The name a person knows a function by.

    Args:
        function: any callable, also a ``functools.partial`` or an effect handler around one.

    Returns:
        The name.
    """
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def source_of(function: Callable) -> str:
    """The text of a function, or its name where there is no text.

    Args:
        function: any callable.

    Returns:
        The text.
    """
    while isinstance(function, functools.partial):
        function = function.func
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return name_of(function)


@contextmanager
def translated(function: Callable, doing: str = "") -> Iterator[None]:
    """Errors of a user's function as an ``InputError`` of one sentence; the cause stays attached.

    Args:
        function: the user's; it is named, with the line where its own code was last seen.
        doing: what was going on, such as "drawing from the prior".

    Raises:
        InputError: the function raised something that JAX or a wrong shape explains.
    """
    try:
        yield
    except (InputError, NumericalError):
        raise
    except _TRANSLATED as error:
        where = name_of(function) + _line(function, error)
        during = f" (while {doing})" if doing else ""
        raise InputError(f"{where} {_said(error)}{during}") from error


def _said(error: BaseException) -> str:
    """What is wrong and the way out, after the name of the function."""
    text = _first_sentence(error)
    if isinstance(
        error,
        jax.errors.TracerArrayConversionError | jax.errors.TracerIntegerConversionError,
    ):
        return (
            "needs the values of an array while it is compiled, as np.asarray(), int() or an array"
            " used as a size do: write jnp in place of np, and pass sizes as plain whole numbers"
        )
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return (
            "decides something in Python (if, while, and, or) by the value of an array, which is"
            " not known while it is compiled: use jnp.where or jax.lax.cond, and pass what steers"
            " the model as a plain number or word"
        )
    if isinstance(
        error, jax.errors.ConcretizationTypeError | jax.errors.NonConcreteBooleanIndexError
    ):
        return (
            "has a shape, a size or a boolean index that depends on the values of an array: shapes"
            " must be known before it runs, so pass sizes as plain whole numbers and use jnp.where"
            " for masks"
        )
    if "concrete values" in text or "must be 1D sequences of concrete" in text:
        return (
            "has a shape that depends on the values of an array: shapes must be known before it"
            " runs, so pass sizes as plain whole numbers"
        )
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return (
            "keeps a value from one run to the next (in a global or an attribute), which does not"
            " outlive its run: compute it inside, or pass it as an argument"
        )
    if any(word in text for word in ("broadcast", "shape", "dot_general", "dimension")):
        return f"combines arrays of shapes that do not fit: {text}"
    return f"failed: {type(error).__name__}: {text}"


def _first_sentence(error: BaseException) -> str:
    """The first line of a message without the final stop; JAX's go on for pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else "it gave no reason"


def _line(function: Any, error: BaseException) -> str:
    """`` (models.py, line 12)``: where the function's own file was last seen; or nothing."""
    while isinstance(function, functools.partial):
        function = function.func
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
    return f" ({Path(code.co_filename).name}, line {lines[-1]})" if lines else ""
