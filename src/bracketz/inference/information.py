"""Entropy and mutual information of a simulator, two-sided, from sandwiches over many data sets.

The information density of one draw (x, y) is i = log p(y | x) - log p(y), and I(x; y) = E[i]. The
first term is known; the second has bounds. With forward weights, E[w | y] = p(y), and reverse ones
from the x that made y, E[v | y] = 1 / p(y), Jensen's inequality gives for every y

    E[log p(y | x) + log v]  <=  E[i]  <=  E[log p(y | x) - log w],

and the same without the first term for the entropy H(y) = E[-log p(y)]. So over independent data
sets, each with the sample behind it, the two averages have expectations on either side of the
truth, at any effort: the order is exact, and the distance is the mean gap of the sandwiches.

What remains is how far an average of M independent numbers is from its expectation.

- By default Student's t, each end with half of the failure probability: *asymptotic*, right as M
  grows if the numbers have a variance. It is no certificate: a rare data set with an enormous value
  that none of M was is not seen.
- A certificate needs bounded numbers. If it is known that low <= -log p(y) <= high for every y (a
  finite alphabet), bounds may be cut: a = -log w to [low, high + c], b = log v to [low - c, high].
  Cutting a from below and b from above moves them away from the truth; the other way costs little:
  E max(w, e^-(high + c)) <= p(y) (1 + e^-c), so E[a] >= -log p(y) - e^-c, and likewise for b.
  Betting on numbers in a range (``core.betting``) bounds both means with any number of data sets,
  and e^-c is added. That is *certified*, given the range, for the entropy.

Effort is decided on a data set of its own. Cost: one sandwich per data set.
"""

import math

import jax.numpy as jnp
import numpy as np

from bracketz.core.betting import betting_bound, bounded_mean_bound
from bracketz.core.capabilities import Collapsed
from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.results import Certificate, Seconds, check_confidence
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import bennett, mean_interval
from bracketz.data.dataset import Data
from bracketz.data.identity import model_label
from bracketz.data.simulate import simulate
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.average import Average, Information
from bracketz.inference.both_ways import BothWays
from bracketz.inference.ladder import Clock
from bracketz.inference.over_data_sets import over_data_sets, seed_of
from bracketz.inference.plan import Plan
from bracketz.inference.sandwich import sandwich
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered

#: Keeps data sets, and runs on them, apart from every other run's randomness.
DATASETS = 0x1F0
#: Where bounds are cut beyond the range of -log p(y) (nats); e^-5 is what that costs.
BEYOND = 5.0


def mutual_information(
    model: Model,
    rows: int | None = None,
    columns: int | None = None,
    *,
    datasets: int = 100,
    gap: float = 1.0,
    chains: int = 25,
    parameters: bool = False,
    within: tuple[float, float] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    session: Session | None = None,
) -> Information:
    """I(x; y) and the entropy H(y) = E[-log p(y)] of a model that simulates, from both sides.

    Every data set is drawn from the model and bracketed; averages of the two bounds have
    expectations on either side of the truth (``bracketz.inference.information`` has the proof). The
    intervals around them are asymptotic (Student's t), and say so; with ``within`` the entropy has
    a certificate too.

    Args:
        model: any that simulates; not an undirected one.
        rows, columns: size of the data; the model's own by default.
        datasets: how many to draw.
        gap: of one sandwich, to aim at (nats); decided on a data set that is not counted.
        chains: of a sandwich, in each direction, at the least.
        parameters: of a model with variables integrated out: count these as part of x. Otherwise
            x is its state alone (the assignments of a clustering, not the centres).
        within: numbers (low, high) between which -log p(y) is *known* to lie for every y, such as 0
            and the log of the largest 1 / p(y) of a finite alphabet; None: nothing is known.
        confidence: of the intervals, each, and of the certificate.
        seed: everything random follows from it.
        session: time budget (no data set begins after it), checkpoint and progress.

    Returns:
        Both averages with their intervals.

    Raises:
        InputError: an undirected model, nothing integrated out, or a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.mutual_information(model, 4, 2, datasets=4, chains=4)
        >>> answer.information.low < answer.information.estimate < answer.information.high
        True
    """
    check_seed(seed)
    check_confidence(confidence)
    require_at_least(2, datasets=datasets, chains=chains)
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    if isinstance(model, Undirected):
        raise InputError("an undirected model simulates no data, so that there is nothing to learn")
    if parameters and not isinstance(model, Collapsed):
        raise InputError(f"{model_label(model)} has no parameters integrated out; leave it out")
    if within is not None and not -math.inf < within[0] < within[1] < math.inf:
        raise InputError(f"`within` must be two rising, finite numbers, got {within}")
    session, clock = session or Session(), Clock()
    chosen = _decide(model, rows, columns, gap, chains, seed, session, clock)
    seen = _measure(
        model, rows, columns, datasets, chosen, chains, parameters, seed, session, clock
    )
    known, lower, upper, point = seen.T
    fail = 1 - confidence
    apart = float(np.mean(upper - lower))
    reason = None
    if len(seen) < datasets:
        reason = f"time was up after {len(seen)} of {datasets} data sets"
    elif not apart <= gap:
        reason = f"bounds are {apart:.2f} apart on average and the goal is {gap:g}"
    return Information(
        model=model_label(model),
        information=_average(known - upper, known - lower, known - point, confidence),
        entropy=_average(-upper, -lower, -point, confidence),
        about="state and parameters" if parameters else "state",
        certificate=None if within is None else _certificate(-upper, -lower, within, fail),
        within=within,
        datasets=len(seen),
        mean_gap=apart,
        distributions=chosen.effort,
        chains=chosen.chains,
        log_likelihoods=tuple(known.tolist()),
        lowers=tuple(lower.tolist()),
        uppers=tuple(upper.tolist()),
        seed=seed,
        converged=reason is None,
        reason=reason,
        target=gap,
        seconds=Seconds(clock.run, clock.compile),
    )


