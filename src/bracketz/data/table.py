"""A text file as a table of named columns: .csv and its relatives, as people have them.

Separator and decimal sign are found, TRUE and FALSE are 1 and 0, and columns are chosen by name.
Nothing becomes data that is only there to count or to label the rows: what looks like an index is
asked about, words are numbers only where somebody asks for it, and what is missing is NaN only
where somebody can use that.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bracketz.data.cells import (
    MISSING,
    TRUTH,
    counts_rows,
    has_comma,
    index_like,
    is_word,
    number,
    read_cells,
)
from bracketz.errors import InputError, unknown

#: Files that are tables of text.
TABLES = (".csv", ".tsv", ".txt")
#: The way out where an entry is missing and somebody has to do something about it.
FILL = "fill it in or remove the row"


@dataclass(frozen=True)
class Table:
    """Cells as they stand in the file; a column is read as numbers when somebody asks for it.

    Attributes:
        path: the file.
        names: of the columns; none where the file has no header line.
        rows: the cells, each row as long as the first.
        decimal: the decimal sign.
        dropped: names of columns that were left out.
    """

    path: Path
    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    decimal: str = "."
    dropped: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What columns are chosen by: their names, or their places, from 1."""
        return self.names or tuple(str(k + 1) for k in range(len(self.rows[0])))

    def require_names(self) -> None:
        """Refuse a file whose columns have no names of their own.

        Raises:
            InputError: there is no header line, or a name is there twice.
        """
        if not self.names:
            raise InputError(
                f"{self.path} has no header line, and columns are taken by name here: put their"
                " names into the first line"
            )
        for name in self.names:
            self._place(name)

    def listed(self, text: str | Sequence[str] | None) -> tuple[str, ...]:
        """Names with commas between, as a tuple; a name may have commas itself.

        Args:
            text: the names.

        Returns:
            Those that are there.

        Raises:
            InputError: no such column, or it was left out.
        """
        if text is None:
            return ()
        if isinstance(text, str):
            whole = text.strip() in self.labels
            text = [text] if whole else text.split(",")
        names = tuple(dict.fromkeys(name.strip() for name in text if name.strip()))
        for name in names:
            self._place(name)
        return names

    def without(self, names: str | Sequence[str] | None) -> "Table":
        """The table with some columns left out.

        Args:
            names: of these columns.

        Returns:
            Another table.

        Raises:
            InputError: no such column, or none is left.
        """
        gone = self.listed(names)
        if not gone:
            return self
        kept = [k for k, label in enumerate(self.labels) if label not in gone]
        if not kept:
            raise InputError(f"`drop` leaves no column of {self.path}")
        return dataclasses.replace(
            self,
            names=tuple(self.labels[k] for k in kept),
            rows=[[row[k] for k in kept] for row in self.rows],
            dropped=self.dropped + gone,
        )

    # Numbers.

    def column(self, name: str) -> np.ndarray:
        """One column, (N,): whole numbers if all of it are, else floats.

        Args:
            name: as in the header line.

        Returns:
            The numbers.

        Raises:
            InputError: no such column, or something in it that is no finite number.
        """
        values = self._numbers(self._place(name), False, FILL, droppable=False)
        whole = np.all(values == np.round(values)) and np.all(np.abs(values) < 2**53)
        return values.astype(int) if whole else values

    def matrix(
        self,
        names: Sequence[str] | None = None,
        *,
        missing: bool = False,
        way_out: str = FILL,
        coded: Sequence[str] = (),
    ) -> np.ndarray:
        """Columns side by side, as floats, (N, columns).

        Args:
            names: of the columns; None: all.
            missing: whether entries may be missing; they are NaN then.
            way_out: what to do where they may not.
            coded: columns of words that may be coded: one column of 0 and 1 per word.

        Returns:
            The numbers.

        Raises:
            InputError: no such column, or something in it that is no finite number.
        """
        places = range(len(self.rows[0])) if names is None else [self._place(n) for n in names]
        parts = []
        for place in places:
            if self.labels[place] in coded and self.first_word(self.labels[place]):
                codes, words = self.codes(self.labels[place])
                parts.append(np.eye(len(words))[codes])
            else:
                parts.append(self._numbers(place, missing, way_out)[:, None])
        return np.concatenate(parts, axis=1)

    def data(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        missing: bool = False,
        way_out: str = FILL,
    ) -> np.ndarray:
        """The table as data, (N, D).

        Args:
            columns: names of those to use; None: all, if none looks like an index.
            missing: whether entries may be missing; they are NaN then.
            way_out: what to do where they may not.

        Returns:
            The numbers.

        Raises:
            InputError: as ``matrix``; or a column that looks like an index.
        """
        if columns is None:
            self.refuse_index(self.labels, "columns")
            return self.matrix(missing=missing, way_out=way_out)
        return self.matrix(self.listed(columns), missing=missing, way_out=way_out)

    # Words.

    def first_word(self, name: str) -> tuple[int, str] | None:
        """(row, cell) of the first cell of a column that holds a word.

        Args:
            name: of the column.

        Returns:
            None where all of it are numbers, TRUE or FALSE, or missing.
        """
        place = self._place(name)
        cells = (row[place] for row in self.rows)
        found = ((k, c) for k, c in enumerate(cells, start=1) if is_word(c, self.decimal))
        return next(found, None)

    def codes(self, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """A column of words as whole numbers, from 0 in the order of the alphabet.

        Args:
            name: of the column.

        Returns:
            (the numbers, the words).

        Raises:
            InputError: an entry is missing or a number, or no two are the same.
        """
        place = self._place(name)
        cells = [row[place] for row in self.rows]
        for k, cell in enumerate(cells, start=1):
            if cell in MISSING:
                raise self._refusal(place, k, FILL)
            if not is_word(cell, self.decimal):
                raise InputError(
                    f"{self._called(place)} holds words and '{cell}' at row {k}, and only words are"
                    f" coded: write words there, or leave the column out by `drop='{name}'`"
                )
        words = tuple(sorted(set(cells)))
        if len(words) == len(cells) > 1:
            raise InputError(
                f"{self._called(place)} holds a different word in each of {len(cells)} rows, which"
                f" labels them and is no category: leave it out by `drop='{name}'`"
            )
        return np.array([words.index(cell) for cell in cells]), words

    def refuse_index(self, names: Sequence[str], by: str) -> None:
        """Refuse columns that look like an index: nobody has said that they are data.

        Args:
            names: columns that would become data.
            by: the argument that names columns.

        Raises:
            InputError: one of them does.
        """
        for place, name in enumerate(self.labels):
            if name not in names or len(self.labels) < 2:
                continue
            values = [number(row[place], self.decimal) for row in self.rows]
            if why := index_like(name if self.names else "", values, first=place == 0):
                shown = ",".join(names if len(names) <= 6 else [*names[:2], "..."])
                if name not in shown.split(","):
                    shown = f"{name},{shown}"
                raise InputError(
                    f"{self._called(place)} looks like an index ({why}), not data: leave it out by"
                    f" `drop='{name}'`, or keep it by naming all columns to use, `{by}='{shown}'`"
                )

    # Cells.

    def _place(self, name: str) -> int:
        if name in self.dropped and name not in self.labels:
            raise InputError(f"column '{name}' of {self.path} was left out by `drop='{name}'`")
        if name not in self.labels:
            raise unknown(f"column of {self.path}", name, self.labels)
        if self.labels.count(name) > 1:
            raise InputError(f"two columns of {self.path} are called '{name}'; rename one of them")
        return self.labels.index(name)

    def _called(self, place: int) -> str:
        """``column 'b' of y.csv``."""
        label = f"'{self.names[place]}'" if self.names else str(place + 1)
        return f"column {label} of {self.path}"

    def _numbers(
        self, place: int, missing: bool, way_out: str, droppable: bool = True
    ) -> np.ndarray:
        cells = [row[place] for row in self.rows]
        truth = all(cell.lower() in TRUTH or cell in MISSING for cell in cells)
        values = np.empty(len(cells))
        for k, cell in enumerate(cells):
            value = math.nan if cell in MISSING else number(cell, self.decimal)
            if truth:
                value = TRUTH.get(cell.lower(), math.nan)
            if value is None or math.isinf(value) or (math.isnan(value) and not missing):
                raise self._refusal(place, k + 1, way_out, droppable)
            values[k] = value
        return values

    def _refusal(self, place: int, row: int, way_out: str, droppable: bool = True) -> InputError:
        """What is wrong with a cell, and the way out."""
        cell, name = self.rows[row - 1][place], self.labels[place]
        out = f", or leave the column out by `drop='{name}'`" if droppable else ""
        value = math.nan if cell in MISSING else number(cell, self.decimal)
        if value is not None and math.isnan(value):
            why = f"which is missing: {way_out}{out}"
        elif value is not None:
            why = f"which is not finite: {FILL}{out}"
        elif self.decimal == "." and has_comma(cell):
            why = "which is not a number: where commas are decimal signs, say `decimal=','`"
        elif not cell.strip("+-.,0123456789"):
            why = (
                f"which is not a number where '{self.decimal}' is the decimal sign: write all"
                " numbers with one sign, and nothing between thousands"
            )
        else:
            why = f"which is not a number: code words as numbers{out}"
        return InputError(f"{self._called(place)} holds '{cell}' at row {row}, {why}")


def read_table(path: str | Path, *, decimal: str | None = None) -> Table:
    """Read a table of text, with or without a header line.

    Cells are separated by commas, semicolons, tabs or white space. A column without a name is
    called ``unnamed``, with its place where it is not the first.

    Args:
        path: the file.
        decimal: the decimal sign, "." or ","; None: a comma where semicolons separate and there
            are such numbers, else a point.

    Returns:
        The table.

    Raises:
        InputError: no such file, not a text file, no rows, rows of several lengths, or a first line
            that may be names or data.
    """
    path = Path(path)
    names, rows, decimal = read_cells(path, decimal)
    width = len(rows[0])
    if names and len(names) == width - 1 and _labels_rows([row[0] for row in rows], decimal):
        names = ["", *names]  # as R writes tables: the first column holds the names of the rows
    if names and len(names) != width:
        hint = "; where commas are decimal signs, say `decimal=','`" if len(names) == 1 else ""
        raise InputError(
            f"the header line of {path} has {len(names)} names, and the rows have {width}"
            f" values{hint}"
        )
    named = [name or (f"unnamed{k + 1}" if k else "unnamed") for k, name in enumerate(names)]
    return Table(path, tuple(named), rows, decimal)


def _labels_rows(cells: Sequence[str], decimal: str) -> bool:
    """Whether a column without a name labels the rows, by words or by counting."""
    words = any(is_word(cell, decimal) for cell in cells)
    return words or counts_rows([number(cell, decimal) for cell in cells])
