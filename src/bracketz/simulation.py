"""Data: simulated (with the exact posterior sample that made them) or observed; and their files."""

import csv
import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bracketz import npz
from bracketz._version import __version__
from bracketz.errors import InputError
from bracketz.models.base import Collapsed, Model
from bracketz.runtime import double_precision, use_all_cores


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """Observations, and, when they were simulated, the exact posterior sample behind them."""

    y: np.ndarray  # (N, D)
    exact: Any = None  # the model's state, or None for observed data
    parameters: Any = None  # integrated-out variables, where the model has any
    meta: dict = dataclasses.field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return self.exact is not None


def simulate(model: Model, rows: int | None = None, columns: int | None = None, seed: int = 0) -> Data:
    """Draw (x, y) from the joint. The x that made y is an exact sample from p(x | y)."""
    shape = (
        model.default_shape[0] if rows is None else rows,
        model.default_shape[1] if columns is None else columns,
    )
    for name, size in zip(("rows", "columns"), shape, strict=True):
        if size < 1:
            raise InputError(f"{name} must be at least 1, got {size}")
    check_seed(seed)
    model.check_shape(shape)
    use_all_cores()
    with double_precision():
        key_state, key_parameters, key_data = jax.random.split(jax.random.key(seed, impl="threefry2x32"), 3)
        exact = _sample_prior(model, key_state, shape)
        parameters = None
        if isinstance(model, Collapsed):
            parameters = model.sample_parameters(key_parameters, exact, shape)
            y = model.sample_data(key_data, exact, parameters)
        else:
            y = model.simulate(key_data, exact, shape)
        meta = {
            "model": model_label(model),
            "hyperparameters": hyperparameters(model),
            "seed": seed,
            "version": __version__,
        }
        exact, parameters = jax.tree.map(np.asarray, (exact, parameters))
        return Data(np.asarray(y), exact, parameters, meta)


@functools.partial(jax.jit, static_argnames="shape")
def _sample_prior(model: Model, key, shape):
    """Compiled as one, for a quick start. Data are drawn op by op: fused, their last bits would change."""
    return model.sample_prior(key, shape)


def as_data(data, model: Model) -> Data:
    """Accept ``Data`` or a plain array of observations; refuse what cannot be data."""
    if not isinstance(data, Data):
        data = Data(_checked_array(np.asarray(data), "the data"))
    model.check_shape(data.y.shape)
    return data


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must be a whole number from 0 to 4294967295, got {seed}")


def model_label(model: Model) -> str:
    from bracketz.models import INFERRED, REGISTRY

    place = f"{type(model).__module__}:{type(model).__qualname__}"
    return next((name for name, where in (REGISTRY | INFERRED).items() if where == place), place)


def hyperparameters(model: Model) -> dict:
    """Every field of a model as plain JSON values."""
    fields = dataclasses.fields(model)  # type: ignore[arg-type]
    return {f.name: _plain(getattr(model, f.name)) for f in fields}


def _plain(value):
    if dataclasses.is_dataclass(value):
        return hyperparameters(value)  # type: ignore[arg-type]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


# Files.


