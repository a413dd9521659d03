"""Arguments of a user's function: columns of a table by name, and ``--set NAME=VALUE``."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np

from bracketz.data.table import Table
from bracketz.errors import InputError, unknown

#: Arguments that are a size or a choice, never a matrix.
SIZES = {
    *"nmkdjtpq",
    *("rows", "columns", "cols", "size", "length", "count", "dim", "dims", "degree", "order"),
    *("groups", "clusters", "components", "classes", "levels", "steps", "horizon", "seed"),
}

#: Arguments that hold the observations, whatever their column is called.
RESPONSES = {"y", "obs", "observed", "response", "target", "data"}


@dataclass(frozen=True)
class Arguments:
    """Values by name, and where each came from."""

    values: dict[str, Any]
    columns: dict[str, tuple[str, ...]]  # by argument
    unused: tuple[str, ...]  # columns
    sites: tuple[str, ...]  # observed columns that are no argument, so they must be sites
    data: tuple[str, ...]  # arguments that hold the observations
    words: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # coded, by column

    def told(self, label: str, ignored: bool) -> str:
        """Which columns went where, in one line; with ``ignored`` the observations are not used."""
        if not self.columns and not self.sites:
            return ""
        parts = [
            f"{name} = column{'s' * (len(which) > 1)} {', '.join(which)}"
            for name, which in self.columns.items()
            if name not in self.data
        ]
        if data := [*(self.columns[n][0] for n in self.data), *self.sites]:
            listed = ", ".join(data)
            parts.append(
                f"{listed} not used, since data are simulated" if ignored else f"data = {listed}"
            )
        for name, words in self.words.items():
            listed = ", ".join(f"{k} {word}" for k, word in enumerate(words))
            parts.append(f"{name} coded: {listed}")
        if self.unused:
            parts.append(f"not used: {', '.join(self.unused)}")
        return f"{label}: {'; '.join(parts)}"


def pairs(settings: Iterable[str]) -> dict[str, str]:
    """``NAME=VALUE`` by name."""
    found = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set takes NAME=VALUE, got '{setting}'")
        found[key] = text
    return found


def scalar(text: str) -> Any:
    """A word as a value: a whole number, a number, numbers with commas between, true or false, or
    the word itself.

    Example:
        >>> scalar("8"), scalar("0.5"), scalar("true"), scalar("logit")
        (8, 0.5, True, 'logit')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if "," in text:
        try:
            return np.array([float(part) for part in text.split(",")])
        except ValueError:
            return text
    return {"true": True, "false": False}.get(text.lower(), text)


def parameters(function: Callable) -> dict[str, inspect.Parameter]:
    """Those that have a name of their own."""
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {n: p for n, p in found.items() if p.kind not in various}


def required(function: Callable, given: Iterable[str]) -> list[str]:
    """Arguments that are neither given nor have a default."""
    known = parameters(function)
    return [n for n, p in known.items() if p.default is p.empty and n not in set(given)]


def settings_of(function: Callable, settings: Iterable[str], label: str) -> dict[str, Any]:
    """What ``--set`` gives a function."""
    known = parameters(function)
    values = {}
    for key, text in pairs(settings).items():
        if not known:
            raise InputError(f"{label} has no arguments to set, got --set {key}={text}")
        if key not in known:
            raise unknown(f"argument of {label}", key, known)
        values[key] = scalar(text)
    return values


