"""The two exceptions with a sentence in them: bad input, and arithmetic that broke."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: one sentence that names the value and the way out.

    The command line prints it and exits with 2; nothing has been written when it is raised.

    Example:
        >>> import bracketz as bz
        >>> try:
        ...     bz.Clustering(components=0)
        ... except bz.InputError as error:
        ...     print(error)
        components must be a whole number of at least 1, got 0
    """


class NumericalError(ArithmeticError):
    """The arithmetic broke: one sentence that says what, and the way out.

    Not a number, an infinity where none is possible, a cache that is no longer what it stands
    for, or bounds inverted beyond what the inequality allows. There is no answer then. The
    command line prints the sentence and exits with 1.

    Example:
        >>> import bracketz as bz
        >>> issubclass(bz.NumericalError, ArithmeticError)
        True
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """``unknown estimator 'as'; did you mean 'ais'?`` (or the whole list when nothing is close)."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    way_out = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(known)}"
    return InputError(f"unknown {kind} '{name}'; {way_out}")


def broken(what: str) -> NumericalError:
    """The error that says what broke, and the way out."""
    return NumericalError(
        f"the arithmetic broke: {what}; rescale the data (columns of mean 0 and standard deviation"
        " 1), take a larger noise variance, or see what bracketz check says of the model"
    )
