"""What is on the bench: the model, its tiny version, sizes by level, and randomness by check."""

import dataclasses
import functools
from functools import cached_property
from typing import Any, NamedTuple
from zlib import crc32

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from bracketz.check.report import NotApplicable
from bracketz.core.capabilities import Collapsed, Enumerable
from bracketz.core.model import Model, Shape
from bracketz.core.undirected import Undirected
from bracketz.models.hyper_reference import at_prior


def _compiling(effort: int):
    """``jax.jit`` that compiles in a third of the time: XLA's CPU compiler optimises this much (of
    3) and takes the emitters before the newest. Only for versions of jaxlib that are known to know
    these settings."""
    settings = {"xla_backend_optimization_level": effort, "xla_cpu_use_fusion_emitters": False}
    known = jaxlib.__version__.startswith("0.10.")
    return functools.partial(jax.jit, compiler_options=settings if known else None)


#: The kit's own programs: compiling them takes longer than running them, once on a few numbers or
#: on thousands of draws.
#: The estimators are compiled as always.
jit_once, jit_draws = _compiling(0), _compiling(1)


class Sizes(NamedTuple):
    """How much work the statistical checks do."""

    states: int  # random states an exact check looks at
    draws: int  # draws in goodness-of-fit checks
    chains: int  # Geweke chains
    steps: int  # steps of each
    data_sets: int  # simulated data sets in the calibration checks


LEVELS = {
    "quick": Sizes(4, 4_000, 1_000, 10, 500),
    "standard": Sizes(8, 20_000, 4_000, 25, 3_000),
    "deep": Sizes(16, 60_000, 12_000, 50, 9_000),
}


