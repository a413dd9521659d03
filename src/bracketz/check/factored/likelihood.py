"""The likelihood: every data point matters, each is a density of it, and ``simulate`` draws from
them.

What depends on what is found by trial: entries of the data are replaced by other simulated values,
one at a time, and the terms that change are those that depend on them. In order, each term owns the
entries that no term before it depends on; log p(y_i | y_1, .., y_{i-1}, x) owns y_i. A term with
one entry is integrated or summed over it, the others held. One number for all data is taken apart
the same way where it is a sum of functions of one entry each.
"""

import dataclasses
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln

from bracketz.check.factored.bench import Bench, States
from bracketz.check.factored.gradients import described
from bracketz.check.factored.overlap import FAINT, Both, Fitted, compare
from bracketz.check.factored.prior import constant
from bracketz.check.factored.quadrature import log_integral, nodes
from bracketz.check.report import Check, Finding, Kind, NotApplicable
from bracketz.check.statistics import bonferroni, uniform_p

TOLERANCE = 1e-4
#: Entries of the data replaced one at a time; of more as many, evenly spread.
MOST_ENTRIES = 400
#: Values an entry is replaced by.
TRIES = 6
#: Data sets simulated at a state, to see where an entry lies.
SEEN = 128
#: Terms looked at where each needs a sum of its own, and entries of one number for all.
FEW_TERMS, MOST_PARTS = 8, 80
#: Values of a count that are summed over, at the most.
MOST_COUNTS = 20_000
#: Rows of the comparison with the simulator, and states.
ROWS, PLACES = 12, 4
#: Entries of a data set that one density is fitted to.
MOST_FITTED = 60
#: Points of a fine rule, where the usual one has not converged.
FINE = 1025


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
            others[:2] = _ends(bench)
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


def rows(bench: Bench) -> Finding:
    """Replacing an entry of the data changes the likelihood; in order, every term has an entry of
    its own."""
    found = layout(bench)
    idle, total = found.idle, len(found.entries)
    if idle.size:
        names = ", ".join(f"`{bench.entry_names[e]}`" for e in idle[:3])
        more = f" and {idle.size - 3} more" if idle.size > 3 else ""
        return Finding(
            float(idle.size),
            f"`log_likelihood` does not change with {names}{more}: data that are simulated are left"
            " out of it.",
            0.0,
        )
    empty = [t for t, own in enumerate(found.owned) if not len(own)]
    whole = len(found.entries) == found.data.shape[1]
    if empty and whole:
        often = int(found.depends.sum(1).max())
        if not found.depends[:, empty[0]].any():
            said = f"term {empty[0]} of `log_likelihood` does not depend on the data."
        else:
            said = (
                f"term {empty[0]} of `log_likelihood` has no data point of its own: data enter as"
                f" many as {often} terms, so that they count more than once."
            )
        return Finding(float(len(empty)), said, 0.0)
    return Finding(0.0, f"each of {total} entries of the data matters.", 0.0)


# Integrals.


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
            return self._terms(many)[:, terms]
        many = np.repeat(self.data[None, None], count, 0).repeat(points, 1)
        many[np.arange(count), :, entries] = places.T
        found = self._terms(many.reshape(count * points, -1)).reshape(count, points, -1)
        return found[np.arange(count), :, terms].T

    def _terms(self, data: np.ndarray) -> np.ndarray:
        return self.bench.terms(self.state.take(np.zeros(len(data), int)), data)

    @cached_property
    def whole(self) -> np.ndarray:
        """Which slices are over whole numbers."""
        entries = [s.entry for s in self.slices]
        seen = self.seen[:, entries]
        return self.bench.integer_type[entries] | _counts(self.bench)[entries] & (
            seen == np.round(seen)
        ).all(0)


def _counts(bench: Bench) -> np.ndarray:
    """Which entries are whole numbers wherever they were simulated, and not always the same."""
    found = bench.__dict__.get("_counts")
    if found is None:
        data = bench.data("counts", bench.states("counts", 256))
        found = (data == np.round(data)).all(0)
        bench.__dict__["_counts"] = found
    return found


