"""What a model is called, and what it is made of: for files, checkpoints and hashes of tasks.

Numbers and short vectors (hyperparameters) are written out. Larger arrays (covariates, patterns of
missing entries) are data: they stay arrays, and where a text must stand for them it is the hash of
their bytes.
"""

import dataclasses
import hashlib
from typing import Any

import numpy as np

from bracketz.core.model import Model
from bracketz.models.factored import Factored
from bracketz.models.registry import SHIPPED

#: An array of several axes, or with more entries than this, is data.
MOST_ENTRIES = 1000


def model_label(model: Model) -> str:
    """The name of a shipped model, or ``module:Class``."""
    cls = type(model)
    if isinstance(model, Factored):
        return model.label
    return SHIPPED.name_of(cls) or f"{cls.__module__}:{cls.__qualname__}"


def hyperparameters(model: Model) -> dict[str, Any]:
    """Every field of a model: plain JSON values, and arrays where they are data."""
    fields = dataclasses.fields(model)
    if isinstance(model, Factored):
        # Its code is told by its source, whatever objects it is kept in. Sizes of shipped models
        # are said: the command line makes a model again from them.
        shipped = SHIPPED.name_of(type(model)) is not None
        kept = [
            f.name
            for f in fields
            if f.init
            and (not f.metadata.get("static") or (shipped and not callable(getattr(model, f.name))))
        ]
        digest = hashlib.sha256(model.source.encode()).hexdigest()
        return {name: _plain(getattr(model, name)) for name in kept} | {"source": digest}
    return {f.name: _plain(getattr(model, f.name)) for f in fields}


def _plain(value):
    if isinstance(value, Model):
        return {"model": model_label(value), "hyperparameters": hyperparameters(value)}
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if not hasattr(value, "tolist"):
        return value
    array = np.asarray(value)
    return array if array.ndim > 1 or array.size > MOST_ENTRIES else array.tolist()


def described(values: Any) -> Any:
    """The same with every array replaced by its shape, type and the hash of its bytes."""
    if isinstance(values, dict):
        return {name: described(value) for name, value in values.items()}
    if isinstance(values, list):
        return [described(value) for value in values]
    if isinstance(values, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        return {"sha256": digest, "shape": list(values.shape), "dtype": str(values.dtype)}
    return values


def is_description(value: Any) -> bool:
    """Whether a value stands for an array (``described``)."""
    return isinstance(value, dict) and set(value) == {"sha256", "shape", "dtype"}


def identity(model: Model) -> dict[str, Any]:
    """Name and fields of a model as plain JSON values: equal for equal models."""
    return {"model": model_label(model), "hyperparameters": described(hyperparameters(model))}
