"""The terms of a likelihood as functions of one entry of the data each: their sums and integrals.

One number for all data is taken apart the same way where it is a sum of functions of one entry
each.
"""

import dataclasses
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bracketz.check.factored.bench import Bench, States
from bracketz.check.factored.layout import Layout, Slice, counts_of, layout, ranges
from bracketz.check.factored.quadrature import log_integral, nodes

#: An integral this near to 1, in nats, is 1.
TOLERANCE = 1e-4
#: Data sets simulated at a state, to see where an entry lies.
SEEN = 128
#: Values of a count that are summed over, at the most.
MOST_COUNTS = 20_000
#: Points of a fine rule, where the usual one has not converged.
FINE = 1025


@dataclasses.dataclass(frozen=True)
class Place:
    """A state, data simulated at it, and functions of one entry there."""

    bench: Bench
    layout: Layout
    state: States  # one
    data: np.ndarray  # the data held elsewhere
    seen: np.ndarray  # (SEEN, entries)
    slices: list[Slice]

    def values(self, places: np.ndarray) -> np.ndarray:
        """Terms of the slices with their entries at ``places`` (points, slices)."""
        points, count = places.shape
        entries = [s.entry for s in self.slices]
        terms = np.array([s.term for s in self.slices])
        if self.layout.diagonal and not self.bench.one_number:
            many = np.repeat(self.data[None], points, 0)
            many[:, entries] = places
            return self.terms(many)[:, terms]
        many = np.repeat(self.data[None, None], count, 0).repeat(points, 1)
        many[np.arange(count), :, entries] = places.T
        found = self.terms(many.reshape(count * points, -1)).reshape(count, points, -1)
        return found[np.arange(count), :, terms].T

    def terms(self, data: np.ndarray) -> np.ndarray:
        return self.bench.terms(self.state.take(np.zeros(len(data), int)), data)

    @cached_property
    def whole(self) -> np.ndarray:
        """Which slices are over whole numbers."""
        entries = [s.entry for s in self.slices]
        seen = self.seen[:, entries]
        return self.bench.integer_type[entries] | counts_of(self.bench)[entries] & (
            seen == np.round(seen)
        ).all(0)


