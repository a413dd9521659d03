"""The prior: it integrates to 1, and ``sample_prior`` draws from it.

Where it does not, the cause is told apart by trial: a Jacobian that would put it right is missing.
"""

import numpy as np

from bracketz.check.factored.bench import Bench, States
from bracketz.check.factored.overlap import FAINT, Both, Fitted, Verdict, compare
from bracketz.check.factored.quadrature import log_integral, nodes
from bracketz.check.report import Check, Finding, Kind, NotApplicable

TOLERANCE = 1e-4
#: Points of a rule per dimension, in one dimension and two.
POINTS = {1: 513, 2: 257}
#: Entries of a state that one density is fitted to.
MOST_ENTRIES = 120
#: A correction puts a prior right if its p-value is this or more.
RIGHT = 0.01

#: What people forget, as something to be added to log p: words, and the function of a parameter.
FORGOTTEN = (
    ("the Jacobian of `{0}` is missing: with `+ {1}` added, `log_prior` is right", lambda u: u),
    (
        "the Jacobian of `{0}` has the wrong sign: with `+ 2 * {1}` added, `log_prior` is right",
        lambda u: 2 * u,
    ),
    (
        "the Jacobian of `{0}` is there twice, or the density is on the unconstrained value"
        " already: with `- {1}` added, `log_prior` is right",
        lambda u: -u,
    ),
    (
        "the Jacobian of `{0}` is missing: with log(v (1 - v)), v the logistic function of `{0}`,"
        " added, `log_prior` is right",
        lambda u: -np.logaddexp(0, u) - np.logaddexp(0, -u),
    ),
    (
        "the Jacobian of `{0}` is missing: with the logarithm of the logistic function of `{0}`"
        " added, `log_prior` is right",
        lambda u: -np.logaddexp(0, -u),
    ),
)
#: Constants people drop.
CONSTANTS = (
    (0.5 * np.log(2 * np.pi), "log sqrt(2 pi)"),
    (np.log(2), "log 2"),
    (np.log(np.pi), "log pi"),
)


def constant(nats: float, precision: float = 1e-3) -> str:
    """What a constant may be, in words."""
    for value, words in CONSTANTS:
        times = nats / value
        if abs(times - round(times)) * value < precision and 1 <= abs(round(times)) <= 20:
            count = round(abs(times))
            return f" ({words}" + (f", {count} times)" if count > 1 else ")")
    return ""


def _corrections(bench: Bench):
    """(words, function of states' vectors) of everything people forget, for each parameter."""
    for name, where in bench.leaves.items():
        summed = f"sum({name})" if len(where) > 1 else name
        for words, function in FORGOTTEN:
            yield (
                words.format(name, summed),
                lambda x, where=where, function=function: function(x[:, where]).sum(1),
            )


def integral(bench: Bench) -> Finding:
    """The integral of exp(log_prior) over the unconstrained space is 1, by quadrature."""
    d = bench.flat.size
    if bench.flat.has_discrete:
        raise NotApplicable("the state has discrete arrays")
    if not d:
        raise NotApplicable("the state has no real entries")
    if d > 2:
        raise NotApplicable(
            f"{d} dimensions are too many for quadrature; prior.sampler compares constants too"
        )
    draws = bench.states("prior grid", 512).vectors
    quarters = np.quantile(draws, [0.25, 0.5, 0.75], axis=0)
    scale = np.maximum(quarters[2] - quarters[0], 1e-8) / 1.35
    places, log_weights = nodes(-np.inf, np.inf, quarters[1], scale, POINTS[d])
    if d == 2:
        # Entries of all pairs, (points, points, 2); values have the same axes.
        grid = np.stack(np.meshgrid(*places.T, indexing="ij"), axis=-1)
        weights = log_weights[:, None, 0] + log_weights[None, :, 1]
    else:
        grid, weights = places[:, None, :], log_weights
    flat = grid.reshape(-1, d)
    values = bench.log_prior(States(flat, ()))

    def total(added=0.0) -> tuple[float, float]:
        inner, apart = log_integral((values + added).reshape(weights.shape), weights)
        whole = float(np.logaddexp.reduce(inner))
        half = float(np.logaddexp.reduce(inner[::2])) + np.log(2) if d == 2 else whole
        rough = float(np.max(np.where(inner > whole - 15, apart, 0.0)))
        return whole, max(rough, abs(whole - half))

    whole, apart = total()
    if abs(whole) <= TOLERANCE and apart < TOLERANCE:
        return Finding(abs(whole), f"`log_prior` integrates to exp({whole:+.2g}).", TOLERANCE)
    for words, correction in _corrections(bench):
        mended, rough = total(correction(flat))
        if abs(mended) < TOLERANCE and rough < TOLERANCE:
            return Finding(max(abs(whole), apart), f"{words}.", TOLERANCE)
    if apart > TOLERANCE and whole < 0.01:
        raise NotApplicable(
            "quadrature of `log_prior` does not converge; prior.sampler compares constants too"
        )
    return Finding(
        abs(whole),
        f"`log_prior` integrates to exp({whole:+.4g}) instead of 1, so that the log evidence is off"
        f" by as much{constant(whole)}.",
        TOLERANCE,
    )


