"""Data on disk: simulations with their exact sample, and observed tables.

A simulation is an .npz file of plain arrays: ``y``; the exact sample and what is integrated out,
each leaf under its field's name, or, where that is taken or there is none, under its path in the
state (``state.0.b``); the model's own arrays (covariates) as ``model.NAME``; and ``meta``, a JSON
text. Nothing is ever pickled.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Collapsed
from bracketz.core.model import Model, Shape
from bracketz.core.precision import double_precision
from bracketz.data.dataset import IGNORE, Data, checked_array
from bracketz.data.identity import described, hyperparameters, is_description, model_label
from bracketz.data.table import FILL, TABLES, read_table
from bracketz.engine import npz
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.outputs import refuse_existing

RESERVED = ("y", "meta")


def save(data: Data, path: str | Path, *, force: bool = False) -> None:
    """Write a simulation, or data alone, as one .npz file.

    Args:
        data: what to keep. The exact sample may be any pytree of arrays.
        path: where; the file is replaced in one step.
        force: overwrite a file that exists.

    Raises:
        InputError: the file exists, cannot be written, or the sample holds something that is no
            array of numbers.

    Example:
        >>> import bracketz as bz, tempfile
        >>> model = bz.Clustering(components=2)
        >>> bz.save(bz.simulate(model, 6, 2), f"{tempfile.mkdtemp()}/sim.npz")
    """
    path = Path(path)
    refuse_existing(path, force)
    arrays = {name: _numbers(leaf, name) for name, leaf in _observed(data.y).items()}
    for name, leaf in _named(data.exact, data.parameters).items():
        arrays[name] = _numbers(leaf, name)
    meta = dict(data.meta)
    for name, value in meta.get("hyperparameters", {}).items():
        if isinstance(value, np.ndarray):
            arrays[f"model.{name}"] = _numbers(value, name)
    arrays["meta"] = np.array(json.dumps(described(meta)))
    try:
        npz.write(path, arrays)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _observed(y: Any) -> dict[str, Any]:
    """Leaf by name: ``y``, or ``y.NAME`` where the data are several arrays."""
    leaves = jax.tree_util.tree_flatten_with_path(y)[0]
    return {
        ".".join(["y", *(jax.tree_util.keystr((k,), simple=True) for k in path)]): leaf
        for path, leaf in leaves
    }


def _numbers(leaf: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(leaf)
    except TypeError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"'{name}' holds {type(leaf).__name__}, and only arrays of real numbers can be saved"
        )
    return array


def _named(exact: Any, parameters: Any) -> dict[str, Any]:
    """Leaf by name: the field's own where it is one and nothing else is called so, else the whole
    path."""
    paths: dict[str, Any] = {}
    fields: dict[str, str] = {}
    for group, tree in (("state", exact), ("parameters", parameters)):
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            whole = ".".join([group, *(jax.tree_util.keystr((k,), simple=True) for k in path)])
            paths[whole] = leaf
            is_field = bool(path) and all(isinstance(k, jax.tree_util.GetAttrKey) for k in path)
            fields[whole] = path[-1].name if is_field else whole
    taken = Counter(fields.values()) + Counter(RESERVED)
    return {(fields[w] if taken[fields[w]] == 1 else w): leaf for w, leaf in paths.items()}


def load(
    path: str | Path,
    model: Model | None = None,
    *,
    missing: bool = False,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    decimal: str | None = None,
) -> Data:
    """Read a simulation (.npz), or observed data (.npy, or text: .csv, .tsv, .txt).

    Text may be separated by commas, semicolons, tabs or white space, with or without a header
    line; TRUE and FALSE are 1 and 0. A column that looks like an index is refused unless it is
    named.

    Args:
        path: the file.
        model: whose simulation it is; needed to rebuild the exact sample, and for data that are
            no table.
        missing: whether entries of observed data may be NaN (or, in text, empty, NA or ?).
        columns: names of the columns of text to use, in this order; None: all.
        drop: names of columns of text to leave out; without a header line, places from 1.
        decimal: the decimal sign of text, "." or ","; None: found out.

    Returns:
        The data.

    Raises:
        InputError: no such file, not of its kind, or a simulation from another model.

    Example:
        >>> import bracketz as bz, tempfile
        >>> model, path = bz.Clustering(components=2), f"{tempfile.mkdtemp()}/sim.npz"
        >>> bz.save(bz.simulate(model, 6, 2), path)
        >>> bz.load(path, model).simulated
        True
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no file {path}")
    suffix = path.suffix.lower()
    if suffix in TABLES:
        table = read_table(path, decimal=decimal).without(drop)
        way_out = FILL if isinstance(model, Factored) else IGNORE
        y = table.data(columns, missing=missing, way_out=way_out)
        y = checked_array(y, str(path), missing=missing)
        return Data(model.observations(y) if isinstance(model, Factored) else y)
    if columns is not None or drop is not None or decimal is not None:
        raise InputError(
            f"`columns`, `drop` and `decimal` are about columns of text, and {path} is none; leave"
            " them out"
        )
    if suffix == ".npz":
        return _load_npz(path, model)
    if suffix == ".npy":
        array = npz.read_one(path)
        if array is None or array.dtype.kind not in "fiub":
            raise InputError(f"{path} is not a NumPy .npy file of numbers")
        if isinstance(model, Factored):
            return Data(model.observations(array))
        return Data(checked_array(array, str(path), missing=missing))
    raise InputError(f"{path} must end in .npz (from bracketz simulate), .npy, .csv, .tsv or .txt")


