"""Reading a table of a spec: every key is known, of the right kind and in range, or named in the
refusal."""

import math
import re
from typing import Any

from bracketz.errors import InputError, unknown

#: No knob, size or count in a spec may exceed this; it is far beyond what anybody would wait for.
LARGEST = 10**9
MAX_TRIALS = 100_000
REQUIRED: Any = object()
#: A name that is safe in file names and on one line.
LABEL = re.compile(r"[\w.+ -]+(:\w+)?")


def shown(value: Any) -> str:
    """A value in an error message: on one line, and short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def one_line(text: str) -> str:
    """A message with whatever a file smuggled into it made printable, and not too long."""
    clean = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return clean if len(clean) <= 400 else clean[:397] + "..."


class Table:
    """A TOML table under inspection. ``take`` removes a key; ``finish`` refuses what is left
    over."""

    def __init__(self, values: Any, where: str = ""):
        if not isinstance(values, dict):
            raise InputError(f"{where} must be a table, got {shown(values)}; see docs/testbed.md")
        self.values = dict(values)
        self.where = where
        self.known: list[str] = []

    def name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def take(self, key: str, default: Any = REQUIRED) -> Any:
        self.known.append(key)
        if key in self.values:
            return self.values.pop(key)
        if default is REQUIRED:
            raise InputError(
                f"{self.name(key)} is missing; add it, or see docs/testbed.md for an example"
            )
        return default

    def whole(
        self, key: str, default: Any = REQUIRED, *, minimum: int = 1, maximum: int = LARGEST
    ) -> Any:
        value = self.take(key, default)
        return value if value is None else whole(value, self.name(key), minimum, maximum)

    def positive(self, key: str, default: Any = REQUIRED) -> float:
        value = self.take(key, default)
        if not is_number(value) or not 0 < value < math.inf:
            raise InputError(f"{self.name(key)} must be a positive number, got {shown(value)}")
        return float(value)

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        value = self.take(key, default)
        if value is None:
            return None
        if (
            not isinstance(value, str)
            or not value.strip()
            or not value.isprintable()
            or len(value) > 80
        ):
            raise InputError(
                f"{self.name(key)} must be a text of 1 to 80 printable characters, got"
                f" {shown(value)}"
            )
        return value

    def label(self, key: str, default: Any = REQUIRED) -> str:
        value = self.text(key, default)
        if not LABEL.fullmatch(value):
            raise InputError(
                f"{self.name(key)} may hold letters, digits, spaces, and . + - _ , got"
                f" {shown(value)}"
            )
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.name(key)} must be true or false, got {shown(value)}")
        return value

    def wholes(
        self, key: str, default: Any = REQUIRED, *, minimum: int = 1, maximum: int = LARGEST
    ) -> tuple[int, ...]:
        """A list of different whole numbers, at least one."""
        value = self.take(key, default)
        if not isinstance(value, (list, tuple)) or not value:
            raise InputError(
                f"{self.name(key)} must be a list of whole numbers such as [10, 100, 1000], got"
                f" {shown(value)}"
            )
        numbers = tuple(
            whole(v, f"{self.name(key)}[{i}]", minimum, maximum) for i, v in enumerate(value)
        )
        if len(set(numbers)) < len(numbers):
            twice = next(n for n in numbers if numbers.count(n) > 1)
            raise InputError(f"{self.name(key)} holds {twice} twice; name each value once")
        return numbers

    def tables(self, key: str) -> list["Table"]:
        value = self.take(key)
        if not isinstance(value, list) or not value:
            raise InputError(
                f"{self.name(key)} must be one or more [[{self.name(key)}]] tables, got"
                f" {shown(value)}"
            )
        return [Table(v, f"{self.name(key)}[{i}]") for i, v in enumerate(value)]

    def table(self, key: str) -> "Table":
        return Table(self.take(key, {}), self.name(key))

    def finish(self) -> None:
        for key in self.values:
            raise unknown("key", self.name(key), [self.name(k) for k in self.known])


def distinct(labels: list[str], what: str, key: str) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two {what} are called '{label}'; give one of them another {key}")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value: Any, name: str, minimum: int, maximum: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, got {shown(value)}")
    if not minimum <= value <= maximum:
        raise InputError(f"{name} must be from {minimum} to {maximum}, got {shown(value)}")
    return value


def fitting(value: Any, annotation: Any, name: str) -> Any:
    """A TOML value as the type of a dataclass field: int, float, str, or a list of numbers where
    arrays go."""
    import types
    import typing

    kinds = (
        typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    )
    if isinstance(value, str):
        if str in kinds:
            return value
    elif isinstance(value, bool):
        if bool in kinds:
            return value
    elif isinstance(value, int) and int in kinds:
        return whole(value, name, -LARGEST, LARGEST)
    elif is_number(value) and (float in kinds or not set(kinds) & {int, str, bool}):
        if math.isfinite(value) and abs(value) < 1e100:
            return float(value)
        raise InputError(f"{name} must be a finite number of ordinary size, got {shown(value)}")
    elif isinstance(value, list) and set(kinds) - {int, float, str, bool, type(None)}:
        if value and all(is_number(v) and math.isfinite(v) and abs(v) < 1e100 for v in value):
            return [float(v) for v in value]
        raise InputError(f"{name} must be a list of finite numbers, got {shown(value)}")
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    wanted = (
        " or ".join(w for k, w in words.items() if k in kinds) or "a number or a list of numbers"
    )
    raise InputError(f"{name} must be {wanted}, got {shown(value)}")
