"""A text file as rows of cells: which separator, which decimal sign, and whether its first line
holds names. Where that cannot be told, the file is refused."""

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path

from bracketz.errors import InputError

#: Cells that mean "not observed".
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "?")
#: Cells that mean 1 and 0, in small letters.
TRUTH = {"true": 1.0, "false": 0.0}
#: Between cells: the first of these that is in the first line, outside quotes.
SEPARATORS = ";\t,"
#: Stands for no separator at all: it does not occur in a text.
ALONE = "\x1f"
#: What an index is called, in small letters and without signs.
INDEX_NAMES = {
    *("id", "index", "idx", "row", "rowid", "rowindex", "rownumber", "rowname", "rownames"),
    *("unnamed", "unnamed0"),
}
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")


def number(cell: str, decimal: str = ".") -> float | None:
    """A cell as a number, also nan and inf; None if it is none.

    Args:
        cell: its text.
        decimal: "." or ",".

    Returns:
        The number.

    Example:
        >>> number("1,5", ","), number("1,5"), number("1.5", ",")
        (1.5, None, None)
    """
    if "_" in cell:
        return None
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    try:
        return float(cell)
    except ValueError:
        return None


def has_comma(cell: str) -> bool:
    """Whether it would be a number if its comma were a decimal point."""
    return _COMMA.fullmatch(cell) is not None


def is_word(cell: str, decimal: str) -> bool:
    """Whether a cell is neither a number, TRUE or FALSE, nor missing."""
    return cell not in MISSING and cell.lower() not in TRUTH and number(cell, decimal) is None


def read_cells(path: Path, decimal: str | None) -> tuple[list[str], list[list[str]], str]:
    """(the names in the header line, none without one; the rows under it; the decimal sign)."""
    if decimal not in (None, ".", ","):
        raise InputError(f"`decimal` must be '.' or ',', got '{decimal}'")
    if not path.is_file():
        raise InputError(f"no file {path}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        between = _separator(text, path.suffix.lower(), decimal)
        rows = _rows(text, between)
    except (UnicodeDecodeError, csv.Error):
        raise InputError(
            f"{path} is not a text file of numbers and separators; save it as .csv (UTF-8)"
        ) from None
    if decimal is None:
        decided = between == ";" and any(has_comma(cell) for row in rows for cell in row)
        decimal = "," if decided else "."
    elif decimal == between and not any("," in cell for row in rows for cell in row):
        raise InputError(
            f"{path} has commas between its values, so they cannot be decimal signs as well: leave"
            " out `decimal`, or put the numbers into quotes"
        )
    names: list[str] = []
    if rows and _is_header(path, rows, decimal):
        names, rows = [rows[0][0].lstrip("# "), *rows[0][1:]], rows[1:]
    if not rows:
        raise InputError(f"{path} has no rows of numbers")
    _same_length(path, rows)
    return *_without_trailing(names, rows), decimal


def _separator(text: str, suffix: str, decimal: str | None) -> str:
    """By the first line; white space where it has none of the others."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ","
    bare = re.sub(r'"[^"]*"', '""', lines[0])
    for sign in SEPARATORS:
        if sign in bare:
            return sign
    last = lines[-1].replace('"', "").split()
    if len(last) > 1 and (suffix != ".csv" or not any(is_word(c, decimal or ".") for c in last)):
        return " "
    return ALONE if decimal == "," else ","


def _rows(text: str, between: str) -> list[list[str]]:
    lines: io.StringIO | list[str] = io.StringIO(text, newline="")
    if between == " ":
        lines = [line.strip() for line in text.splitlines()]
    reader = csv.reader(lines, delimiter=between, skipinitialspace=True)
    rows = [[cell.strip() for cell in row] for row in reader]
    return [row for row in rows if any(row)]


def _is_header(path: Path, rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first line holds names. Numbers among them may be names too, as pandas numbers
    columns."""
    first = rows[0]
    words = [cell for cell in first if is_word(cell, decimal)]
    values = [cell for cell in first if cell not in MISSING and not is_word(cell, decimal)]
    if not values:
        return bool(words)
    counted = [str(k) for k in range(len(values))]
    if first[0] == "" and first[1:] == counted:
        return True  # an index without a name, and numbered columns
    if any(cell[:1].isalpha() for cell in words):
        raise InputError(
            f"the first line of {path} holds words and numbers ({', '.join(first[:4])}), so it may"
            " be names or data: give every column a name that is no number, or put a line of names"
            " above it"
        )
    below = [cell for row in rows[1:] for cell in row]
    whole = all(re.fullmatch(r"[+-]?\d*", cell) for cell in below)
    if len(first) > 1 and first == counted and not whole:
        raise InputError(
            f"the first line of {path} is {', '.join(first[:3])}, as pandas numbers columns, so it"
            " may be names or data: give the columns names of letters, or, if it is data, write"
            " 0.0 for 0"
        )
    return False


def _same_length(path: Path, rows: Sequence[Sequence[str]]) -> None:
    width = len(rows[0])
    for place, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(
                f"row {place} of {path} has {len(row)} values and the first has {width}"
            )


def _without_trailing(names: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Without a last column that has neither a name nor values: a separator at the end of every
    line."""
    width = len(rows[0])
    named = len(names) >= width and names[width - 1] != ""
    if width > 1 and not named and (names or len(rows) > 1) and not any(r[-1] for r in rows):
        return names[: width - 1], [row[:-1] for row in rows]
    return names, rows


def index_like(name: str, values: Sequence[float | None], first: bool) -> str:
    """Why a column looks like an index, by its name or by its values where it comes first; nothing
    if it does not."""
    plain = re.sub(r"[\W_]", "", name.lower())
    if plain in INDEX_NAMES:
        return "it has no name" if plain.startswith("unnamed") else "by its name"
    if first and counts_rows(values):
        start = int(values[0] or 0)
        return f"it counts {start}, {start + 1}, {start + 2}, ..."
    return ""


def counts_rows(values: Sequence[float | None]) -> bool:
    """Whether a column is 0, 1, 2, ... or 1, 2, 3, ... all the way down."""
    first = values[0]
    if first not in (0.0, 1.0) or len(values) < 3:
        return False
    return all(v is not None and math.isclose(v, first + k) for k, v in enumerate(values))
