"""What the options of a command say of a model and its data."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from bracketz.data.table import TABLES, Table, read_table
from bracketz.errors import InputError, unknown

#: What may be done about missing entries.
MISSING = ("refuse", "ignore")


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the options say of a model and its data."""

    name: str
    data: Path | None = None
    components: int | None = None
    settings: list[str] | None = None
    rows: int | None = None
    columns: int | None = None
    observe: str | None = None
    stan_data: Path | None = None
    quiet: bool = False
    covariates: str | None = None
    drop: str | None = None
    decimal: str | None = None
    missing: str = "refuse"
    leaves_out: bool = True  # whether what runs on the data can leave missing entries out

    @classmethod
    def given(cls, options: Mapping[str, Any], **more: Any) -> "Asked":
        """From a command's own arguments (its ``locals()``), of which these are some.

        Args:
            options: by name; ``model`` is the model's name, and ``json`` leaves notes out.
            **more: what is not among them.

        Returns:
            What they say.
        """
        names = {f.name for f in dataclasses.fields(cls)} - {"name", "quiet"}
        here = {name: value for name, value in options.items() if name in names}
        return cls(options["model"], quiet=options["json"], **here | more)

    def __post_init__(self):
        if self.missing not in MISSING:
            raise unknown("--missing", self.missing, MISSING)
        for option in ("covariates", "drop", "decimal"):
            if getattr(self, option) is not None and not self.is_table:
                where = "no --data FILE.csv is given" if self.data is None else f"got {self.data}"
                raise InputError(f"--{option} is about the columns of a table, and {where}")

    @property
    def observed(self) -> list[str]:
        """The names in ``--observe``."""
        said = (self.observe or "").strip()
        if said and self.table is not None and said in self.table.labels:
            return [said]  # it may have commas itself
        return [name.strip() for name in said.split(",") if name.strip()]

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """The names in ``--covariates``; None where nothing is said."""
        if self.covariates is None:
            return None
        assert self.table is not None
        return self.table.listed(self.covariates)

    @property
    def kind(self) -> str:
        """How the file of ``--data`` ends; nothing where there is none."""
        return "" if self.data is None else self.data.suffix.lower()

    @property
    def is_table(self) -> bool:
        """Whether the file of ``--data`` is a table of text."""
        return self.kind in TABLES

    @cached_property
    def table(self) -> Table | None:
        """The file of ``--data`` if it is a table, without the columns in ``--drop``."""
        if self.data is None or not self.is_table:
            return None
        return read_table(self.data, decimal=self.decimal).without(self.drop)
