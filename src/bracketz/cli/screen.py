"""The terminal, which shows names and cells as they are: no markup, no emoji codes, no escape
sequences; and, where it knows no plus-minus sign, something like it."""

import codecs
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

#: For terminals that know ASCII only.
_PLAIN = {"±": "+-", "×": "x", "–": "-", "—": "-", "…": "...", "≤": "<=", "≥": ">=", "η": "eta"}


def printable(text: str, lines: bool = True) -> str:
    """Control characters as Python writes them, so that a cell of a file cannot drive the terminal;
    line breaks too, unless there may be several ``lines``.

    Example:
        >>> printable("red: \\x1b[31m")
        'red: \\\\x1b[31m'
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else "\t"
    return "".join(c if c.isprintable() or c in kept else repr(c)[1:-1] for c in text)


class Screen(Console):
    """Rich's console, for words that come from users."""

    def __init__(self, **options: Any):
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        return super().render_str(printable(text), **options)


def encode_whatever_comes() -> None:
    """Characters that the locale cannot write never stop a command that has computed something."""
    codecs.register_error("bracketz", _similar)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="bracketz")


def _similar(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c, "?") for c in text), error.end