class Mass(NamedTuple):
    """Integrals of slices: values and log-weights they are sums of, for distribution functions."""

    log_mass: np.ndarray  # (slices,); nan: not known
    points: list[np.ndarray]  # rising
    log_terms: list[np.ndarray]  # of the term itself
    log_weights: list[np.ndarray]
    counts: np.ndarray
    log_seen: np.ndarray  # of whole numbers, up to the largest that was simulated anywhere

    def up_to(self, most: np.ndarray) -> "Mass":
        """Sums without an end stop at the largest value that was simulated."""
        cut = [
            len(x) if not np.isposinf(m) else int(np.searchsorted(x, top, "right"))
            for x, m, top in zip(self.points, self.log_mass, most, strict=True)
        ]
        kept = [
            [a[:n] for a, n in zip(part, cut, strict=True)]
            for part in (self.points, self.log_terms, self.log_weights)
        ]
        return self._replace(points=kept[0], log_terms=kept[1], log_weights=kept[2])

    def cumulated(self, k: int, value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The distribution function at values of slice k, randomised where it jumps."""
        with np.errstate(invalid="ignore"):
            log_p = self.log_terms[k] + self.log_weights[k]
        p = np.exp(log_p - np.nanmax(log_p))
        p = np.where(np.isnan(p), 0.0, p)
        p /= p.sum()
        above = np.cumsum(p)
        if self.counts[k]:
            index = np.searchsorted(self.points[k], value)
            index = np.minimum(index, len(p) - 1)
            inside = self.points[k][index] == value
            u = above[index] - p[index] * rng.random(len(value))
            return np.where(inside, u, np.where(value > self.points[k][-1], 1.0, 0.0))
        atom = self.log_weights[k] == 0.0
        middle = above - 0.5 * p  # the trapezoidal rule, up to its point
        u = np.interp(value, self.points[k][~atom], middle[~atom], left=0.0, right=1.0)
        for j in np.flatnonzero(atom & (p > 0)):
            u = np.where(value == self.points[k][j], above[j] - p[j] * rng.random(len(value)), u)
        return u


def masses(place: Place) -> Mass:
    """log of the sum or integral of exp(term) over each slice's entry."""
    count = len(place.slices)
    log_mass = np.full(count, np.nan)
    points: list = [np.zeros(1)] * count
    log_terms: list = [np.zeros(1)] * count
    log_weights: list = [np.zeros(1)] * count
    log_seen = np.full(count, np.nan)
    smooth, whole = np.flatnonzero(~place.whole), np.flatnonzero(place.whole)
    if smooth.size:
        _integrate(place, smooth, log_mass, points, log_terms, log_weights)
    if whole.size:
        _sum(place, whole, log_mass, points, log_terms, log_weights, log_seen)
    return Mass(
        log_mass,
        points,
        log_terms,
        log_weights,
        place.whole,
        np.where(np.isnan(log_seen), log_mass, log_seen),
    )


def _part(place: Place, which: np.ndarray) -> Place:
    return dataclasses.replace(place, slices=[place.slices[k] for k in which])


def _sum(place: Place, which, log_mass, points, log_terms, log_weights, log_seen) -> None:
    part = _part(place, which)
    entries = [s.entry for s in part.slices]
    seen = place.seen[:, entries]
    least, most = (a[entries] for a in ranges(place.bench))
    least, most = np.minimum(least, seen.min(0)), np.maximum(most, seen.max(0))
    deviation = seen.std(0)
    low = np.where(least >= 0, 0.0, least)
    reach = 40 * deviation + 50
    # A state whose counts are far from 0 needs no values near it.
    low = np.where(least >= 0, np.maximum(low, np.floor(seen.min(0) - reach)), low - reach)
    high = np.ceil(seen.max(0) + reach)
    boolean = (least >= 0) & (most <= 1)
    high = np.where(boolean, 1.0, high)
    width = int(np.max(high - low)) + 1
    if width > MOST_COUNTS:
        return
    grid = np.floor(low) + np.arange(width)[:, None]
    values = part.values(grid)
    values = np.where(np.isnan(values), -np.inf, values)
    upwards = np.logaddexp.accumulate(values, axis=0)
    for j, k in enumerate(which):
        last = min(width, int(high[j] - np.floor(low[j])) + 1)
        first = int(max(0, (most[j] if most[j] <= high[j] else seen[:, j].max()) - grid[0, j]))
        first = min(first, last - 1)
        points[k], log_terms[k] = grid[:last, j], values[:last, j]
        log_mass[k], log_seen[k] = upwards[last - 1, j], upwards[first, j]
        endless = values[last - 1, j] > log_mass[k] - 12 and not boolean[j]
        if place.bench.one_number:
            log_mass[k] = np.inf if endless else log_mass[k]
        else:
            skip = int(seen[:, j].min() - grid[0, j])
            support = _support(values[:last, j], first, skip)
            if support is not None:
                begin, end = support
                points[k], log_terms[k] = grid[begin:end, j], values[begin:end, j]
                log_mass[k] = np.logaddexp.reduce(log_terms[k])
            elif endless and log_mass[k] < TOLERANCE:
                log_mass[k] = np.nan  # the tail is too long to be summed
        log_weights[k] = np.zeros(len(points[k]))


def _support(values: np.ndarray, first: int, skip: int) -> tuple[int, int] | None:
    """Values over which the sum is 1: from 0 on, or from the smallest that was seen (``skip``), up
    to the largest seen (``first``) or beyond. Outside its support a term may be anything."""
    for begin in (0, skip):
        sums = np.abs(np.logaddexp.accumulate(values[begin:]))[max(first - begin, 0) :]
        if sums.size and sums.min() < TOLERANCE:
            return begin, max(first, begin) + int(np.argmin(sums)) + 1
    return None


#: Supports tried, in this order: what lies outside a likelihood may define as it likes.
SUPPORTS = ((-np.inf, np.inf), (0.0, np.inf), (0.0, 1.0))


def _integrate(place: Place, which, log_mass, points, log_terms, log_weights) -> None:
    open_ = np.asarray(which)
    for ends in SUPPORTS:
        for rule in (257, FINE):
            if not open_.size:
                return
            part = _part(place, open_)
            entries = [s.entry for s in part.slices]
            seen = place.seen[:, entries]
            least, most = (a[entries] for a in ranges(place.bench))
            fits = (np.minimum(least, seen.min(0)) >= ends[0]) & (
                np.maximum(most, seen.max(0)) <= ends[1]
            )
            found, apart, grid, values, weights = _quadrature(part, seen, ends, rule)
            for j, k in enumerate(open_):
                right = abs(found[j]) < TOLERANCE and apart[j] < 1e-2
                known = apart[j] < TOLERANCE
                # More than 1 is too much, however rough.
                known |= rule == FINE and ends == SUPPORTS[-1] and bool(found[j] > 0.1)
                if fits[j] and (right or (np.isnan(log_mass[k]) and known)):
                    log_mass[k] = found[j]
                    order = np.argsort(grid[:, j])
                    points[k], log_terms[k] = grid[order, j], values[order, j]
                    log_weights[k] = weights[order, j]
            open_ = np.array([k for k in open_ if not abs(log_mass[k]) < TOLERANCE], dtype=int)


def _quadrature(part: Place, seen: np.ndarray, ends, rule: int):
    """(log integrals, how rough they are, places, values, log weights)."""
    count = seen.shape[1]
    quarters = np.quantile(seen, [0.25, 0.5, 0.75], axis=0)
    scale = (quarters[2] - quarters[0]) / 1.35
    scale = np.where(scale > 0, scale, np.maximum(seen.std(0), 1e-3))
    centre = quarters[1] + 1e-3 * scale  # beside an atom
    low, high = np.full(count, ends[0]), np.full(count, ends[1])
    atoms = [_atoms(seen[:, j]) for j in range(count)]
    for j, found in enumerate(atoms):
        if found.size and found[0] == seen[:, j].min():
            low[j] = found[0]
        if found.size and found[-1] == seen[:, j].max():
            high[j] = found[-1]
    grid, weights = nodes(low, high, centre, scale, rule)
    values = part.values(grid)
    inside = np.isfinite(values) | (values == np.inf)
    if not inside.all():
        low, high = _edges(part, grid, inside, low, high)
        grid, weights = nodes(low, high, centre, scale, rule)
        values = part.values(grid)
    # A pole at an end: its last node rounds to the end itself.
    values = np.where((grid <= low) | (grid >= high) | (values == np.inf), -np.inf, values)
    found, apart = log_integral(values, weights)
    most = max(len(a) for a in atoms)
    if most:
        table = np.full((most, count), np.nan)
        for j, a in enumerate(atoms):
            table[: len(a), j] = a
        known = ~np.isnan(table)
        at = part.values(np.where(known, table, centre))
        at = np.where(known, at, -np.inf)
        found = np.logaddexp(found, np.logaddexp.reduce(at, axis=0))
        grid = np.concatenate([grid, np.where(known, table, centre)])
        values, weights = (
            np.concatenate([values, at]),
            np.concatenate([weights, np.zeros(at.shape)]),
        )
    return found, apart, grid, values, weights


def _atoms(values: np.ndarray) -> np.ndarray:
    """Values that come up again and again."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts >= 3]


def _edges(part: Place, grid, inside, low, high):
    """Where the support begins and ends, by halving the steps of the grid in which it does."""
    order = np.argsort(grid, axis=0)
    grid = np.take_along_axis(grid, order, 0)
    inside = np.take_along_axis(inside, order, 0)
    points, count = grid.shape
    column = np.arange(count)
    some = inside.any(0)
    first, last = inside.argmax(0), points - 1 - inside[::-1].argmax(0)
    out = []
    for edge, beyond, missing in (
        (first, first - 1, first == 0),
        (last, last + 1, last == points - 1),
    ):
        within, without = grid[edge, column], grid[np.clip(beyond, 0, points - 1), column]
        for _ in range(70):
            middle = 0.5 * (within + without)
            good = ~np.isnan(m := part.values(middle[None])[0]) & (m != -np.inf)
            within, without = np.where(good, middle, within), np.where(good, without, middle)
        out.append(np.where(missing | ~some, np.nan, within))
    return np.where(np.isnan(out[0]), low, out[0]), np.where(np.isnan(out[1]), high, out[1])


def places(bench: Bench, name: str, count: int, most: int) -> list[Place]:
    """States, and the slices to look at there."""
    found = layout(bench)
    states = bench.states(name, count)
    held = bench.data(f"{name} held", states)
    index = np.repeat(np.arange(count), SEEN)
    seen = bench.data(f"{name} seen", states.take(index)).reshape(count, SEEN, -1)
    if bench.one_number:
        slices = [Slice(0, int(e)) for e in found.entries]
    else:
        slices = found.slices
        if not found.diagonal:
            slices = [slices[k] for k in np.unique(spread(len(slices), most))]
    return [Place(bench, found, states.take([k]), held[k], seen[k], slices) for k in range(count)]


def spread(size: int, most: int) -> np.ndarray:
    return np.linspace(0, size - 1, min(size, most)).astype(int) if size else np.zeros(0, int)
