"""From words on the command line to a model and its data."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bracketz.cli import arguments, own, parsing
from bracketz.cli.asked import Asked
from bracketz.cli.progress import Notes, waiting
from bracketz.core.capabilities import Conjugate
from bracketz.core.model import Model
from bracketz.core.undirected import Undirected
from bracketz.data.dataset import IGNORE, Data, checked_array
from bracketz.data.files import load
from bracketz.data.simulate import simulate
from bracketz.data.table import FILL
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.models.hierarchical import Inferred
from bracketz.models.missing_data import Incomplete
from bracketz.models.registry import SHIPPED

if TYPE_CHECKING:
    from bracketz.cli.arguments import Arguments

#: A function's arguments in a simulation's file.
ARGUMENT = "argument."
#: The way out for an estimator that cannot leave them out.
INSTEAD = "fill it in, or take ais, which leaves it out exactly with `missing=True`"


@dataclasses.dataclass(frozen=True)
class Found:
    """A model, and the arguments it was made with where it is a function of the user's."""

    model: Model
    arguments: "Arguments | None" = None

    def said(self, ignored: bool, quiet: bool) -> None:
        """Tell which columns went where."""
        if self.arguments is not None:
            label = getattr(self.model, "label", "the model")
            if line := self.arguments.told(label, ignored):
                Notes(quiet).note(line)

    def simulation(self, rows: int | None, columns: int | None, seed: int) -> Data:
        """Data drawn from the model; they remember the arguments it was made with."""
        drawn = simulate(self.model, rows, columns, seed)
        if self.arguments is None:
            return drawn
        kept = {f"{ARGUMENT}{k}": v for k, v in self.arguments.values.items()}
        meta = drawn.meta | {"hyperparameters": drawn.meta["hyperparameters"] | kept}
        return dataclasses.replace(drawn, meta=meta)


# What commands ask for.


def without_data(asked: Asked) -> Found:
    """The model alone. A table gives a function its covariates, and is of no use otherwise."""
    found = make(asked)
    if asked.data is not None and found.arguments is None:
        raise InputError(
            f"--data gives a NumPyro function its covariates, and {asked.name} takes none; leave"
            " it out"
        )
    if asked.observed and asked.data is None and not own.is_own(asked.name):
        raise InputError(
            f"--observe names columns of --data, and {asked.name} takes none; leave it out"
        )
    refuse_sizes(asked, found.model)
    found.said(ignored=True, quiet=asked.quiet)
    return found


def simulated(asked: Asked, seed: int) -> tuple[Model, Data]:
    """The model, and data drawn from it here; or the simulation in a file."""
    found = make(asked)
    takes_table = found.arguments is not None and asked.is_table
    if asked.data is not None and not takes_table:
        if asked.rows is not None or asked.columns is not None:
            raise InputError(
                "--rows and --columns are for data simulated here; leave them out with --data"
            )
        if isinstance(found.model, Undirected):
            return found.model, _read(asked, found)
        data = _read(dataclasses.replace(asked, missing="ignore"), found)
        if not data.simulated and not isinstance(found.model, Factored):
            # Refused for want of an exact sample, whatever is missing in them.
            data = Data(np.nan_to_num(data.y))
        return found.model, data
    refuse_sizes(asked, found.model)
    found.said(ignored=True, quiet=asked.quiet)
    with waiting("simulating", asked.quiet):
        return found.model, found.simulation(asked.rows, asked.columns, seed)


def observed(asked: Asked) -> tuple[Model, Data]:
    """The model, and the data in a file; its own where no file is named."""
    found = make(asked)
    model = found.model
    if asked.data is not None:
        return _complete(asked, model, _read(asked, found))
    if not isinstance(model, Factored) or model.own_data is None:
        raise InputError(
            f"{asked.name} has no data of its own: give --data FILE, sim.npz from bracketz simulate"
            " or observed data as .npy or .csv"
        )
    return model, Data(model.own_data)


def matrix(asked: Asked, way_out: str = IGNORE) -> Data:
    """The file of ``--data`` as N rows and D columns, whatever the model: the columns in
    ``--covariates`` (or ``--observe``), or all but those in ``--drop``. With ``--missing ignore``
    entries may be NaN; without, they are refused, and ``way_out`` says what to do."""
    assert asked.data is not None
    ignore = asked.missing == "ignore"
    table = asked.table
    if table is None:
        found = load(asked.data, missing=True)
        if asked.kind == ".npz":
            return found
        return Data(checked_array(found.y, str(asked.data), missing=ignore, way_out=way_out))
    if asked.observed and asked.chosen is not None:
        raise InputError(
            f"{asked.name} describes all its columns alike, without a response: name them all by"
            " --covariates, and leave out --observe"
        )
    y = table.data(asked.observed or asked.chosen, missing=ignore, way_out=way_out)
    return Data(checked_array(y, str(asked.data), missing=ignore))