class Instance(NamedTuple):
    """A model with the size of its data."""

    label: str
    model: Any
    shape: Shape


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a check looks at: the model as given, and what the checks take from it.

    Args:
        model: as given.
        shape: (rows, columns) of its data.
        level: "quick", "standard" or "deep".
        seed: everything random follows from it.

    Example:
        >>> import bracketz as bz
        >>> subject = bz.check.Subject(bz.Clustering(components=3), (6, 2), level="quick", seed=0)
        >>> subject.tiny.shape, subject.tiny.model.components
        ((4, 2), 3)
    """

    model: Model
    shape: Shape
    level: str
    seed: int

    @property
    def sizes(self) -> Sizes:
        """How much work the statistical checks do at this level."""
        return LEVELS[self.level]

    @cached_property
    def tiny(self) -> Instance:
        """The instance for everything statistical: the tiny one if the model offers one, else as
        given."""
        if isinstance(self.model, Enumerable):
            return Instance("tiny", *self.model.tiny())
        return Instance("as given", self.model, self.shape)

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """The instances for exact checks: tiny, and the model's own hyperparameters on a few rows
        and components."""
        if not isinstance(self.model, Enumerable):
            return (self.tiny,)
        return self.tiny, self.few_rows(3, 3)

    def few_rows(self, rows: int, columns: int) -> Instance:
        """The model as given, with at most this many rows and columns and three components."""
        shape = (min(rows, self.shape[0]), min(columns, self.shape[1]))
        return Instance("as given", fewer_components(self.model, 3), shape)

    @property
    def enumerable(self) -> Instance:
        """The tiny instance, where it has exact evidence."""
        if not isinstance(self.tiny.model, Enumerable):
            raise NotApplicable("the model has no exact evidence on a tiny instance (Enumerable)")
        return self.tiny

    def key(self, name: str):
        """Randomness for one check, the same whichever other checks run."""
        return jax.random.fold_in(
            jax.random.key(self.seed, impl="threefry2x32"), crc32(name.encode())
        )


def fewer_components(model: Model, most: int) -> Model:
    """The model with at most ``most`` components, its per-component values cut; unchanged if it has
    none."""
    count = getattr(model, "components", None)
    if not isinstance(count, int) or count <= most:
        return model
    changes: dict[str, Any] = {"components": most}
    for field in dataclasses.fields(model):
        value = getattr(model, field.name)
        if np.ndim(value) == 1 and np.shape(value)[0] == count:
            kept = np.asarray(value)[:most]
            changes[field.name] = kept / kept.sum() if abs(np.sum(value) - 1) < 1e-9 else kept
    return dataclasses.replace(model, **changes)


def power_rows(n: int, positive: bool = False) -> np.ndarray:
    """Rows of powers a model must get right: 0, 1, between, mixed with exact 0 and 1 inside, a
    prefix."""
    mixed = np.linspace(0.15, 0.85, n) if n > 1 else np.array([0.4])
    if positive:
        return np.stack([np.ones(n), np.full(n, 0.37), mixed])
    edges = mixed.copy()
    edges[0], edges[-1] = (0.0, 1.0) if n > 1 else (0.4, 0.4)
    return np.stack(
        [np.zeros(n), np.ones(n), np.full(n, 0.37), edges, (np.arange(n) < (n + 1) // 2) * 1.0]
    )


def describe_powers(powers) -> str:
    words = [f"{b:.3g}" for b in np.asarray(powers)]
    if len(words) > 8:
        words = [*words[:3], "...", words[-1]]
    return "[" + ", ".join(words) + "]"


@functools.partial(jax.jit, static_argnames="shape")
def draw(model: Model, shape: Shape, key):
    """(state, parameters, y) from the joint; parameters are None where nothing is integrated
    out. Of an undirected model: an exact sample, given numbers y of its own."""
    key_state, key_parameters, key_data = jax.random.split(key, 3)
    if isinstance(model, Undirected):
        y = model.instance(key_data, shape)
        return model.sample_exact(key_state, y).state, None, y
    state = at_prior(model).sample_prior(key_state, shape)
    if isinstance(model, Collapsed):
        parameters = model.sample_parameters(key_parameters, state, shape)
        return state, parameters, model.sample_data(key_data, state, parameters)
    return state, None, model.simulate(key_data, state, shape)


@functools.partial(jit_once, static_argnames=("shape", "count"))
def draw_many(model: Model, shape: Shape, key, count: int):
    """(keys, states, parameters, y): ``count`` draws with their keys, and one data set of
    its own."""
    key_data, key_states = jax.random.split(key)
    keys = jax.random.split(key_states, count)
    every = jnp.concatenate([key_data[None], keys])
    states, parameters, y = jax.vmap(lambda k: draw(model, shape, k))(every)
    return keys, *jax.tree.map(lambda a: a[1:], (states, parameters)), y[0]


def outline(function, *arguments):
    """What ``function`` returns, for its types and names: it is traced, and nothing is computed or
    compiled."""
    seen: list[Any] = []
    jax.eval_shape(lambda *traced: seen.append(function(*traced)), *arguments)
    return seen[0]


def log_density(model: Model, state, parameters, y, powers):
    """log f(x; b), or the uncollapsed one where parameters are given."""
    if parameters is None:
        return model.log_annealed(state, y, powers)
    assert isinstance(model, Collapsed)
    return model.log_joint(state, parameters, y, powers)


def show(tree) -> str:
    """A state in one line: short numbers, no types."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return ", ".join(
        np.array2string(a, precision=3, suppress_small=True, threshold=20).replace("\n", "")
        for a in leaves
    )


def flatten(tree):
    """(vector, function back) of a pytree of real arrays."""
    leaves, treedef = jax.tree.flatten(tree)
    sizes = np.cumsum([0] + [int(np.size(leaf)) for leaf in leaves])
    shapes = [np.shape(leaf) for leaf in leaves]

    def back(vector):
        parts = [
            vector[a:b].reshape(s) for a, b, s in zip(sizes[:-1], sizes[1:], shapes, strict=True)
        ]
        return jax.tree.unflatten(treedef, parts)

    return jnp.concatenate([jnp.ravel(jnp.asarray(leaf, float)) for leaf in leaves]), back


def is_real(tree) -> bool:
    """Every leaf continuous."""
    return all(
        jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating) for leaf in jax.tree.leaves(tree)
    )


def tally(found, states) -> np.ndarray:
    """How often each of ``states`` occurs in ``found`` (leading axes)."""
    every, seen = (
        np.concatenate(
            [np.asarray(a, float).reshape(np.shape(a)[0], -1) for a in jax.tree.leaves(t)], axis=1
        )
        for t in (states, found)
    )
    unique, inverse = np.unique(np.concatenate([every, seen]), axis=0, return_inverse=True)
    counts = np.bincount(np.ravel(inverse)[len(every) :], minlength=len(unique))
    return counts[np.ravel(inverse)[: len(every)]]
