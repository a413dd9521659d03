"""Which entries of the data each term of a likelihood depends on, found by trial.

Entries are replaced by other simulated values, one at a time, and the terms that change are those
that depend on them. In order, each term owns the entries that no term before it depends on;
log p(y_i | y_1, .., y_{i-1}, x) owns y_i.
"""

import dataclasses
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bracketz.check.factored.bench import Bench, States

#: Entries of the data replaced one at a time; of more as many, evenly spread.
MOST_ENTRIES = 400
#: Values an entry is replaced by.
TRIES = 6


class Slice(NamedTuple):
    """A term as a function of its own entry."""

    term: int
    entry: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """What depends on what."""

    bench: Bench
    states: States
    data: np.ndarray
    entries: np.ndarray  # looked at
    depends: np.ndarray  # (entries, terms)

    @classmethod
    def of(cls, bench: Bench) -> "Layout":
        """Found by trial at a few prior draws."""
        states = bench.states("layout", 4)
        data = bench.data("layout data", states)
        here = bench.terms(states, data)
        good = np.flatnonzero(np.isfinite(here).all(1))[:2]
        if not good.size:
            good = np.arange(1)
        states, data, here = states.take(good), data[good], here[good]
        size = data.shape[1]
        entries = np.unique(np.linspace(0, size - 1, min(size, MOST_ENTRIES)).astype(int))
        depends = np.zeros((len(entries), here.shape[1]), bool)
        for k in range(len(good)):
            one = states.take(np.full(TRIES, k))
            others = bench.data(f"layout others {k}", one)
            others[:2] = ends_of(bench)
            many = np.repeat(data[k][None, None], len(entries), 0).repeat(TRIES, 1)
            many[np.arange(len(entries)), :, entries] = others[:, entries].T
            flat = many.reshape(-1, size)
            index = np.full(len(flat), k)
            terms = bench.terms(states.take(index), flat).reshape(len(entries), TRIES, -1)
            rounding = 1e-12 * (1 + np.abs(np.where(np.isfinite(here[k]), here[k], 0)))
            with np.errstate(invalid="ignore"):
                apart = np.abs(terms - here[k]) > rounding
            apart |= np.isfinite(terms) != np.isfinite(here[k])
            depends |= apart.any(1)
        return cls(bench, states, data, entries, depends)

    @cached_property
    def idle(self) -> np.ndarray:
        """Entries nothing depends on."""
        return self.entries[~self.depends.any(1)]

    @cached_property
    def owned(self) -> list[np.ndarray]:
        """Entries of each term that no term before it depends on, as places in ``entries``."""
        taken = np.zeros(len(self.entries), bool)
        out = []
        for column in self.depends.T:
            out.append(np.flatnonzero(column & ~taken))
            taken |= column
        return out

    @property
    def diagonal(self) -> bool:
        """Every term depends on one entry, and every entry has one term."""
        return bool((self.depends.sum(0) <= 1).all() and (self.depends.sum(1) == 1).all())

    @cached_property
    def slices(self) -> list[Slice]:
        """Terms with one entry of their own."""
        return [
            Slice(t, int(self.entries[own[0]])) for t, own in enumerate(self.owned) if len(own) == 1
        ]


def layout(bench: Bench) -> Layout:
    """Made once for a bench."""
    found = bench.__dict__.get("_layout")
    if found is None:
        found = bench.__dict__["_layout"] = Layout.of(bench)
    return found


def counts_of(bench: Bench) -> np.ndarray:
    """Which entries are whole numbers wherever they were simulated, and not always the same."""
    found = bench.__dict__.get("_counts")
    if found is None:
        data = bench.data("counts", bench.states("counts", 256))
        found = (data == np.round(data)).all(0)
        bench.__dict__["_counts"] = found
    return found


def ranges(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest of what was simulated at many states."""
    found = bench.__dict__.get("_range")
    if found is None:
        data = bench.data("counts", bench.states("counts", 256))
        found = bench.__dict__["_range"] = (data.min(0), data.max(0))
    return found


def ends_of(bench: Bench) -> np.ndarray:
    """For every entry the smallest and the largest value simulated in its array, (2, entries)."""
    low, high = ranges(bench)
    out, at = np.empty((2, len(low))), 0
    for size in bench.sizes_of_data:
        part = slice(at, at + size)
        out[0, part], out[1, part] = low[part].min(), high[part].max()
        at += size
    return out


def separable(bench: Bench, found: Layout) -> bool:
    """Whether the likelihood is a sum of functions of one entry each: mixed differences are 0."""
    size = len(found.entries)
    if size < 2:
        return True
    rng = np.random.default_rng(bench.seed)
    state, data = found.states.take([0]), found.data[0]
    other = bench.data("separable", state)[0]
    first, second = rng.integers(size, size=(2, 64))
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    pairs += [(k, k + 1) for k in range(min(size - 1, 64))]
    many = np.repeat(data[None, None], len(pairs), 0).repeat(4, 1)
    for k, (a, b) in enumerate(pairs):
        many[k, [1, 3], found.entries[a]] = other[found.entries[a]]
        many[k, [2, 3], found.entries[b]] = other[found.entries[b]]
    flat = many.reshape(-1, many.shape[-1])
    f = bench.terms(state.take(np.zeros(len(flat), int)), flat).sum(1).reshape(-1, 4)
    mixed = np.abs(f[:, 0] - f[:, 1] - f[:, 2] + f[:, 3])
    return bool(np.all(mixed <= 1e-8 * (1 + np.abs(f).max())))