def _range(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest of what was simulated at many states."""
    found = bench.__dict__.get("_range")
    if found is None:
        data = bench.data("counts", bench.states("counts", 256))
        found = bench.__dict__["_range"] = (data.min(0), data.max(0))
    return found


def _ends(bench: Bench) -> np.ndarray:
    """For every entry the smallest and the largest value simulated in its array, (2, entries)."""
    low, high = _range(bench)
    out, at = np.empty((2, len(low))), 0
    for size in bench.sizes_of_data:
        part = slice(at, at + size)
        out[0, part], out[1, part] = low[part].min(), high[part].max()
        at += size
    return out


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
    least, most = (a[entries] for a in _range(place.bench))
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
            least, most = (a[entries] for a in _range(place.bench))
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


def _places(bench: Bench, name: str, count: int, most: int) -> list[Place]:
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
            slices = [slices[k] for k in np.unique(_spread(len(slices), most))]
    return [Place(bench, found, states.take([k]), held[k], seen[k], slices) for k in range(count)]


def _spread(size: int, most: int) -> np.ndarray:
    return np.linspace(0, size - 1, min(size, most)).astype(int) if size else np.zeros(0, int)


def _refuse(bench: Bench) -> None:
    """Where no term is a function of one entry of its own."""
    found = layout(bench)
    if found.idle.size:
        return  # told as such
    if bench.one_number:
        if len(found.entries) > MOST_PARTS or len(found.entries) < found.data.shape[1]:
            raise NotApplicable(
                f"the likelihood is one number for all {found.data.shape[1]} entries of the data,"
                f" and more than {MOST_PARTS} are too many to be integrated over; give one number"
                " per data point"
            )
        if not _separable(bench, found):
            raise NotApplicable(
                "the likelihood is one number for all data and does not fall into functions of one"
                " entry each; likelihood.simulator compares it as a whole where the data are real"
            )
    elif not found.slices:
        raise NotApplicable(
            "data points have several entries each, over which there is no quadrature here;"
            " likelihood.simulator compares constants too where the data are real"
        )


def _separable(bench: Bench, found: Layout) -> bool:
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


class Case(NamedTuple):
    """One term that was integrated."""

    place: Place
    name: str
    log_mass: float
    mass: Mass
    place_in: int


def integral(bench: Bench) -> Finding:
    """Each term's exponential sums or integrates to 1 over the data point it belongs to."""
    _refuse(bench)
    found = layout(bench)
    if found.idle.size:
        return Finding(
            np.inf,
            f"the integral of the likelihood over `{bench.entry_names[found.idle[0]]}` is infinite:"
            " it does not depend on it.",
            TOLERANCE,
        )
    cases: list[Case] = []
    unknown = 0
    for place in _places(bench, "integral", bench.sizes.states, FEW_TERMS):
        mass = masses(place)
        if bench.one_number:
            here = float(place._terms(place.data[None])[0, 0])
            # log of the integral = f(y) + sum over entries of log of the integral of
            # exp(f(y; y_i) - f(y)).
            whole = here + float(np.sum(mass.log_mass - here))
            seen = here + float(np.sum(mass.log_seen - here))
            whole = seen if abs(seen) < TOLERANCE else whole
            unknown += int(np.isnan(whole))
            if not np.isnan(whole):
                cases.append(Case(place, "the data", whole, mass, 0))
            continue
        for k, s in enumerate(place.slices):
            unknown += int(np.isnan(mass.log_mass[k]))
            if not np.isnan(mass.log_mass[k]):
                value = float(mass.log_mass[k])
                cases.append(Case(place, bench.entry_names[s.entry], value, mass, k))
    if not cases:
        raise NotApplicable(
            "no sum or quadrature of a term over its data point converged at the states looked at"
        )
    errors = [abs(c.log_mass) if np.isfinite(c.log_mass) else np.inf for c in cases]
    worst = int(np.argmax(errors))
    rest = f" ({unknown} more did not converge)" if unknown else ""
    if errors[worst] <= TOLERANCE:
        return Finding(errors[worst], f"{len(cases)} integrals are 1{rest}.", TOLERANCE)
    one = cases[worst]
    verb = "sums" if one.mass.counts[one.place_in] else "integrates"
    size = f"exp({one.log_mass:+.4g})" if np.isfinite(one.log_mass) else "infinity"
    return Finding(
        errors[worst],
        f"the likelihood {verb} to {size} instead of 1 over"
        f" {'`' + one.name + '`' if one.name != 'the data' else one.name}"
        f" ({described(bench, one.place.state, 0)}): {_cause(bench, cases)}.",
        TOLERANCE,
    )


def _cause(bench: Bench, cases: list[Case]) -> str:
    """What would put every integral right."""
    n = cases[0].place.data.shape[0]
    size = np.array([c.log_mass for c in cases])
    if bench.one_number:
        changes = _one_number_changes(n)
    else:
        changes = {
            "`log y!` is missing": lambda y, t: t - gammaln(y + 1),
            f"terms are divided by the number of data points, {n}": lambda y, t: n * t,
            f"terms are multiplied by the number of data points, {n}": lambda y, t: t / n,
            "terms count twice": lambda y, t: t / 2,
            "terms count half": lambda y, t: 2 * t,
        }
    for words, change in changes.items():
        if all(abs(_changed(c, change, bench.one_number)) < 1e-3 for c in cases[:40]):
            return words
    count = cases[0].place.data.shape[0] if bench.one_number else 1
    if np.ptp(size) < 1e-3:
        return f"a constant of {size.mean() / count:+.4g} nats per data point" + constant(
            float(size.mean() / count)
        )
    for name, where in bench.leaves.items():
        values = np.array([c.place.state.vectors[0, where].sum() for c in cases])
        for slope, words in ((1, "- {0}"), (-1, "+ {0}"), (0.5, "- {0} / 2"), (2, "- 2 * {0}")):
            if np.ptp(size / count - slope * values) < 1e-3 and np.ptp(values) > 1e-2:
                return f"the term `{words.format(name)}` is missing from each data point"
    return "its normalising constant depends on the parameters and is missing or wrong"


def _one_number_changes(n: int) -> dict:
    return {
        "`log y!` is missing": lambda y, t: t - gammaln(y + 1),
        f"it is averaged over the {n} data points instead of summed": lambda y, t: n * t,
        "it counts every data point twice": lambda y, t: t / 2,
    }


def _changed(case: Case, change, one_number: bool) -> float:
    """The log-integral with a term changed."""

    def of(k: int) -> float:
        mass = case.mass
        with np.errstate(invalid="ignore"):
            values = change(np.maximum(mass.points[k], 0.0), mass.log_terms[k])
            values = np.where(np.isnan(values), -np.inf, values) + mass.log_weights[k]
        return float(np.logaddexp.reduce(values))

    if not one_number:
        return of(case.place_in)
    # As in ``integral``, for the changed likelihood.
    place = case.place
    here = float(place._terms(place.data[None])[0, 0])
    y = place.data
    total = 0.0
    if "gammaln" in change.__code__.co_names:
        here_changed = here - float(gammaln(np.maximum(y, 0) + 1).sum())
        for k, s in enumerate(place.slices):
            others = float(gammaln(np.maximum(np.delete(y, s.entry), 0) + 1).sum())
            total += of(k) - others - here_changed
        return here_changed + total
    here_changed = float(change(np.zeros(1), np.array([here]))[0])
    return here_changed + sum(of(k) - here_changed for k in range(len(place.slices)))


# The simulator.


TIED = (
    "simulated data points are not independent of each other given the parameters, as the"
    " likelihood says they are"
)


def simulator(bench: Bench) -> Finding:
    """Simulated data against the likelihood: their distribution functions under it are uniform,
    and those of different data points independent; where data points have several entries, as a
    whole (``overlap``)."""
    found = layout(bench)
    if found.idle.size:
        return Finding(
            0.0,
            f"`simulate` draws `{bench.entry_names[found.idle[0]]}`, on which `log_likelihood` does"
            " not depend.",
        )
    apart = found.diagonal and not bench.one_number
    if not apart and not (bench.one_number and _few(found) and _separable(bench, found)):
        return _as_a_whole(bench)
    count = bench.sizes.draws // 8
    p_values: list[float] = []
    said: list[str] = []
    tied = 0.0
    for place in _places(bench, "simulator", PLACES, ROWS):
        slices = [place.slices[k] for k in np.unique(_spread(len(place.slices), ROWS))]
        place = dataclasses.replace(place, slices=slices)
        mass = masses(place).up_to(_range(bench)[1][[s.entry for s in slices]])
        index = np.zeros(count, int)
        name = f"simulator draws {len(said)}"
        draws = bench.data(name, place.state.take(index))
        rng = np.random.default_rng([bench.seed, len(said)])
        scores = []
        for k, s in enumerate(slices):
            if not np.isfinite(mass.log_terms[k]).any() or len(mass.points[k]) < 2:
                continue
            u = np.clip(mass.cumulated(k, draws[:, s.entry], rng), 0, 1)
            z = stats.norm.ppf(np.clip(u, 1e-12, 1 - 1e-12))
            scores.append(z)
            p_values.append(uniform_p(u))
            said.append(_seen(bench, place, s, z))
        if len(scores) > 1:
            together = np.sum(scores, axis=0) / np.sqrt(len(scores))
            tied = max(tied, float(np.var(together)))
            p_values.append(uniform_p(stats.norm.cdf(together)))
            said.append(TIED)
            pooled = np.concatenate(scores)
            p_values.append(uniform_p(stats.norm.cdf(pooled)))
            said.append(_seen(bench, place, slices[0], pooled, "data"))
    if not p_values:
        raise NotApplicable("no distribution function of a data point could be computed")
    overall = bonferroni(p_values)
    k = int(np.argmin(p_values))
    # Data points that are wrong one by one are wrong together, too; and the other way round.
    alone = [k for k, words in enumerate(said) if words.startswith("simulated `")]
    marginal = [k for k, words in enumerate(said) if words != TIED]
    if min(p_values[k] for k in alone) * len(p_values) < 1e-3:
        k = min(marginal, key=lambda k: p_values[k])
    elif tied > 2:
        k = said.index(TIED)
    detail = (
        f"{said[k]}." if overall < 1e-2 else f"{len(p_values)} tests of {count} data sets each."
    )
    return Finding(overall, detail)


def _few(found: Layout) -> bool:
    return len(found.entries) == found.data.shape[1] <= MOST_PARTS


def _seen(bench: Bench, place: Place, s: Slice, z: np.ndarray, what: str = "") -> str:
    name, where = what or f"`{bench.entry_names[s.entry]}`", described(bench, place.state, 0)
    shift, width = float(np.mean(z)), float(np.std(z))
    error = 1 / np.sqrt(len(z))
    if abs(width - 1) > 5 * error and abs(np.log(width)) > 0.5 * abs(shift):
        return f"simulated {name} spread {width:.3g} times as wide as the likelihood says ({where})"
    if abs(shift) > 4 * error:
        return (
            f"simulated {name} lie {shift:+.3g} standard deviations from where the likelihood"
            f" puts them ({where})"
        )
    return f"simulated {name} do not have the law the likelihood gives them ({where})"


def _as_a_whole(bench: Bench) -> Finding:
    """All entries of a data set at one state, with a density fitted to simulated ones."""
    found = layout(bench)
    size = found.data.shape[1]
    if bench.integer_type.any() or _counts(bench).any():
        raise NotApplicable(
            "the data are whole numbers that depend on each other given the parameters, or come"
            " several to a data point"
        )
    if size > MOST_FITTED:
        raise NotApplicable(
            f"data points depend on each other or have several entries, and {size} entries are too"
            f" many for one density (at most {MOST_FITTED})"
        )
    p_values, said = [], []
    for place in range(2):
        state = bench.states(f"whole {place}", 1)
        count = bench.sizes.draws
        index = np.zeros(count, int)
        y = bench.data(f"whole data {place}", state.take(index))
        half = count // 2
        fitted = Fitted.to(y[:half])
        rng = np.random.default_rng([bench.seed, place])
        y_g = fitted.sample(half, rng)
        every = bench.terms(state.take(np.zeros(2 * half, int)), np.concatenate([y[half:], y_g]))
        log_p, log_p_g = np.split(every.sum(1), 2)
        both = Both(y[half:], log_p, fitted.log_density(y[half:]), y_g, log_p_g,
                    fitted.log_density(y_g))  # fmt: skip
        verdict = compare(both)
        where = described(bench, state, 0)
        if verdict.p_value > 0.01 and verdict.common < FAINT:
            raise NotApplicable(
                "no density was found that is near that of the data, with which it could be"
                " compared"
            )
        p_values.append(verdict.p_value)
        off = verdict.log_mass
        if compare(both.with_p(lambda v: np.full(len(v), -off))).p_value > 0.01:
            said.append(
                f"the likelihood integrates to exp({off:+.3g}) instead of 1 over the data, and is"
                f" right but for that ({where})"
            )
        else:
            j = int(np.argmin(verdict.entries))
            said.append(
                f"simulated `{bench.entry_names[j]}` do not have the law the likelihood gives them"
                f" ({where})"
            )
    p = bonferroni(p_values)
    detail = said[int(np.argmin(p_values))] if p < 0.01 else f"{size} entries at two states"
    return Finding(p, f"{detail}.")


CHECKS = (
    Check(
        "likelihood.rows",
        Kind.EXACT,
        "a data point is left out of the likelihood (an index, a slice, a mask), or counts more"
        " than once.",
        rows,
    ),
    Check(
        "likelihood.integral",
        Kind.EXACT,
        "a constant of the likelihood is dropped (log y!, log sqrt(2 pi), the log of a scale), or"
        " its terms are averaged.",
        integral,
    ),
    Check(
        "likelihood.simulator",
        Kind.STATISTICAL,
        "`simulate` and `log_likelihood` describe different models: a variance for a standard"
        " deviation, another link, a missing term, another order of the rows.",
        simulator,
    ),
)
