"""A compiled Stan program from Python: programs with data, evaluated in batches.

Rows of a batch are states, float64. A program with its data never changes, and the library keeps a
tape for every thread, so any number of threads may use one.
"""

import ctypes
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from bracketz.errors import InputError

#: Of the buffer for a sentence, as in shim.cpp; and of the one for names and shapes.
ERROR_SIZE, TEXT_SIZE = 4096, 1 << 20


class StanError(Exception):
    """What Stan said, on one line."""


@cache
def load(path: Path) -> ctypes.CDLL:
    """The library at a path, once."""
    library = ctypes.CDLL(str(path))
    library.bracketz_free.argtypes = [ctypes.c_void_p]
    library.bracketz_free.restype = None
    return library


class Program:
    """A compiled program with its data.

    Attributes:
        width: how many unconstrained numbers a state is.
        shapes: of every variable the program writes, by name, in its order: parameters,
            transformed parameters, generated quantities.
    """

    def __init__(self, path: Path, data: Mapping[str, np.ndarray]):
        """Args:
        path: the shared library.
        data: float64 or int32 arrays by name.

        Raises:
            InputError: the data do not fit their declarations.
        """
        self._library = load(path)
        self._handle = ctypes.c_void_p()
        reals = {name: v for name, v in data.items() if v.dtype == np.float64}
        ints = {name: v for name, v in data.items() if v.dtype == np.int32}
        assert len(reals) + len(ints) == len(data)
        variables = (*packed(reals, np.float64), *packed(ints, np.int32))
        try:
            self._call("new", *variables, ctypes.byref(self._handle))
        except StanError as error:
            raise InputError(f"`data` do not fit the Stan program: {error}") from None
        text, width = ctypes.create_string_buffer(TEXT_SIZE), ctypes.c_int64()
        self._call("describe", self._handle, text, TEXT_SIZE, ctypes.byref(width))
        self.width = width.value
        lines = [line.split() for line in text.value.decode().splitlines()]
        self.shapes = {name: tuple(map(int, sizes)) for name, *sizes in lines}

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.bracketz_free(self._handle)

    def log_density(self, states: np.ndarray) -> np.ndarray:
        """(batch,) log densities, all constants kept, over unconstrained states; -inf where Stan
        rejects."""
        return self._evaluate(states, None)

    def log_density_gradient(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log densities, and their gradients (batch, width): 0 where Stan rejects."""
        gradients = np.empty(states.shape)
        return self._evaluate(states, gradients), gradients

    def constrain(self, states: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """(batch, size) values of the parameters, whose names these are."""
        size = sum(math.prod(self.shapes[name]) for name in names)
        return self._write(states, None, size)

    def generate(self, states: np.ndarray, seeds: np.ndarray) -> dict[str, np.ndarray]:
        """Everything the program writes, by name, with the random numbers of (batch, 2) uint32
        seeds.

        Raises:
            StanError: a statement failed.
        """
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        rows = self._write(states, np.ascontiguousarray(seeds, np.uint32), sum(sizes))
        return unflatten(rows, self.shapes)

    def unconstrain(self, values: np.ndarray) -> np.ndarray:
        """(batch, width) states of (batch, size) values of the parameters.

        Raises:
            StanError: a value is outside its declared range.
        """
        states = np.empty((len(values), self.width))
        sizes = values.shape[1], np.ascontiguousarray(values, np.float64)
        self._call("unconstrain", self._handle, len(values), *sizes, self.width, states)
        return states

    def _evaluate(self, states: np.ndarray, gradients: np.ndarray | None) -> np.ndarray:
        densities = np.empty(len(states))
        states = np.ascontiguousarray(states, np.float64)
        self._call(
            "log_density", self._handle, len(states), self.width, states, densities, gradients
        )
        return densities

    def _write(self, states: np.ndarray, seeds: np.ndarray | None, size: int) -> np.ndarray:
        values = np.empty((len(states), size))
        states = np.ascontiguousarray(states, np.float64)
        self._call("write", self._handle, len(states), self.width, states, seeds, size, values)
        return values

    def _call(self, name: str, *arguments) -> None:
        error = ctypes.create_string_buffer(ERROR_SIZE)
        function = getattr(self._library, f"bracketz_{name}")
        if function(*map(argument, (*arguments, error))):
            raise StanError(" ".join(error.value.decode().removeprefix("Exception: ").split()))


def argument(value):
    """As C takes it: whole numbers of 64 bits, arrays by their address."""
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data_as(ctypes.c_void_p)
    return value


def packed(variables: Mapping[str, np.ndarray], dtype) -> tuple:
    """How many, their names, ranks, sizes and values: what the shim makes Stan's variables of."""
    names = (ctypes.c_char_p * max(len(variables), 1))(*(name.encode() for name in variables))
    ranks = np.array([v.ndim for v in variables.values()], np.int64)
    sizes = np.array([n for v in variables.values() for n in v.shape], np.int64)
    values = [v.ravel(order="F") for v in variables.values()]
    return len(variables), names, ranks, sizes, np.concatenate([*values, np.empty(0, dtype)])


def flatten(values: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> np.ndarray:
    """(batch, size) rows as Stan writes them (first index fastest), of (batch, *shape) arrays."""
    columns = []
    for name, shape in shapes.items():
        v = np.asarray(values[name], np.float64)
        columns.append(v.transpose(0, *range(len(shape), 0, -1)).reshape(len(v), math.prod(shape)))
    return np.concatenate(columns, axis=1)


def unflatten(rows: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The inverse of ``flatten``."""
    out, start = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        v = rows[:, start : start + size].reshape(len(rows), *reversed(shape))
        out[name] = v.transpose(0, *range(len(shape), 0, -1))
        start += size
    return out
