"""The likelihood: every data point matters, each is a density of it, and ``simulate`` draws from
them. What depends on what is ``layout``; sums and integrals are ``masses``."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln

from bracketz.check.factored.bench import Bench
from bracketz.check.factored.gradients import described
from bracketz.check.factored.layout import Layout, Slice, counts_of, layout, ranges, separable
from bracketz.check.factored.masses import TOLERANCE, Mass, Place, masses, places, spread
from bracketz.check.factored.overlap import FAINT, Both, Fitted, compare
from bracketz.check.factored.prior import constant
from bracketz.check.report import Check, Finding, Kind, NotApplicable
from bracketz.check.statistics import bonferroni, uniform_p

#: Terms looked at where each needs a sum of its own, and entries of one number for all.
FEW_TERMS, MOST_PARTS = 8, 80
#: Rows of the comparison with the simulator, and states.
ROWS, PLACES = 12, 4
#: Entries of a data set that one density is fitted to.
MOST_FITTED = 60


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
        if not separable(bench, found):
            raise NotApplicable(
                "the likelihood is one number for all data and does not fall into functions of one"
                " entry each; likelihood.simulator compares it as a whole where the data are real"
            )
    elif not found.slices:
        raise NotApplicable(
            "data points have several entries each, over which there is no quadrature here;"
            " likelihood.simulator compares constants too where the data are real"
        )


class Case(NamedTuple):
    """One term that was integrated."""

    place: Place
    name: str
    log_mass: float
    mass: Mass
    place_in: int


class Change(NamedTuple):
    """``times`` a log-likelihood, by the number of data points, less a function of each of them:
    what would put it right, and what is wrong then."""

    words: str
    times: Callable[[int], float] = lambda n: 1.0
    less: Callable[[np.ndarray], np.ndarray] = np.zeros_like


NO_FACTORIAL = Change("`log y!` is missing", less=lambda y: gammaln(y + 1))
PER_POINT = (
    NO_FACTORIAL,
    Change("terms are divided by the number of data points, {}", lambda n: n),
    Change("terms are multiplied by the number of data points, {}", lambda n: 1 / n),
    Change("terms count twice", lambda n: 1 / 2),
    Change("terms count half", lambda n: 2.0),
)
ONE_NUMBER = (
    NO_FACTORIAL,
    Change("it is averaged over the {} data points instead of summed", lambda n: n),
    Change("it counts every data point twice", lambda n: 1 / 2),
)


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
    for place in places(bench, "integral", bench.sizes.states, FEW_TERMS):
        mass = masses(place)
        if bench.one_number:
            here = float(place.terms(place.data[None])[0, 0])
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
    for change in ONE_NUMBER if bench.one_number else PER_POINT:
        if all(abs(_changed(c, change, bench.one_number)) < 1e-3 for c in cases[:40]):
            return change.words.format(n)
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


def _changed(case: Case, change: Change, one_number: bool) -> float:
    """The log-integral with a term changed."""
    mass, y = case.mass, np.maximum(case.place.data, 0.0)
    times = change.times(len(y))

    def of(k: int) -> float:
        with np.errstate(invalid="ignore"):
            values = times * mass.log_terms[k] - change.less(np.maximum(mass.points[k], 0.0))
            values = np.where(np.isnan(values), -np.inf, values) + mass.log_weights[k]
        return float(np.logaddexp.reduce(values))

    if not one_number:
        return of(case.place_in)
    # As in ``integral``, for the changed likelihood.
    less = change.less(y)
    here = times * float(case.place.terms(case.place.data[None])[0, 0]) - float(less.sum())
    others = [float(np.delete(less, s.entry).sum()) for s in case.place.slices]
    return here + sum(of(k) - other - here for k, other in enumerate(others))


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
    if not apart and not (bench.one_number and _few(found) and separable(bench, found)):
        return _as_a_whole(bench)
    count = bench.sizes.draws // 8
    p_values: list[float] = []
    said: list[str] = []
    tied = 0.0
    for place in places(bench, "simulator", PLACES, ROWS):
        slices = [place.slices[k] for k in np.unique(spread(len(place.slices), ROWS))]
        place = dataclasses.replace(place, slices=slices)
        mass = masses(place).up_to(ranges(bench)[1][[s.entry for s in slices]])
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
    if bench.integer_type.any() or counts_of(bench).any():
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