def _way_out(asked: Asked, model: Model) -> str:
    """What to do about missing entries of a model that is no user's."""
    if not isinstance(model, Conjugate | Inferred):
        return FILL
    return IGNORE if asked.leaves_out else INSTEAD


def _complete(asked: Asked, model: Model, data: Data) -> tuple[Model, Data]:
    """The model that leaves missing entries out, where there are any."""
    if asked.missing == "refuse" or isinstance(model, Factored):
        return model, data
    unseen = np.isnan(data.y)
    if not unseen.any():
        return model, data
    if not asked.leaves_out:
        raise InputError(
            f"{asked.data} has missing entries, which this estimator cannot leave out: fill them"
            " in, or take ais"
        )
    few = "entry is" if unseen.sum() == 1 else "entries are"
    Notes(asked.quiet).note(f"{unseen.sum()} missing {few} left out, exactly")
    return Incomplete(model, ~unseen), Data(np.where(unseen, 0.0, data.y))


def named_as(asked: Asked, model: Model, answer: Any) -> Any:
    """An answer under the name of the model asked for, also where entries were left out."""
    wrapped = isinstance(model, Incomplete)
    return dataclasses.replace(answer, model=asked.name) if wrapped else answer


def refuse_sizes(asked: Asked, model: Model) -> None:
    """``--rows`` and ``--columns`` where a model knows the size of its data."""
    if isinstance(model, Factored) and not (asked.rows is None and asked.columns is None):
        raise InputError(
            f"{model.label} knows the size of its data; leave out --rows and --columns, and make"
            " the model with other covariates"
        )


# Models.


def make(asked: Asked) -> Found:
    """The model behind a name, whatever it is."""
    if asked.name.endswith(".stan"):
        return Found(_stan(asked))
    if asked.stan_data is not None:
        raise InputError(
            f"--stan-data is for Stan programs, and {asked.name} is none; leave it out"
        )
    if not own.is_own(asked.name):
        return Found(_of_class(asked, SHIPPED.find(asked.name)))
    found = own.find(asked.name)
    if isinstance(found, type) and issubclass(found, Model):
        return Found(_of_class(asked, found))
    if own.is_function(found):
        given = arguments.settings_of(found, asked.settings or [], asked.name)
        if not arguments.required(found, given):
            made = own.made_by(found, given, asked.name)
            if made is not None:
                return Found(_instance(dataclasses.replace(asked, settings=None), made))
        return _function(asked, found, given)
    return Found(_instance(asked, found))


def _of_class(asked: Asked, cls: type[Model]) -> Model:
    """A simulation carries its model's hyperparameters with it."""
    parsing.require_dataclass(cls)
    base = None
    if asked.data is not None and asked.kind == ".npz":
        meta = load(asked.data).meta
        if meta["model"] in (asked.name, cls.__name__, f"{cls.__module__}:{cls.__qualname__}"):
            known = {f.name for f in dataclasses.fields(cls)}
            values = meta["hyperparameters"].items()
            # Networks and the like (a dict) are no settings: the class has its own.
            base = {
                k: v for k, v in values if v is not None and k in known and not isinstance(v, dict)
            }
    return parsing.make_from_class(
        cls, asked.name, asked.components, asked.settings or [], base=base
    )


def _instance(asked: Asked, found: Any) -> Model:
    if asked.settings or asked.components is not None:
        raise InputError(
            f"{asked.name} is a model made in its file, so --set and --components say nothing; make"
            " it there as you want it"
        )
    if own.is_pymc(found):
        from bracketz.adapters.pymc import from_pymc

        with waiting("compiling the PyMC model", asked.quiet), own.told(asked.name, None, False):
            return from_pymc(found)
    if not isinstance(found, Model):
        raise own.refusal(found, asked.name)
    return found


def _function(asked: Asked, function: Callable, given: dict[str, Any]) -> Found:
    from bracketz.adapters.numpyro import from_numpyro, require_numpyro

    require_numpyro()
    if asked.components is not None:
        raise InputError(f"{asked.name} is a function; give its arguments by --set NAME=VALUE")
    if asked.data is not None and asked.kind == ".npz":
        given = _kept(load(asked.data)) | given
    bound = arguments.bind(function, asked.name, asked.table, asked.observed, given, asked.chosen)
    more: dict[str, Any] = {"observed": bound.sites} if bound.sites else {}
    with (
        waiting("reading the NumPyro model", asked.quiet),
        own.told(asked.name, own.file_of(function), ours=False),
    ):
        return Found(from_numpyro(function, **more, **bound.values), bound)


