"""A model of a prior and a likelihood on the bench: draws, simulated data, and its functions on
batches, each compiled once."""

import dataclasses
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import NotApplicable
from bracketz.check.subject import Subject, jit_draws, jit_once
from bracketz.core.precision import double_precision
from bracketz.errors import InputError, NumericalError
from bracketz.models.factored import Factored, Prepared, piloted
from bracketz.models.factored.model import Flattening
from bracketz.models.prepared import prepare

#: States and data sets in one call of a compiled function; others are filled up to it.
CHUNK = 512


class States(NamedTuple):
    """Many states: their real entries (n, d), and their discrete arrays (n, ...)."""

    vectors: np.ndarray
    discrete: tuple

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.vectors)

    def take(self, index) -> "States":
        """Some of them."""
        return States(self.vectors[index], tuple(np.asarray(a)[index] for a in self.discrete))


@dataclasses.dataclass(frozen=True)
class Bench(Subject):
    """A ``Factored`` model, and what the checks take from it."""

    @property
    def user(self) -> Factored:
        """The model, known to be a ``Factored`` one."""
        assert isinstance(self.model, Factored)
        return self.model

    @cached_property
    def flat(self) -> Flattening:
        """States as vectors."""
        return Flattening(self.user)

    @cached_property
    def names(self) -> list[str]:
        """What each real entry of the state is called."""
        return [name or "x" for name in self.flat.names(self.user)]

    @cached_property
    def leaves(self) -> dict[str, np.ndarray]:
        """Parameter -> the entries of the vector it takes."""
        places: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            places.setdefault(name.partition("[")[0] or "x", []).append(k)
        return {name: np.array(where) for name, where in places.items()}

    # Draws.

    def states(self, name: str, count: int) -> States:
        """Draws of ``sample_prior``."""
        keys = jax.random.split(self.key(name), -(-count // CHUNK) * CHUNK)
        found = [self._sample(block) for block in keys.reshape(-1, CHUNK)]
        whole = jax.tree.map(lambda *a: np.concatenate(a), *found)
        return States(*whole).take(slice(0, count))

    @cached_property
    def _sample(self):
        def one(key):
            return self.flat.split(self.user.sample_prior(key))

        return jit_once(jax.vmap(one))

    def require_simulator(self) -> None:
        """Refuse where there is none."""
        try:
            jax.eval_shape(lambda k: self.user.simulate(k, self.user.sample_prior(k)), _some_key())
        except InputError as reason:
            if "no simulator" not in str(reason):
                raise NumericalError(str(reason)) from reason
            raise NotApplicable(
                "the model has no simulator, so that there are no data to look at it with"
            ) from None

    def data(self, name: str, states: States) -> np.ndarray:
        """Simulated data of each state, as vectors (n, entries)."""
        self.require_simulator()
        keys = jax.random.split(self.key(name), -(-len(states) // CHUNK) * CHUNK)
        return self._chunked(self._simulate, keys, states.vectors, *states.discrete)

    @cached_property
    def _simulate(self):
        def one(key, vector, *discrete):
            return self.entries(self.user.simulate(key, self.flat.join(vector, discrete)))

        return jit_once(jax.vmap(one))

    def entries(self, y):
        """Data as a vector of real numbers."""
        return jnp.concatenate(
            [jnp.ravel(jnp.asarray(a)).astype(float) for a in jax.tree.leaves(y)]
        )

    def as_data(self, vector):
        """The other way round, with the types ``simulate`` gives."""
        leaves: list[Any]
        leaves, treedef = jax.tree.flatten(self._data_shapes)
        out, at = [], 0
        for leaf in leaves:
            size = int(np.prod(leaf.shape))
            part = vector[at : at + size].reshape(leaf.shape)
            if not jnp.issubdtype(leaf.dtype, jnp.floating):
                part = jnp.round(part)
            out.append(part.astype(leaf.dtype))
            at += size
        return jax.tree.unflatten(treedef, out)

    @cached_property
    def _data_shapes(self):
        self.require_simulator()
        return self.user.data_shapes

    @cached_property
    def entry_names(self) -> list[str]:
        """What each entry of the data is called."""
        out = []
        for path, leaf in jax.tree_util.tree_flatten_with_path(self._data_shapes)[0]:
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "y"
            places = np.ndindex(leaf.shape)
            out += [name + (f"[{', '.join(map(str, at))}]" if at else "") for at in places]
        return out

    @cached_property
    def integer_type(self) -> np.ndarray:
        """Which entries of the data have a type of whole numbers."""
        kinds = [
            np.full(int(np.prod(leaf.shape)), not jnp.issubdtype(leaf.dtype, jnp.floating))
            for leaf in jax.tree.leaves(self._data_shapes)
        ]
        return np.concatenate(kinds)

    @property
    def sizes_of_data(self) -> list[int]:
        """How many entries each array of the data has."""
        return [int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(self._data_shapes)]

    @cached_property
    def one_number(self) -> bool:
        """Whether the likelihood is one number for all data."""
        return not self.user.likelihood_shape(self._data_shapes).ndim

    # Densities.

    def log_prior(self, states: States) -> np.ndarray:
        """At each state."""
        return self._chunked(self._prior, states.vectors, *states.discrete)

    @cached_property
    def _prior(self):
        def one(vector, *discrete):
            return self.user.log_prior(self.flat.join(vector, discrete))

        return jit_once(jax.vmap(one))

    def terms(self, states: States, data: np.ndarray) -> np.ndarray:
        """Terms of the log-likelihood (n, N); one column where it is one number."""
        return self._chunked(self._terms, data, states.vectors, *states.discrete)

    @cached_property
    def _terms(self):
        def one(y, vector, *discrete):
            state = self.flat.join(vector, discrete)
            return jnp.atleast_1d(self.user.log_likelihood(state, self.as_data(y)))

        return jit_once(jax.vmap(one))

    def _chunked(self, function, *arrays) -> np.ndarray:
        """``function`` on blocks of ``CHUNK`` rows, the last one filled up."""
        n, out = len(arrays[-1]), []
        for begin in range(0, n, CHUNK):
            parts = [a[begin : begin + CHUNK] for a in arrays]
            short = CHUNK - len(parts[-1])
            filled = np.minimum(np.arange(CHUNK), n - 1 - begin)
            parts = [p if len(p) == CHUNK else p[filled] for p in parts]
            try:
                found = np.asarray(function(*parts))
            except InputError as reason:
                raise NumericalError(str(reason)) from reason
            out.append(found[: CHUNK - short])
        return np.concatenate(out)

    # Kernels.

    @cached_property
    def observed(self) -> tuple[States, np.ndarray]:
        """(the state they came from, one data set as a vector) for the pilot."""
        states = self.states("observed", 16)
        data = self.data("observed data", states)
        density = self.terms(states, data).sum(1) + self.log_prior(states)
        good = np.flatnonzero(np.isfinite(density))
        if not good.size:
            raise NumericalError(
                "the densities are no finite numbers at data the model itself has simulated."
            )
        return states.take(good[:1]), data[good[0]]

    @cached_property
    def prepared(self) -> Prepared:
        """Kernels tuned on simulated data; the path begins at the prior, whose kernels these
        are."""
        return self.prepare()

    def prepare(self) -> Prepared:
        """Afresh."""
        y = jax.tree.map(np.asarray, self.as_data(jnp.asarray(self.observed[1])))
        try:
            if self.user.has_own_kernel:
                return prepare(self.user, y, seed=self.seed)
            with double_precision():
                return piloted(self.user, y, self.seed, reference=False)
        except InputError as reason:
            raise NumericalError(str(reason)) from reason

    @cached_property
    def rows(self) -> int:
        """Number of powers."""
        return self.user.num_rows(self._data_shapes)

    def moved(self, key, states: States, data, powers, sweeps: int, backward: bool = False):
        """States after some sweeps of the kernel, a data set for each."""
        program = self._backward if backward else self._forward
        keys = jax.random.split(key, len(states))
        model = self.prepared.model
        after = program(model, keys, jnp.asarray(data), tuple(states), jnp.asarray(powers), sweeps)
        return States(*jax.tree.map(np.asarray, tuple(after)))

    @cached_property
    def _forward(self):
        return self._mover(False)

    @cached_property
    def _backward(self):
        return self._mover(True)

    def _mover(self, backward: bool):
        own = self.user.has_own_kernel

        @jit_draws
        def run(model: Any, keys, data, states, powers, sweeps):
            def one(args):
                key, y, vector, discrete = args
                kernel = model.kernel(self.as_data(y), powers)
                kernel = kernel.reversed() if backward else kernel
                state = self.flat.join(vector, discrete)
                start = state if own else model.adopt(state)

                def sweep(k, state):
                    return kernel.step(jax.random.fold_in(key, k), state)

                end = jax.lax.fori_loop(0, sweeps, sweep, start)
                return self.flat.split(end if own else model.restore(end))

            return jax.lax.map(one, (keys, data, *states), batch_size=500)

        return run


def _some_key():
    return jax.random.key(0, impl="threefry2x32")