def sampler(bench: Bench) -> Finding:
    """Draws of ``sample_prior`` against ``log_prior``, constants included (``overlap``)."""
    d = bench.flat.size
    if bench.flat.has_discrete:
        raise NotApplicable("the state has discrete arrays")
    if not 0 < d <= MOST_ENTRIES:
        raise NotApplicable(f"a state of {d} real entries; at most {MOST_ENTRIES} are compared")
    states = bench.states("prior sampler", bench.sizes.draws)
    half = len(states) // 2
    x = states.vectors
    if not np.isfinite(x).all():
        return Finding(0.0, "`sample_prior` draws values that are not finite.")
    fitted = Fitted.to(x[:half])
    x_g = fitted.sample(half, np.random.default_rng(bench.seed))
    every = bench.log_prior(States(np.concatenate([x[half:], x_g]), ()))
    parts = np.split(every, [len(x) - half])
    both = Both(
        x[half:], parts[0], fitted.log_density(x[half:]), x_g, parts[1], fitted.log_density(x_g)
    )
    impossible = ~np.isfinite(both.log_p)
    if impossible.any():
        return Finding(
            0.0,
            f"`log_prior` is {both.log_p[impossible][0]} at {impossible.sum()} of"
            f" {len(impossible)} draws of `sample_prior`.",
        )
    found = compare(both)
    return Finding(found.p_value, _told(bench, both, found))


def _told(bench: Bench, both: Both, found: Verdict) -> str:
    if found.p_value >= RIGHT:
        if found.common < FAINT:
            raise NotApplicable(
                "no density was found that is near the prior, with which it could be compared"
            )
        return (
            f"{len(both.x)} draws of `sample_prior` belong to `log_prior`, which integrates to"
            f" exp({found.log_mass:+.2g}) by them."
        )
    mended = [(compare(both.with_p(f)).p_value, words) for words, f in _corrections(bench)]
    best, words = max(mended)
    off = found.log_mass
    scaled = compare(both.with_p(lambda x: np.full(len(x), -off)))
    if scaled.p_value >= RIGHT and scaled.p_value >= best:
        return (
            f"`log_prior` integrates to exp({off:+.3g}) instead of 1, and is right but for that"
            f" constant, by which the log evidence is off{constant(off, 0.05)}."
        )
    if best >= RIGHT:
        return f"{words}."
    scores = {name: scaled.entries[where].min() for name, where in bench.leaves.items()}
    name = min(scores, key=lambda n: scores[n])
    return (
        f"draws of `{name}` by `sample_prior` do not have the law that `log_prior` gives it"
        f"{_compared(bench, both, name)}."
    )


def _compared(bench: Bench, both: Both, name: str) -> str:
    """Mean and spread by the draws, and by the density (self-normalised weights of g's draws)."""
    where = bench.leaves[name][0]
    log_w = both.log_p_g - both.log_g_g
    log_w = np.where(np.isnan(log_w), -np.inf, log_w)
    w = np.exp(log_w - np.max(log_w))
    w /= w.sum()
    if 1 / np.sum(w * w) < 50:
        return ""
    u, v = both.x[:, where], both.x_g[:, where]
    mean = float(w @ v)
    spread = float(np.sqrt(w @ (v - mean) ** 2))
    return (
        f": mean {u.mean():.3g} and standard deviation {u.std():.3g} by the draws, {mean:.3g} and"
        f" {spread:.3g} by the density"
    )


CHECKS = (
    Check(
        "prior.integral",
        Kind.EXACT,
        "a forgotten Jacobian of a parameter kept as its logarithm, or a dropped constant.",
        integral,
    ),
    Check(
        "prior.sampler",
        Kind.STATISTICAL,
        "`sample_prior` and `log_prior` use different hyperparameters (a rate for a scale, a"
        " variance for a standard deviation), a forgotten Jacobian, or a dropped constant.",
        sampler,
    ),
)