def _kept(data: Data) -> dict[str, Any]:
    """The arguments of the function a simulation was drawn from."""
    values = data.meta["hyperparameters"].items()
    return {k.removeprefix(ARGUMENT): v for k, v in values if k.startswith(ARGUMENT)}


def _stan(asked: Asked) -> Model:
    from bracketz.adapters.stan import from_stan

    if asked.stan_data is None:
        raise InputError(f"{asked.name} needs the data it declares: give --stan-data FILE.json")
    if asked.settings or asked.components is not None:
        raise InputError(
            f"{asked.name} has its numbers from --stan-data, so --set and --components say nothing"
        )
    names: dict[str, Any] = {"observed": tuple(asked.observed)} if asked.observed else {}
    try:
        with waiting("compiling the Stan program", asked.quiet):
            return from_stan(Path(asked.name), asked.stan_data, **names)
    except InputError as error:
        said = str(error).replace("`data`", "--stan-data").replace("`observed`", "--observe")
        raise InputError(said) from error


# Data.


def _read(asked: Asked, found: Found) -> Data:
    """The file of ``--data`` as the data of a model."""
    model, names = found.model, asked.observed
    assert asked.data is not None
    table = asked.table
    if table is None:
        if names and found.arguments is None and not asked.name.endswith(".stan"):
            raise InputError(f"--observe names columns of a .csv, and --data is {asked.data}")
        if asked.kind == ".npz" or isinstance(model, Factored):
            return load(asked.data, model)
    if not isinstance(model, Factored):
        return matrix(asked, _way_out(asked, model))
    assert table is not None
    if found.arguments is not None:
        return _of_function(asked, found, model)
    shapes = _shapes(model)
    if asked.chosen is not None and (names or isinstance(shapes, dict)):
        raise InputError(f"{asked.name} takes no covariates from a table; leave out --covariates")
    if not names and isinstance(shapes, dict) and set(shapes) <= set(table.names):
        names = list(shapes)
    if not names:
        y = table.data(asked.chosen)
        return Data(model.observations(checked_array(y, str(asked.data))))
    if isinstance(shapes, dict) or (shapes is None and len(names) > 1):
        return Data({name: table.column(name) for name in names})
    return Data(table.column(names[0]) if len(names) == 1 else table.matrix(names))


def _of_function(asked: Asked, found: Found, model: Factored) -> Data:
    """The observed columns, as the function was given them or by the names of its sites."""
    bound, table = found.arguments, asked.table
    assert bound is not None and table is not None
    if bound.sites:
        columns = {name: table.column(name) for name in bound.sites}
        found.said(ignored=False, quiet=asked.quiet)
        return Data(next(iter(columns.values())) if len(columns) == 1 else columns)
    if model.own_data is None:
        raise InputError(
            f"no column of {asked.data} is the data of {asked.name}: name it by --observe COLUMN"
        )
    observed = {column for name in bound.data for column in bound.columns[name]}
    if left := [n for n in asked.observed if n not in observed]:
        raise InputError(f"{left[0]} is no argument of {asked.name} that is observed")
    found.said(ignored=False, quiet=asked.quiet)
    return Data(model.own_data)


def _shapes(model: Factored) -> Any:
    """Of the data, where the model can simulate them."""
    from bracketz.core.precision import double_precision

    try:
        with double_precision():
            return model.data_shapes
    except InputError:
        return None


def size(y: Any) -> tuple[int | None, int | None]:
    """(rows, columns) of data that are a table; a vector has one column, other data have none."""
    shape = np.shape(y) if hasattr(y, "shape") else ()
    return (shape[0] if shape else None), {1: 1, 2: shape[-1] if shape else 0}.get(len(shape))


def sized(y: Any) -> str:
    """The size of data in words: ``50 rows, 25 columns``; of several arrays each by name."""
    if isinstance(y, dict):
        return ", ".join(f"{name} {_by(one)}" for name, one in y.items())
    rows, columns = size(y)
    return f"data {_by(y)}" if columns is None else f"{rows} rows, {columns} columns"


def _by(array: Any) -> str:
    return " x ".join(map(str, np.shape(array))) or "1"
