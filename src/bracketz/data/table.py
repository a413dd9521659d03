"""A .csv as a table of named columns."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bracketz.errors import InputError, unknown


@dataclass(frozen=True)
class Table:
    """Cells as they stand in the file; a column is read as numbers when somebody asks for it.

    Attributes:
        path: the file.
        names: of the columns; none where the file has no header line.
        rows: the cells, each row as long as the first.
    """

    path: Path
    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def require_names(self) -> None:
        """Refuse a file whose columns have no names of their own.

        Raises:
            InputError: there is no header line, it is too short or too long, or a name is there
                twice.
        """
        names, width = self.names, len(self.rows[0])
        if not names:
            raise InputError(
                f"{self.path} has no header line, and columns are taken by name here: put their"
                " names into the first line"
            )
        if len(names) != width:
            raise InputError(
                f"the header line of {self.path} has {len(names)} names, and the rows have"
                f" {width} values"
            )
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(
                f"two columns of {self.path} are called '{twice[0]}'; rename one of them"
            )

    def column(self, name: str) -> np.ndarray:
        """One column, (N,): whole numbers if all of it are, else floats.

        Args:
            name: as in the header line.

        Returns:
            The numbers.

        Raises:
            InputError: no such column, or something in it that is no finite number.
        """
        self.require_names()
        if name not in self.names:
            raise unknown(f"column of {self.path}", name, self.names)
        at = self.names.index(name)
        values = np.array([self._number(row[at], k, name) for k, row in enumerate(self.rows, 1)])
        whole = np.all(values == np.round(values)) and np.all(np.abs(values) < 2**53)
        return values.astype(int) if whole else values

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Several columns side by side, as floats, (N, columns).

        Args:
            names: of the columns.

        Returns:
            The numbers.

        Raises:
            InputError: as ``column``.
        """
        return np.column_stack([self.column(name) for name in names]).astype(float)

    def _number(self, cell: str, row: int, name: str) -> float:
        if is_number(cell) and math.isfinite(float(cell)):
            return float(cell)
        what = "which is not a number" if cell else "which is empty"
        raise InputError(
            f"column '{name}' of {self.path} holds '{cell}' at row {row}, {what}: code words as"
            " numbers, and remove or fill in what is missing"
        )


def read_table(path: str | Path) -> Table:
    """Read a .csv, with or without a header line.

    Args:
        path: the file.

    Returns:
        The table.

    Raises:
        InputError: no such file, not a text file, no rows, or rows of several lengths.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no file {path}")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [[cell.strip() for cell in row] for row in csv.reader(file)]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a text file of comma-separated numbers") from None
    rows = [row for row in lines if any(row)]
    names: tuple[str, ...] = ()
    if rows and not any(is_number(cell) for cell in rows[0]):
        names, rows = tuple(rows[0]), rows[1:]
    if not rows:
        raise InputError(f"{path} has no rows of numbers")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(
                f"row {number} of {path} has {len(row)} values and the first has {width}"
            )
    return Table(path, names, rows)


def is_number(cell: str) -> bool:
    """Whether a cell can be read as a number (also nan and inf).

    Args:
        cell: its text.

    Returns:
        True or False.
    """
    try:
        float(cell)
        return True
    except ValueError:
        return False