def _load_npz(path: Path, model: Model | None) -> Data:
    arrays = npz.read(path)
    if arrays is None:
        raise InputError(f"{path} is not an .npz file from bracketz simulate")
    if "meta" not in arrays or not any(name.split(".")[0] == "y" for name in arrays):
        raise InputError(f"{path} lacks y or meta, so it is not from bracketz simulate")
    try:
        meta = json.loads(str(arrays["meta"]))
        if not (isinstance(meta["model"], str) and isinstance(meta["hyperparameters"], dict)):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} has no readable meta, so it is not from bracketz simulate"
        ) from None
    own = meta["hyperparameters"]
    for name, value in own.items():
        if is_description(value) and f"model.{name}" in arrays:
            own[name] = arrays[f"model.{name}"]
    if isinstance(model, Factored):
        return _load_factored(path, arrays, meta, model)
    if "y" not in arrays:
        if model is None:
            return Data({n[2:]: a for n, a in arrays.items() if n.startswith("y.")}, meta=meta)
        raise InputError(f"{path} holds data of several arrays, and {model_label(model)} has one")
    y = checked_array(arrays["y"], str(path), ndim=2 if model else max(arrays["y"].ndim, 1))
    if model is None:
        return Data(y, meta=meta)
    _same_model(path, meta, model)
    exact, parameters = _templates(model, y.shape)
    values = {
        name: _leaf(path, arrays, name, like, y.shape)
        for name, like in _named(exact, parameters).items()
    }
    leaves, treedef = jax.tree.flatten((exact, parameters))
    assert len(leaves) == len(values)
    exact, parameters = jax.tree.unflatten(treedef, values.values())
    _require_possible(path, model, exact, y)
    return Data(y, exact, parameters, meta)


def _require_possible(path: Path, model: Model, exact: Any, y: np.ndarray) -> None:
    """An exact sample has positive density; without one, both bounds would mean nothing."""
    try:
        model.check_state(exact)
    except InputError as error:
        raise InputError(f"the exact sample in {path} cannot be: {error}") from None
    with double_precision():
        density = _log_density(model, exact, y)
    if not np.isfinite(density):
        raise InputError(
            f"the exact sample in {path} has log density {float(density)} together with its data,"
            " so it did not make them; simulate again"
        )


@jax.jit
def _log_density(model: Model, exact, y):
    return model.log_annealed(exact, y, jnp.ones(y.shape[0]))


def _load_factored(path: Path, arrays: dict, meta: dict, model: Factored) -> Data:
    _same_model(path, meta, model)
    with double_precision():
        shapes, exact = model.data_shapes, model.state_shapes
    names = list(_observed(shapes))
    if missing := [name for name in names if name not in arrays]:
        raise InputError(f"{path} lacks '{missing[0]}', part of the data")
    y = jax.tree.unflatten(jax.tree.structure(shapes), [arrays[name] for name in names])
    leaves = []
    for name, like in _named(exact, None).items():
        if name not in arrays or arrays[name].shape != like.shape:
            raise InputError(f"{path} lacks '{name}' of shape {like.shape}, part of the sample")
        leaves.append(arrays[name].astype(like.dtype))
    sample = jax.tree.unflatten(jax.tree.structure(exact), leaves)
    return Data(model.observations(y), sample, None, meta)


def _same_model(path: Path, meta: dict, model: Model) -> None:
    if meta["model"] != model_label(model):
        raise InputError(
            f"{path} was simulated from {meta['model']}, so its exact sample says nothing about"
            f" {model_label(model)}; give the observations alone as .npy or .csv"
        )
    ours, theirs = described(hyperparameters(model)), described(meta["hyperparameters"])
    for name in ours:
        if ours[name] != theirs.get(name):
            raise InputError(
                f"{path} was simulated with {name} = {_short(theirs.get(name))}, not"
                f" {_short(ours[name])}: its sample is exact only for the model that made it"
            )


def _short(value: Any) -> str:
    if is_description(value):
        return f"another array of shape {tuple(value['shape'])}"
    return str(value)


def _leaf(path: Path, arrays: dict[str, np.ndarray], name: str, like, shape: Shape) -> np.ndarray:
    """One array of the exact sample, refused if it is not what data of this shape need."""
    if name not in arrays:
        raise InputError(f"{path} lacks '{name}', part of the exact sample")
    if arrays[name].shape != like.shape:
        raise InputError(
            f"'{name}' in {path} has shape {arrays[name].shape}, and data of {shape[0]} rows and"
            f" {shape[1]} columns need {like.shape}"
        )
    if arrays[name].size == 0:
        return arrays[name].astype(like.dtype)
    found = checked_array(arrays[name], f"'{name}' in {path}", like.ndim)
    if np.issubdtype(like.dtype, np.integer) and np.any(found != np.floor(found)):
        raise InputError(f"'{name}' in {path} must hold whole numbers")
    return found.astype(like.dtype)


def _templates(model: Model, shape: Shape):
    """Shapes of the exact sample and of the integrated-out variables."""
    with double_precision():
        key = jax.random.key(0, impl="threefry2x32")
        exact = jax.eval_shape(lambda k: model.sample_prior(k, shape), key)
        parameters = None
        if isinstance(model, Collapsed):
            parameters = jax.eval_shape(
                lambda k, s: model.sample_parameters(k, s, shape), key, exact
            )
    return exact, parameters
