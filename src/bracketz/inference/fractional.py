"""Fractional and intrinsic Bayes factors: the evidence of all data over that of training data.

With Z(r) = integral of p(x) prod_i p(y_i | x)^(r_i) dx the quantity is D = log Z(1) - log Z(r). For
r = b it is what a fractional Bayes factor compares (O'Hagan 1995), for r the indicator of some rows
log p(the others | these), what an intrinsic one does (Berger and Pericchi 1996). Rows r and 1 lie
on one path (``paths.through``), so one run shows both.

x is all of a model's variables. Where rows have latent variables of their own (the assignments of a
clustering), a power b on p(y_i | z_i, theta) is not one on p(y_i | theta) = sum of p(z_i) p(y_i |
z_i, theta), which O'Hagan raises: with K clusters far apart the two differ by (1 - b) log K per
row. Rows of zeros and ones mean the same in both.

**Above, certified.** Down from an exact posterior sample to row r the weights v average to
Z(r) / Z(1), whatever r is: -log v is a stochastic upper bound on D, and Markov's inequality bounds
it (the chains share one sample). No sample at row r is needed.

**Below.** log Z(1) has a certified lower bound L from the forward weights. What is missing is an
upper bound on log Z(r), which asks for an exact sample of p(x) prod_i p(y_i | x)^(r_i).

- Rows of zeros and ones: the x that made all data made the training rows, and given these alone it
  is an exact sample of theirs. So a sandwich of the training rows, of which nothing may know the
  other rows, has a certified upper bound U, and L - U is one below D. (The probability is over x
  and the other rows given the training rows; a union bound joins it to the rest. The same x at row
  r as the beginning of a run *up* to 1 would give nothing: that run looks at the other rows, given
  which x does not follow the training posterior.)
- A fraction b: no such sample is at hand. Two things are. log Z(b) is convex in b (it is a
  cumulant generating function) and log Z(0) = 0, so log Z(b) <= b log Z(1) and D >= (1 - b) log
  Z(1) >= (1 - b) L: certified, and far away as a rule. And states of coupled forward chains at row
  b (``inference.procedure``) give an upper bound on log Z(b) that is *conditional* on these chains
  having found what matters: L - U is as sharp as the other side then, and no certificate.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bracketz.core.betting import betting_bound
from bracketz.core.model import Model
from bracketz.core.results import Certificate, Combine, Seconds, check_confidence, lower_share
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least, require_efforts
from bracketz.core.weights import log_mean, shared_start_error
from bracketz.data.dataset import Data, as_data
from bracketz.data.identity import model_label
from bracketz.engine.marks import Marked
from bracketz.engine.run import compile_together
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.answer import Sandwich
from bracketz.inference.both_ways import BothWays
from bracketz.inference.evidence import observed
from bracketz.inference.interval import Evidence, Interval
from bracketz.inference.ladder import Clock, batches
from bracketz.inference.plan import Plan, converged, plan
from bracketz.inference.procedure import Settings
from bracketz.inference.ratio import Fractional, Side
from bracketz.inference.sandwich import sandwich
from bracketz.models.factored import require_rows
from bracketz.models.prepared import prepare
from bracketz.models.raised import raised
from bracketz.paths.through import Through

#: Keeps the choice of training rows, and the runs on them, apart from every other run's randomness.
TRAINING = 0x7EA1


class Legs(NamedTuple):
    """One measurement: log-weights of each chain, at the training row and at the end."""

    forward_mark: np.ndarray  # E exp = Z(r)
    forward: np.ndarray  # E exp = Z(1)
    reverse_mark: np.ndarray  # E exp(-.) = Z(r) / Z(1)
    reverse: np.ndarray  # E exp(-.) = 1 / Z(1)


@dataclass(frozen=True)
class Marking(BothWays):
    """Runs in both directions that keep their weights at the corner of a ``Through`` path."""

    @property
    def records(self):
        return False

    def recorded(self, program):
        return Marked(program, program.path.corner)

    def measure(self, chosen: Plan, clock: Clock) -> Legs:
        """Both directions, batch by batch, with randomness that nothing else has used."""
        path, *programs = self.programs(chosen.effort)
        found: list[np.ndarray] = []
        for name, program in zip(("lower", "upper"), programs, strict=True):
            streams = batches(f"{name} {chosen.effort}", chosen.chains // self.chains)
            outcomes = [self.run(program, path.num_edges, s, clock) for s in streams]
            found.append(program.sign * np.concatenate([o.carry.mark for o in outcomes]))
            found.append(np.concatenate([o.log_values for o in outcomes]))
        return Legs(*found)


def fractional(
    model: Model,
    data,
    *,
    fraction: float | None = None,
    training=None,
    gap: float = 1.0,
    chains: int = 25,
    seed: int = 0,
    confidence: float = 0.9,
    first: int | None = None,
    max_effort: int | None = None,
    session: Session | None = None,
) -> Fractional:
    """Bracket log Z(1) - log Z(r) of simulated data: evidence of all data, less that of training.

    r is a power of the likelihood (``fraction``, for fractional Bayes factors) or some of the rows
    (``training``, for intrinsic ones). The upper bound is certified. The lower one is certified for
    training rows; for a fraction it is conditional, and what is certified there is (1 - fraction)
    times a lower bound on the log evidence, by convexity (``bracketz.inference.fractional`` has the
    proofs). The path begins at the prior: a fitted reference would make other rows. Of a model with
    latent variables per row, ``fraction`` is a power of the likelihood given these, which is not
    O'Hagan's fraction.

    On observed data nothing here is certified from above: take ``evidence`` of the model and of
    ``raised(model, fraction)``, both conditional.

    Args:
        model: the model that made the data.
        data: from ``simulate`` (or ``load``).
        fraction: the power b of the training data, inside (0, 1).
        training: how many rows to train on, chosen by the seed, or the rows themselves (numbers
            from 0).
        gap: between the bounds, to aim at (nats).
        chains: in each direction, at the least.
        seed: everything random follows from it.
        confidence: of the certificate, and of the conditional interval.
        first: distributions of the ladder's first rung.
        max_effort: distributions at the most.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        Both bounds, each with what it rests on, and both evidences.

    Raises:
        InputError: observed data, both or neither of ``fraction`` and ``training``, or a value out
            of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> answer = bz.fractional(model, data, training=2, gap=4.0, chains=4)
        >>> answer.kind.lower, answer.kind.upper
        ('certified', 'certified')
    """
    data = as_data(data, model)
    check_seed(seed)
    check_confidence(confidence)
    if isinstance(model, Undirected) or not data.simulated:
        raise InputError(
            "bounds on this ratio need simulated data with their exact sample; on observed data"
            " take bracketz evidence of the model and of bracketz.raised(model, fraction)"
        )
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    require_at_least(2, chains=chains)
    require_efforts(first, max_effort, least=3)
    row, rows = _row(model, data, fraction, training, seed)
    session, clock = session or Session(), Clock()
    # First: neither its effort nor the time it finds left may follow from the rows it leaves out.
    trained = _training(model, data, row, rows, gap, confidence, chains, seed, session)
    with session.working("pilot"):
        ready = prepare(model, data.y, seed=seed, reference=False, note=session.progress.note)
    path = Through.along(row, ready.schedule)
    runs = Marking(
        ready.model,
        data.y,
        path,
        1,
        1,
        chains,
        seed,
        session,
        prefix="all: ",
        exact=ready.adopt(data.exact),
        start_noise=ready.start_noise,
    )
    # Two runs share what is asked for.
    chosen = _decide(runs, 0.5 * gap, first, max_effort, clock)
    session.must_finish = True
    legs = runs.measure(chosen, clock)
    session.must_finish = False
    return _answer(model, row, rows, legs, trained, runs, chosen, confidence, gap, clock)


def _row(model: Model, data: Data, fraction, training, seed: int):
    """The training row, and which data points it lets in; () for a fraction."""
    if (fraction is None) == (training is None):
        raise InputError("say what to train on: either `fraction`, a power, or `training`, rows")
    if fraction is not None:
        if not 0 < fraction < 1:
            raise InputError(f"`fraction` must lie inside (0, 1), got {fraction}")
        return np.full(model.num_rows(data.y), float(fraction)), ()
    require_rows(model, data.y)
    count = model.num_rows(data.y)
    if np.ndim(training) == 0:
        if not 1 <= int(training) < count:
            raise InputError(f"`training` must be from 1 to {count - 1} rows, got {training}")
        chosen = np.random.default_rng([seed, TRAINING]).permutation(count)[: int(training)]
    else:
        chosen = np.asarray(training, dtype=int)
        if len(set(chosen.tolist())) < len(chosen) or not 1 <= len(chosen) < count:
            raise InputError(f"`training` must name from 1 to {count - 1} different rows")
        if not np.all((chosen >= 0) & (chosen < count)):
            raise InputError(f"rows of `training` are numbered from 0 to {count - 1}")
    row = np.zeros(count)
    row[chosen] = 1.0
    return row, tuple(sorted(chosen.tolist()))


def _decide(runs: Marking, gap: float, first, max_effort, clock: Clock) -> Plan:
    """As a sandwich decides: by forward runs alone."""
    top = max_effort or max(runs.path.last_effort, first or 0)
    effort = first or min(runs.path.first_effort, top)
    runs.session.must_finish = True
    clock.compile += compile_together(runs.programs(effort)[1:], chains=runs.chains)
    if effort == top:
        return Plan(effort, runs.chains)
    rungs = runs.climb(effort, top, gap, clock)
    least = max(3, effort // 2)
    chosen = plan([r.seen for r in rungs], gap, runs.chains, True, least, top)
    return runs.in_time(chosen, least, clock)


def _training(
    model, data, row, rows, gap, confidence, chains, seed, session
) -> Sandwich | Evidence:
    """log Z(r) on its own: by the exact sample, or by coupled chains."""
    other = int(np.random.default_rng([seed, TRAINING, 1]).integers(1 << 31))
    trained = raised(model, row)
    if rows:
        # Nothing here may depend on the rows left out: given them x is no sample of these.
        return sandwich(
            trained,
            Data(data.y, data.exact),
            gap=0.5 * gap,
            chains=chains,
            seed=other,
            reference=False,
            session=session,
        )
    halved = 0.5 * (1 + confidence)
    settings = Settings(gap=0.5 * gap, confidence=halved, seed=other)
    return observed(trained, data.y, settings, session, prefix="training: ")


def _answer(model, row, rows, legs, trained, runs, chosen, confidence, gap, clock) -> Fractional:
    whole_low, whole_low_error = Combine.ARITHMETIC(legs.forward)
    upper, own_error = Combine.HARMONIC(legs.reverse_mark)
    climbed = legs.forward - legs.forward_mark  # of the second leg, chain by chain
    upper_error = math.hypot(
        own_error, shared_start_error(climbed, legs.reverse_mark, True), runs.start_noise
    )
    fail = 1 - confidence
    below = fail * lower_share(len(legs.forward))
    certain = betting_bound(legs.forward, below)
    interval = None
    if rows:
        assert isinstance(trained, Sandwich)
        each = (fail - below) / 2
        kind = Side("certified", "certified")
        low, high = certain - (trained.upper - math.log(each)), upper - math.log(each)
    else:
        assert isinstance(trained, Evidence)
        there = trained.upper is not None
        kind = Side("conditional" if there else None, "certified")
        # Z(b) > 0, so 0 >= log Z(b) - b log Z(1): convexity, with log Z(0) = 0.
        low, high = (1 - float(row[0])) * certain, upper - math.log(fail - below)
        if trained.interval.high is not None:
            # The other half is the interval's of Z(b).
            interval = Interval(
                confidence, certain - trained.interval.high, upper - math.log(fail / 2 - below)
            )
    lower = lower_error = None
    if trained.upper is not None and trained.upper_error is not None:
        lower = whole_low - trained.upper
        lower_error = math.hypot(whole_low_error, trained.upper_error)
    forwards = whole_low - log_mean(legs.forward_mark)
    noise = math.hypot(upper_error, lower_error or whole_low_error)
    met = lower is not None and converged(upper - lower, noise, gap)
    reason = None
    if lower is None:
        reason = "there is no upper bound on the evidence of the training data: " + (
            trained.reason or ""
        )
    elif not met:
        reason = f"the bounds are {upper - lower:.2f} ± {noise:.2g} apart and the goal is {gap:g}"
    return Fractional(
        model=model_label(model),
        fraction=None if rows else float(row[0]),
        training=rows or None,
        lower=lower,
        upper=upper,
        lower_error=lower_error,
        upper_error=upper_error,
        log_ratio=0.5 * (forwards + upper),
        standard_error=math.hypot(0.5 * (upper - forwards), 0.5 * noise),
        kind=kind,
        certificate=Certificate(confidence, low, high),
        certified_by="exact sample" if rows else "convexity",
        interval=interval,
        whole=Interval(confidence, whole_low, -log_mean(-legs.reverse)),
        trained=Interval(confidence, log_mean(legs.forward_mark), trained.upper),
        distributions=chosen.effort,
        chains=chosen.chains,
        seed=runs.seed,
        converged=met,
        reason=reason,
        target=gap,
        seconds=Seconds(clock.run + trained.seconds.run, clock.compile + trained.seconds.compile),
    )
