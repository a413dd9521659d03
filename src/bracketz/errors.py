"""The one exception that means "the caller can fix this"."""

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


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """``unknown estimator 'as'; did you mean 'ais'?`` (or the whole list when nothing is close)."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    way_out = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(known)}"
    return InputError(f"unknown {kind} '{name}'; {way_out}")
