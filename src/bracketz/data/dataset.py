"""Data: simulated (with the exact posterior sample that made them) or observed."""

import dataclasses
from typing import Any

import numpy as np

from bracketz.core.model import Model
from bracketz.core.validation import require_model, require_room_for
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored import Factored

#: The way out where an entry of a file is missing, and of an array.
IGNORE = "fill it in or leave it out exactly with `missing=True`"
LEAVE_OUT = (
    "fill it in, or leave it out exactly: bracketz.Incomplete(model, ~numpy.isnan(y)) on"
    " numpy.nan_to_num(y)"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """Observations, and, when they were simulated, the exact posterior sample behind them.

    Attributes:
        y: the observations, (N, D); of a factored model any pytree of arrays.
        exact: the model's state that made them, or None for observed data.
        parameters: variables the model integrates out, where it has any.
        meta: model, hyperparameters, seed and version of a simulation.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> bz.Data(np.zeros((3, 2))).simulated
        False
    """

    y: Any
    exact: Any = None
    parameters: Any = None
    meta: dict = dataclasses.field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Whether the exact sample is known, so that upper bounds exist."""
        return self.exact is not None


def as_data(data, model: Model) -> Data:
    """Accept ``Data`` or a plain array of observations; refuse what cannot be data."""
    use_all_cores()  # before anything is computed
    require_model(model)
    if isinstance(model, Factored):
        y = data.y if isinstance(data, Data) else data
        y = model.own_data if y is None else y
        if y is None:
            raise InputError(f"{model.label} was made without observations: give the data")
        y = model.observations(y)
        model.check_data(y)
        return dataclasses.replace(data, y=y) if isinstance(data, Data) else Data(y)
    if not isinstance(data, Data):
        data = Data(checked_array(np.asarray(data), "the data", way_out=LEAVE_OUT))
    model.check_shape(data.y.shape)
    require_room_for(model, data.y.shape)
    model.check_data(data.y)
    return data


def checked_array(
    array: np.ndarray, what: str, ndim: int = 2, missing: bool = False, way_out: str = IGNORE
) -> np.ndarray:
    """Finite real numbers with ``ndim`` axes, as floats; with ``missing``, NaN may be among them,
    else ``way_out`` says what to do."""
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must hold real numbers, got type {array.dtype}")
    if ndim == 2 and array.ndim == 1:
        array = array[:, None]
    if array.ndim != ndim or array.size == 0:
        raise InputError(
            f"{what} must be a non-empty table of N rows and D columns, got shape {array.shape}"
        )
    array = array.astype(float)
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        where = np.argwhere(bad)[0]
        value = array[tuple(where)]
        place = f" at row {where[0] + 1}" if ndim else ""
        raise InputError(
            f"{what} holds {value}{place}"
            + (f", column {where[1] + 1}" if ndim == 2 else "")
            + "; "
            + (way_out if np.isnan(value) and ndim == 2 else "remove or fill in such values first")
        )
    if np.isnan(array).all():
        raise InputError(f"{what} holds no observed value")
    return array