def bind(
    function: Callable,
    label: str,
    table: Table | None,
    observe: Sequence[str],
    given: dict[str, Any],
    covariates: Sequence[str] | None = None,
) -> Arguments:
    """Every argument that is a column gets that column; one that is left gets ``covariates``, or
    all columns that are left. Words are coded where ``covariates`` name them: in a matrix one
    column of 0 and 1 per word, as an argument of its own the word's number, from 0."""
    known, values = parameters(function), dict(given)
    columns: dict[str, tuple[str, ...]] = {}
    if table is None:
        if left := required(function, values):
            raise InputError(
                f"{label} needs {_listed(left)}: columns come from --data FILE.csv, a number from"
                f" --set {left[0]}=VALUE"
            )
        return Arguments(values, {}, (), tuple(observe), ())
    table.require_names()
    observe, chosen = table.listed(observe), table.listed(covariates)
    words: dict[str, tuple[str, ...]] = {}
    response = observe or tuple(n for n in known if known[n].default is None)
    if both := [n for n in chosen if n in response]:
        raise InputError(
            f"column '{both[0]}' of {table.path} is what {label} observes, so it is no covariate:"
            " leave it out of --covariates"
        )
    for name in known:
        if name in table.names and name not in values:
            columns[name] = (name,)
            word = table.first_word(name)
            if word and name in chosen:
                values[name], words[name] = table.codes(name)
            elif word and name not in response:
                way_out = f"have it coded, each word by a number from 0: --covariates {quote(name)}"
                raise _no_number(table, name, word, way_out)
            else:
                values[name] = table.column(name)
    waiting = [n for n in known if n in RESPONSES and known[n].default is None and n not in values]
    if len(observe) == len(waiting) == 1 and observe[0] not in columns:
        values[waiting[0]], columns[waiting[0]] = table.column(observe[0]), observe
        response = tuple(waiting)
    taken = {name for which in columns.values() for name in which}
    sites = tuple(name for name in observe if name not in taken)
    unused = tuple(n for n in table.names if n not in taken and n not in sites)
    if left := required(function, values):
        rest = unused if covariates is None else tuple(n for n in chosen if n in unused)
        name = _only(left, known, label, table, rest)
        if covariates is None:
            table.refuse_index(rest, "covariates")
            _refuse_words(table, rest)
        values[name] = table.matrix(rest, coded=chosen)
        columns[name] = tuple(one for n in rest for one in _expanded(table, n))
        unused = tuple(n for n in unused if n not in rest)
    elif idle := [n for n in chosen if n in unused]:
        raise InputError(
            f"no argument of {label} takes column '{idle[0]}' of {table.path}: leave it out of"
            " --covariates, or name an argument so"
        )
    data = tuple(n for n in response if n in columns)
    return Arguments(values, columns, unused, sites, data, words)


def _refuse_words(table: Table, names: Sequence[str]) -> None:
    """A column of words nobody has named."""
    for name in names:
        if word := table.first_word(name):
            way_out = (
                f"leave it out by --drop {quote(name)}, or have it coded, one column of 0 and 1 per"
                f" word, by naming all covariates: --covariates {quote(','.join(names))}"
            )
            raise _no_number(table, name, word, way_out)


def _no_number(table: Table, name: str, word: tuple[int, str], way_out: str) -> InputError:
    return InputError(
        f"column '{name}' of {table.path} holds '{word[1]}' at row {word[0]}, which is not a"
        f" number: {way_out}"
    )


def _expanded(table: Table, name: str) -> tuple[str, ...]:
    """The columns of a matrix that one column of a table becomes."""
    if not table.first_word(name):
        return (name,)
    return tuple(f"{name}={word}" for word in table.codes(name)[1])


def _only(left: list[str], known: dict, label: str, table: Table, unused: tuple) -> str:
    """The one argument that gets all columns that are left."""
    for name in left:
        if _is_size(known[name]):
            raise InputError(
                f"{label} needs {name}, which is no column of {table.path} and is not guessed: give"
                f" it by --set {name}=VALUE"
            )
    if len(left) > 1:
        raise InputError(
            f"{label} needs {_listed(left)}, which are no columns of {table.path}: name columns"
            f" like them, or give numbers by --set {left[0]}=VALUE"
        )
    if not unused:
        raise InputError(
            f"{label} needs {left[0]}, and no columns of {table.path} are left for it: name a"
            f" column so, or give a number by --set {left[0]}=VALUE"
        )
    return left[0]


def _is_size(parameter: inspect.Parameter) -> bool:
    """By its annotation, or by its name: N, num_rows, n_groups, rows."""
    if parameter.annotation in (int, float, bool, str, "int", "float", "bool", "str"):
        return True
    name = parameter.name.lower()
    return name in SIZES or name.startswith(("num_", "n_", "number")) or name.endswith("_size")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
