"""Exact draws by PyMC's own random variables, as JAX functions of a key.

They run on the host by ``jax.pure_callback``: every distribution of PyMC can be drawn from, by the
law PyMC itself uses, and a hundred chains' prior draws take ten milliseconds. (PyTensor's JAX
random variables cover part of the distributions, by code of their own.)

The same key gives the same draw. Arrays cross as 32-bit words: a callback may run on a thread that
knows nothing of double precision, where JAX would round float64 to float32.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.pymc_backend import (
    RandomType,
    clone_replace,
    graph_inputs,
    host_function,
)
from bracketz.errors import InputError

#: PyTensor's functions keep their intermediate values, so one thread at a time.
_lock = threading.Lock()


class Draws:
    """A draw of ``outputs`` given ``values`` and ``data``.

    Args:
        values, data: input variables of the graph.
        outputs: random variables.
    """

    def __init__(self, values: Sequence, data: Sequence, outputs: Sequence):
        rngs = [v for v in graph_inputs(outputs) if isinstance(v.type, RandomType)]
        fresh = [rng.type() for rng in rngs]
        outputs = clone_replace(list(outputs), dict(zip(rngs, fresh, strict=True)))
        used = set(graph_inputs(outputs))
        self.uses = tuple(variable in used for variable in data)
        self._inputs = [*values, *(v for v, use in zip(data, self.uses, strict=True) if use)]
        self._rngs = len(rngs)
        self._function = host_function(self._inputs, outputs, rngs=fresh)
        self.specs: list[jax.ShapeDtypeStruct] = []

    def on_host(self, seed: Sequence[int], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One draw; the first tells what all will look like."""
        sequences = np.random.SeedSequence([int(word) for word in seed]).spawn(self._rngs)
        with _lock:
            drawn = self._function(*map(np.random.default_rng, sequences), *arrays)
        drawn = [np.asarray(array) for array in drawn]
        if not self.specs:
            self.specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in drawn]
        return drawn

    def chosen(self, data: Sequence) -> list:
        """Those of the data that this draw depends on."""
        return [array for array, use in zip(data, self.uses, strict=True) if use]

    def __call__(self, key, values: Sequence, data: Sequence) -> list[jax.Array]:
        """One draw per key, inside compiled code too.

        Raises:
            InputError: outside double precision, where the words would be others.
        """
        if not jax.config.values["jax_enable_x64"]:
            raise InputError(
                "PyMC models are drawn from in double precision: call this inside"
                " `with jax.enable_x64(True)`, as bracketz does"
            )
        seed = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
        given = [*values, *self.chosen(data)]
        inputs = [
            jnp.asarray(array, variable.dtype)
            for array, variable in zip(given, self._inputs, strict=True)
        ]
        shapes = [array.shape for array in inputs]
        split = len(values)
        sizes = [math.prod(spec.shape) for spec in self.specs]

        def host(seed, values, data):
            seed, values, data = map(np.asarray, (seed, values, data))
            batch = np.broadcast_shapes(seed.shape[:-1], values.shape[:-1], data.shape[:-1])
            seed, values, data = (
                np.broadcast_to(a, (*batch, a.shape[-1])) for a in (seed, values, data)
            )
            out = np.empty((*batch, 2 * sum(sizes)), np.uint32)
            for i in np.ndindex(batch):
                arrays = self._unpack(values[i], data[i], shapes, split)
                drawn = self.on_host(seed[i], arrays)
                out[i] = np.concatenate([_host_words(a) for a in drawn])
            return out

        words = jax.pure_callback(
            host,
            jax.ShapeDtypeStruct((2 * sum(sizes),), np.uint32),
            seed,
            _words(inputs[:split]),
            _words(inputs[split:]),
            vmap_method="expand_dims",
        )
        out, start = [], 0
        for spec, size in zip(self.specs, sizes, strict=True):
            pairs = words[2 * start : 2 * (start + size)].reshape(size, 2)
            wide = jax.lax.bitcast_convert_type(pairs, _wide(spec.dtype))
            out.append(wide.astype(spec.dtype).reshape(spec.shape))
            start += size
        return out

    def _unpack(self, values, data, shapes, split) -> list[np.ndarray]:
        """The arrays whose words these are."""
        arrays = []
        for words, part in ((values, slice(0, split)), (data, slice(split, None))):
            start = 0
            for variable, shape in zip(self._inputs[part], shapes[part], strict=True):
                stop = start + 2 * math.prod(shape)
                wide = np.ascontiguousarray(words[start:stop]).view(_wide(variable.dtype))
                arrays.append(wide.astype(variable.dtype).reshape(shape))
                start = stop
        return arrays


def _wide(dtype) -> Any:
    """Every array crosses in the 64 bits of its kind."""
    return np.float64 if np.issubdtype(dtype, np.floating) else np.int64


def _words(arrays: Sequence[jax.Array]) -> jax.Array:
    pairs = [
        jax.lax.bitcast_convert_type(a.astype(_wide(a.dtype)), np.uint32).reshape(-1)
        for a in arrays
    ]
    return jnp.concatenate(pairs) if pairs else jnp.zeros(0, np.uint32)


def _host_words(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, _wide(array.dtype)).reshape(-1).view(np.uint32)