def save(data: Data, path: str | Path, *, force: bool = False) -> None:
    """Write ``sim.npz``: y, the exact sample by field name, integrated-out variables, meta."""
    path = Path(path)
    refuse_existing(path, force)
    arrays = {"y": data.y, "meta": np.array(json.dumps(data.meta))}
    for group in (data.exact, data.parameters):
        if group is not None:
            arrays.update(_named(group))
    try:
        npz.write(path, arrays)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def refuse_existing(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise InputError(f"{path} exists; add --force to overwrite it, or name another file")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; make it first")


def _named(state) -> dict[str, Any]:
    """By field name; the fields of a NamedTuple inside one count as its own."""
    if not hasattr(state, "_asdict"):
        return {"state": state}
    named: dict[str, Any] = {}
    for name, value in state._asdict().items():
        named |= _named(value) if hasattr(value, "_asdict") else {name: value}
    return named


def _rebuilt(template, named: dict):
    """``_named`` undone."""
    if not hasattr(template, "_asdict"):
        return named["state"]
    parts = (
        _rebuilt(like, named) if hasattr(like, "_asdict") else named[name]
        for name, like in template._asdict().items()
    )
    return type(template)(*parts)


def load(path: str | Path, model: Model | None = None, *, missing: bool = False) -> Data:
    """Read a ``sim.npz``, ``.npy`` or ``.csv``. ``model`` is needed to rebuild the exact sample.

    With ``missing``, entries of observed data may be NaN (or, in a .csv, empty, NA or ?).
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no file {path}")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _load_npz(path, model)
    if suffix == ".npy":
        try:
            array = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise InputError(f"{path} is not a NumPy .npy file of numbers") from None
        return Data(_checked_array(array, str(path), missing=missing))
    if suffix == ".csv":
        return Data(_checked_array(_read_csv(path, missing), str(path), missing=missing))
    raise InputError(f"{path} must end in .npz (from bracketz simulate), .npy or .csv")


def _load_npz(path: Path, model: Model | None) -> Data:
    arrays = npz.read(path)
    if arrays is None:
        raise InputError(f"{path} is not an .npz file from bracketz simulate")
    if "y" not in arrays or "meta" not in arrays:
        raise InputError(f"{path} lacks y or meta, so it is not from bracketz simulate")
    y = _checked_array(arrays["y"], str(path))
    try:
        meta = json.loads(str(arrays["meta"]))
        meta["model"], meta["hyperparameters"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} has no readable meta, so it is not from bracketz simulate") from None
    if model is None:
        return Data(y, meta=meta)
    if meta["model"] != model_label(model):
        raise InputError(
            f"{path} was simulated from {meta['model']}, so its exact sample says nothing about"
            f" {model_label(model)}; give the observations alone as .npy or .csv"
        )
    if meta["hyperparameters"] != hyperparameters(model):
        ours = hyperparameters(model)
        name = next(k for k in ours if ours[k] != meta["hyperparameters"].get(k))
        raise InputError(
            f"{path} was simulated with {name} = {meta['hyperparameters'].get(name)}, not {ours[name]}:"
            " its sample is exact only for the model that made it"
        )
    template = _templates(model, y.shape)
    groups: list = []
    for group in template:
        if group is None:
            groups.append(None)
            continue
        values = {}
        for name, like in _named(group).items():
            if name not in arrays:
                raise InputError(f"{path} lacks '{name}', part of the exact sample")
            if arrays[name].shape != like.shape:
                raise InputError(
                    f"'{name}' in {path} has shape {arrays[name].shape}, and data of {y.shape[0]} rows and"
                    f" {y.shape[1]} columns need {like.shape}"
                )
            values[name] = _checked_array(arrays[name], f"'{name}' in {path}", like.ndim).astype(like.dtype)
        groups.append(_rebuilt(group, values))
    return Data(y, groups[0], groups[1], meta)


def _templates(model: Model, shape):
    """Shapes of the exact sample and of the integrated-out variables."""
    with double_precision():
        key = jax.random.key(0, impl="threefry2x32")
        exact = jax.eval_shape(lambda k: model.sample_prior(k, shape), key)
        parameters = None
        if isinstance(model, Collapsed):
            parameters = jax.eval_shape(lambda k, s: model.sample_parameters(k, s, shape), key, exact)
    return exact, parameters


#: Cells of a .csv that mean "not observed".
UNSEEN = ("", "NA", "?")
IGNORE = "; fill it in, or use bracketz compare --missing ignore"


def _read_csv(path: Path, missing: bool) -> np.ndarray:
    """Numbers, one row a line, with an optional header line."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a text file of comma-separated numbers") from None
    if rows and not any(_is_number(cell) for cell in rows[0]):
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path} has no rows of numbers")
    width = len(rows[0])
    unseen = UNSEEN if missing else ()
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(f"row {number} of {path} has {len(row)} values and the first has {width}")
        for cell in row:
            if not _is_number(cell) and cell.strip() not in unseen:
                way_out = IGNORE if cell.strip() in UNSEEN else ""
                raise InputError(
                    f"row {number} of {path} holds '{cell.strip()}', which is not a number{way_out}"
                )
    return np.array([[float(cell) if _is_number(cell) else np.nan for cell in row] for row in rows])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
        return True
    except ValueError:
        return False


def _checked_array(array: np.ndarray, what: str, ndim: int = 2, missing: bool = False) -> np.ndarray:
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must hold real numbers, got type {array.dtype}")
    if ndim == 2 and array.ndim == 1:
        array = array[:, None]
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{what} must be a non-empty table of N rows and D columns, got shape {array.shape}")
    array = array.astype(float)
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        where = np.argwhere(bad)[0]
        value = array[tuple(where)]
        raise InputError(
            f"{what} holds {value} at row {where[0] + 1}"
            + (f", column {where[1] + 1}" if ndim == 2 else "")
            + (IGNORE if np.isnan(value) and ndim == 2 else "; remove or fill in such values first")
        )
    if np.isnan(array).all():
        raise InputError(f"{what} holds no observed value")
    return array