def _decide(model, rows, columns, gap, chains, seed, session, clock) -> Plan:
    """Effort and chains that should do, by a sandwich that is not counted; kept for a resume."""
    kept = session.restore("decision")
    if kept is not None:
        return Plan(*(int(value) for value in kept[1][0]))
    own = seed_of(seed, DATASETS, 0)
    with session.working("deciding on a data set of its own"):
        data = simulate(model, rows, columns, own)
        found = sandwich(model, data, gap=gap, chains=chains, seed=own)
    clock.run += found.seconds.run
    clock.compile += found.seconds.compile
    if session.checkpoint is not None:
        session.save("decision", 1, [np.array([found.distributions, found.chains])])
    session.progress.note(
        f"decided: {found.distributions:,} distributions x {found.chains:,} chains, both ways, on"
        " every data set"
    )
    return Plan(found.distributions, found.chains)


def _measure(model, rows, columns, datasets, chosen, chains, parameters, seed, session, clock):
    """(data sets, 4): log p(y | x), lower, upper and Bennett's estimate of log p(y)."""

    def measure(number: int) -> tuple[float, float, float, float]:
        own = seed_of(seed, DATASETS, number + 1)  # 0 is the one to decide on
        data = simulate(model, rows, columns, own)
        look = both_bounds(model, data, chosen, chains, own, clock)
        point = bennett(np.array(look.forward), np.array(look.reverse)).log_ml
        return _log_likelihood(model, data, parameters), look.lower, look.upper, point

    return over_data_sets(measure, datasets, session, lambda row: row[0] - row[3])


def both_bounds(model: Model, data: Data, chosen: Plan, chains: int, seed: int, clock: Clock):
    """One measurement of simulated data at settings fixed before; see ``BothWays.look``."""
    ready = prepare(model, data.y, seed=seed, chains=chains)
    path = Tempered() if ready.schedule is None else Tempered(ready.schedule)
    runs = BothWays(
        ready.model,
        data.y,
        path,
        1,
        1,
        chains,
        seed,
        Session(),
        exact=ready.adopt(data.exact),
        start_noise=ready.start_noise,
    )
    return runs.look(chosen, 1, clock)


def _log_likelihood(model: Model, data: Data, parameters: bool) -> float:
    """log p(y | x) at the x that made y."""
    with double_precision():
        ones = jnp.ones(model.num_rows(data.y))
        if parameters:
            assert isinstance(model, Collapsed)
            own, y = data.parameters, jnp.asarray(data.y)
            up, down = (
                model.log_joint(data.exact, own, y, row) for row in (ones, jnp.zeros_like(ones))
            )
            return float(up - down)
        return float(model.log_increment(data.exact, data.y, ones, jnp.zeros_like(ones)))


def _average(low, high, point, confidence: float) -> Average:
    """Ends by Student's t, each with half of the failure probability."""
    below, above, middle = (mean_interval(values, confidence) for values in (low, high, point))
    return Average(
        lower=below.mean,
        upper=above.mean,
        low=below.low,
        high=above.high,
        confidence=confidence,
        estimate=middle.mean,
        standard_error=middle.error,
    )


def _certificate(low, high, within, fail: float) -> Certificate:
    """Betting on bounds cut to a range; see the module."""
    least, most = within
    wide = most - least + BEYOND
    cost = math.exp(-BEYOND)
    low = (np.clip(low, least - BEYOND, most) - (least - BEYOND)) / wide
    high = (np.clip(high, least, most + BEYOND) - least) / wide
    with np.errstate(divide="ignore"):
        below, above = np.log(low), np.log(high)
    return Certificate(
        1 - fail,
        least - BEYOND + wide * math.exp(betting_bound(below, fail / 2)) - cost,
        least + wide * math.exp(bounded_mean_bound(above, fail / 2)) + cost,
    )
