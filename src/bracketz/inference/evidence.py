"""Observed data: a certified lower bound, an upper bound with its condition, and twins.

1. A ladder of forward runs decides how long runs must be for the chains of
   ``bracketz.inference.coupling`` to meet, and how many proposals each of them takes.
2. P n fresh forward runs: their weights average to p(y), so betting certifies a lower bound. In
   groups of n they are the proposals of P independent chains, whose ends are nearly posterior
   states. Where these are too far off, P / 2 chains of 2 n proposals are taken, and so on down to
   one.
3. Reverse runs from these ends. From exact and independent posterior states v_i, the mean of 1 / w
   over the runs from one of them, are independent with mean 1 / p(y), and betting gives L with
   Pr(L > log E v) <= a, hence Pr(log p(y) > -L) <= a. The ends' joint law is within P e of that, so
   the upper bound -L fails with probability at most a + P e.

Of a failure probability d, 0.2 d is for the lower side, P e may take up to 0.5 d, and a is 0.3 d,
whatever e turns out to be: a level that followed from the weights would not be one. Where the
estimate of P e is more than that even for one chain, there is no upper bound. Which number of
chains is taken depends on the weights, so every number has a share of a: two thirds the first.
The estimate of e is the condition (``interval.CONDITION``).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.betting import betting_bound
from bracketz.core.model import Model, State
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Combine, LowerCertificate, Seconds, check_confidence
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import PointEstimate, bennett, log_mean, normalised
from bracketz.data.dataset import as_data
from bracketz.data.identity import model_label
from bracketz.engine.anneal import Particles, Reverse
from bracketz.engine.run import compile_together
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.coupling import LENGTHS, Meetings, couple, expected_distance
from bracketz.inference.interval import (
    CONDITION,
    Coupled,
    Evidence,
    Interval,
    Twin,
    Twins,
)
from bracketz.inference.ladder import Clock, Runs, batches
from bracketz.inference.plan import PREDICTABLE, Seen, converged, plan, scaled, spread
from bracketz.models.factored import Prepared
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered

#: Shares of the failure probability: of the lower side; what the distance may take; what a plan
#: lets it take. The rest is the upper side's.
BELOW, MOST_FAR, AIM_FAR = 0.2, 0.5, 0.1
#: Of the upper side's share, for as many chains as were asked for; fewer have the rest in equal
#: parts.
FIRST = 2 / 3
#: Forward runs of a batch, per chain; a divisor of every number of proposals.
BATCH = min(LENGTHS)
#: Proposals per chain where there is nothing to plan by.
DEFAULT_LENGTH = 32
#: Keeps the uniforms of coupled chains, and twins, apart from every run's randomness.
UNIFORMS, TWINS = 0xC0, 0x7717


class Design(NamedTuple):
    """What a measurement is made of."""

    effort: int
    length: int  # proposals per chain


@pytree_dataclass
class FromEnds(Reverse):
    """Reverse runs, of which ``each`` in a row begin at one of several states; ``exact`` has them
    along its leading axis."""

    particles: int = static(default=1)
    each: Any = 1

    def start_of(self, key, chain):
        count = jax.tree.leaves(self.exact)[0].shape[0]
        mine = jnp.minimum(chain // self.each, count - 1).astype(int)
        states = jax.tree.map(lambda a: jnp.asarray(a)[mine][None], self.exact)
        return Particles(self.settled(key, states), jnp.zeros(1))


class Measured(NamedTuple):
    """One data set, measured."""

    forward: np.ndarray
    meetings: Meetings
    states: State  # where forward runs ended, leading axis runs
    reverse: np.ndarray  # empty: there is no upper bound
    lower: float
    lower_error: float
    upper: float | None
    upper_error: float | None
    point: PointEstimate
    interval: Interval

    @property
    def ends(self) -> State:
        """Where the coupled chains stand in the end."""
        return jax.tree.map(lambda a: a[self.meetings.ends], self.states)


def evidence(
    model: Model,
    data=None,
    *,
    gap: float = 1.0,
    twins: int = 0,
    starts: int = 16,
    chains: int = 64,
    confidence: float = 0.95,
    seed: int = 0,
    reference: bool | None = None,
    first: int | None = None,
    max_effort: int | None = None,
    session: Session | None = None,
) -> Evidence:
    """The log evidence of observed data from both sides, each with what it rests on.

    The lower bound is certified on any data. The upper bound comes from reverse runs that begin at
    states of coupled chains (``bracketz.inference.coupling``), and is conditional on the forward
    runs having found every region of the posterior that matters. Where these chains do not meet
    there is none, and ``reason`` says what it would take. Twins show how the same procedure does
    on data like these.

    Args:
        model: any.
        data: the observations; None: those the model was made with. An exact sample that simulated
            data bring along is not looked at.
        gap: between the bounds, to aim at (nats).
        twins: data sets to simulate at the fitted parameters and put through the same procedure.
        starts: coupled chains; each takes some proposals, each a forward run.
        chains: reverse runs, in equal parts from the ends of the coupled chains.
        confidence: of the certificate and of the interval.
        seed: everything random follows from it.
        reference: begin at a fitted reference (True), at the prior (False), or wherever the path is
            shorter (None); see ``prepare``.
        first: distributions of the ladder's first rung; 32 by default.
        max_effort: distributions at the most.
        session: time budget (soft: the measurement is made to fit), checkpoint and progress.

    Returns:
        Both sides, the point estimate, meeting times and twins.

    Raises:
        InputError: a value out of range, or data the model cannot describe.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.evidence(model, bz.simulate(model, rows=6, columns=2).y, gap=2.0)
        >>> answer.interval.low < answer.log_ml < answer.interval.high
        True
    """
    return observed(
        model,
        as_data(data, model).y,
        Settings(gap, twins, starts, chains, confidence, seed, reference, first, max_effort),
        session or Session(),
    )


@dataclass(frozen=True)
class Settings:
    """What ``evidence`` is told beside the model and the data; see there."""

    gap: float = 1.0
    twins: int = 0
    starts: int = 16
    chains: int = 64
    confidence: float = 0.95
    seed: int = 0
    reference: bool | None = None
    first: int | None = None
    max_effort: int | None = None

    def __post_init__(self):
        check_seed(self.seed)
        check_confidence(self.confidence)
        if not self.gap > 0:
            raise InputError(f"gap must be positive, got {self.gap}")
        require_at_least(2, starts=self.starts)
        require_at_least(0, twins=self.twins)
        if self.chains < self.starts:
            raise InputError(
                f"`chains` must be at least `starts`, {self.starts}, got {self.chains}"
            )


def observed(model: Model, y, settings: Settings, session: Session, prefix: str = "") -> Evidence:
    """``evidence`` of data as the model wants them; ``prefix`` begins the names of all streams."""
    clock, first, twins = Clock(), settings.first, settings.twins
    procedure = Procedure(model, settings, session, prefix)
    ready, runs = procedure.begin(y)
    top = settings.max_effort or max(runs.path.last_effort, first or 0)
    low = first or min(runs.path.first_effort, top, ready.first_effort)
    runs.path.at(low, runs.model, runs.model.num_rows(y), 1)  # refuse before the work
    session.must_finish = True
    design = procedure.decide(runs, low, top, clock)
    session.must_finish = True
    found = procedure.measure(runs, design, clock)
    seen = None
    if twins:
        seen = procedure.twins(y, ready, found, design, twins, clock)
    session.must_finish = False
    reason = procedure.reason(found, design)
    m = found.meetings
    there = found.upper is not None
    return Evidence(
        model=model_label(model),
        lower=found.lower,
        lower_error=found.lower_error,
        upper=found.upper,
        upper_error=found.upper_error,
        log_ml=found.point.log_ml,
        standard_error=found.point.standard_error,
        kind="conditional" if there else "certified",
        condition=CONDITION if there else None,
        certificate=LowerCertificate.from_weights(found.forward, settings.confidence),
        interval=found.interval,
        meetings=Coupled(m.pairs, m.met, m.mean, m.max, m.lag, m.length),
        total_variation=m.total_variation,
        starts=m.pairs,
        twins=seen,
        reference="fitted" if ready.begins_at == "reference" else "prior",
        distributions=runs.laid(design.effort)[0].num_edges + 1,
        chains=len(found.forward),
        reverse_chains=len(found.reverse),
        seed=settings.seed,
        converged=reason is None,
        reason=reason,
        target=settings.gap,
        preparation=ready.told(),
        posterior=_means(model, ready, found),
        log_weights=tuple(found.forward.tolist()),
        reverse_log_weights=tuple(found.reverse.tolist()),
        seconds=Seconds(clock.run, clock.compile),
    )


def _filled(states: np.ndarray, count: int) -> np.ndarray:
    """With the last one repeated, so that one compiled program serves any number of states."""
    return np.concatenate([states, np.repeat(states[-1:], count - len(states), axis=0)])


def _means(model: Model, ready: Prepared, found: Measured) -> dict[str, Any]:
    """Of what the model has a name for, by the weights of the forward runs."""
    with double_precision():
        named = model.summary(jax.vmap(ready.restore)(found.states))
    weights = normalised(found.forward)
    return {name: np.tensordot(weights, np.asarray(a), 1).tolist() for name, a in named.items()}


@dataclass(frozen=True)
class Procedure:
    """What is done with a data set, real or a twin."""

    model: Model
    settings: Settings
    session: Session
    prefix: str = ""

    @property
    def starts(self) -> int:
        """Coupled chains."""
        return self.settings.starts

    @property
    def each(self) -> int:
        """Reverse runs per start."""
        return self.settings.chains // self.settings.starts

    @property
    def confidence(self) -> float:
        """Of an interval."""
        return self.settings.confidence

    @property
    def gap(self) -> float:
        """To aim at."""
        return self.settings.gap

    @property
    def fail(self) -> float:
        """Failure probability of an interval."""
        return 1 - self.confidence

    def begin(self, y, prefix: str = "", seed: int | None = None) -> tuple[Prepared, Runs]:
        """The model made ready, and its forward runs."""
        seed, prefix = self.settings.seed if seed is None else seed, self.prefix + prefix
        with self.session.working(f"{prefix}pilot"):
            ready = prepare(
                self.model,
                y,
                seed=seed,
                reference=self.settings.reference,
                chains=BATCH * self.starts,
                note=self.session.progress.note,
            )
        path = Tempered() if ready.schedule is None else Tempered(ready.schedule)
        runs = Runs(ready.model, y, path, 1, 1, BATCH * self.starts, seed, self.session, prefix)
        return ready, runs

    def decide(self, runs: Runs, low: int, top: int, clock: Clock) -> Design:
        """Climb the ladder, and choose."""
        if low == top:
            return Design(top, DEFAULT_LENGTH)
        programs = [runs.forward(low)[1]]
        clock.compile += compile_together(programs, chains=runs.chains)
        rungs = runs.climb(low, top, self.gap, clock)
        if not rungs:
            return Design(low, DEFAULT_LENGTH)
        seen = [rung.seen for rung in rungs]
        chosen = Design(seen[-1].effort, DEFAULT_LENGTH)
        if seen[-1].spread <= 2 * PREDICTABLE:
            least = max(low // 2, 2)
            chosen = self.cheapest(scaled(seen), least, top)
            narrow = plan(seen, self.gap, self.starts * self.each, True, least, top)
            chosen = chosen._replace(effort=max(chosen.effort, narrow.effort))
        seconds = chosen.effort * self.runs_of(chosen) * clock.per_step
        if seconds > self.session.remaining():
            share = max(self.session.remaining(), 0.0) / seconds
            chosen = chosen._replace(effort=max(low, int(share * chosen.effort)))
        self.session.progress.note(
            f"decided: {chosen.effort:,} distributions x {self.starts * chosen.length:,} forward"
            f" and {self.starts * self.each:,} reverse runs"
        )
        return chosen

    def runs_of(self, design: Design) -> int:
        """Forward and reverse ones."""
        return self.starts * (design.length + self.each)

    def cheapest(self, scale: float, least: int, top: int) -> Design:
        """Runs and proposals for which chains should come near enough to the posterior: the spread
        of a log-weight is ``scale`` / edges."""
        allowed = AIM_FAR * self.fail / self.starts
        options = []
        for length in LENGTHS:
            low, high = least - 1, top
            while high - low > 1:
                middle = (low + high) // 2
                enough = expected_distance(scale / max(middle - 1, 1), length) <= allowed
                low, high = (low, middle) if enough else (middle, high)
            options.append(Design(high, length))
        return min(options, key=lambda design: design.effort * self.runs_of(design))

    def measure(self, runs: Runs, design: Design, clock: Clock) -> Measured:
        """Forward runs, coupled chains, reverse runs."""
        path, forward = runs.forward(design.effort)
        count = self.starts * design.length
        outcomes = [
            runs.run(forward, path.num_edges, stream, clock)
            for stream in batches(f"forward {design.effort}", -(-count // runs.chains))
        ]
        log_w = np.concatenate([outcome.log_values for outcome in outcomes])[:count]
        lower, lower_error = Combine.ARITHMETIC(log_w)
        meetings, allowed = self.chains(log_w, design.length, runs.seed)
        carries = [o.carry.particles if runs.records else o.carry for o in outcomes]
        states = jax.tree.map(
            lambda *parts: np.concatenate(parts)[:count, 0], *[c.states for c in carries]
        )
        below = betting_bound(log_w, self.fail)
        found = Measured(
            forward=log_w,
            meetings=meetings,
            states=states,
            reverse=np.zeros(0),
            lower=lower,
            lower_error=lower_error,
            upper=None,
            upper_error=None,
            point=PointEstimate(lower, lower_error),
            interval=Interval(self.confidence, below, None),
        )
        if allowed is None:
            return found
        reverse = self.reverse(runs, design, found.ends, "reverse", clock)
        per_start = self.per_start(reverse, meetings.pairs)
        above = -betting_bound(-per_start, allowed)
        upper, upper_error = Combine.HARMONIC(per_start)
        return found._replace(
            reverse=reverse,
            upper=upper,
            upper_error=upper_error,
            point=bennett(log_w, reverse, shared_start=len(per_start) < len(reverse)),
            interval=Interval(self.confidence, betting_bound(log_w, BELOW * self.fail), above),
        )

    def chains(
        self, log_weights: np.ndarray, length: int, seed: int
    ) -> tuple[Meetings, float | None]:
        """Coupled chains near enough to the posterior, as many as can be had, and the failure
        probability of the runs from their ends; None: not even one is."""
        halvings = self.starts.bit_length()
        for number in range(halvings):
            length_now = len(log_weights) // max(self.starts >> number, 1)
            rng = np.random.default_rng([seed, UNIFORMS, number])
            meetings = couple(log_weights, length_now, rng)
            far = meetings.pairs * meetings.total_variation
            if far <= MOST_FAR * self.fail:
                share = FIRST if number == 0 else (1 - FIRST) / (halvings - 1)
                return meetings, share * (1 - BELOW - MOST_FAR) * self.fail
        return meetings, None

    def reverse(self, runs: Runs, design: Design, states, stream: str, clock: Clock) -> np.ndarray:
        """Log values of reverse runs, as many from every state."""
        path, common = runs.laid(design.effort)
        chains = self.starts * self.each
        each = np.int64(chains // len(jax.tree.leaves(states)[0]))
        padded = jax.tree.map(lambda a: _filled(a, self.starts), states)
        program = FromEnds(runs.model, runs.y, path, padded, *common, each=each)
        name = f"{stream} {design.effort}"
        return runs.run(program, path.num_edges, name, clock, chains).log_values

    def twins(
        self, y, ready: Prepared, found: Measured, design: Design, count: int, clock: Clock
    ) -> Twins:
        """The same on data like these, without telling it the sample; and runs of their own, from
        the sample too, that know the truth. What was decided for the real data is not decided
        again."""
        each = []
        for number in range(1, count + 1):
            key = jax.random.key(self.settings.seed, impl="threefry2x32")
            key = jax.random.fold_in(jax.random.fold_in(key, TWINS), number)
            with double_precision():
                end = jax.tree.map(lambda a, k=number: a[k % len(a)], found.ends)
                twin = self.model.twin(key, ready.restore(end), y)
                exact, data = jax.tree.map(np.asarray, twin)
            seed = int(np.random.default_rng([self.settings.seed, TWINS, number]).integers(1 << 31))
            own, runs = self.begin(data, f"twin {number}: ", seed)
            seen = self.measure(runs, design, clock)
            states = jax.tree.map(
                lambda a: np.stack([np.asarray(a)] * self.starts), own.adopt(exact)
            )
            path, forward = runs.forward(design.effort)
            ahead = runs.run(forward, path.num_edges, f"truth, forward {design.effort}", clock)
            back = self.reverse(runs, design, states, "truth, reverse", clock)
            truth = bennett(ahead.log_values, back)
            each.append(
                Twin(
                    seen.interval.low,
                    seen.interval.high,
                    seen.point.log_ml,
                    truth.log_ml,
                    truth.standard_error,
                )
            )
            self.session.progress.note(
                f"{self.prefix}twin {number} of {count}: {each[-1].log_ml - truth.log_ml:+.2f} off"
            )
        return Twins(tuple(each), self.model.twin_told)

    def per_start(self, log_values: np.ndarray, starts: int) -> np.ndarray:
        """-log of the mean of 1 / w over the runs from each of so many states."""
        begun = np.minimum(np.arange(len(log_values)) // (len(log_values) // starts), starts - 1)
        return np.array([-log_mean(-log_values[begun == k]) for k in range(starts)])

    def reason(self, found: Measured, design: Design) -> str | None:
        """Why the answer is not what was asked for; None where it is."""
        if found.upper is None or found.upper_error is None:
            said = (
                f"by the weights even one chain of {found.meetings.length:,} proposals may end"
                f" {found.meetings.total_variation:.2g} from the posterior in total variation, and"
                f" an interval of {self.confidence:.0%} can afford {MOST_FAR * self.fail:.2g}"
            )
            wide = spread(found.forward)
            if wide > 2 * PREDICTABLE:
                return said + "; runs this short do not tell how long they must be"
            seen = Seen(design.effort, wide, len(found.forward))
            wanted = self.cheapest(scaled([seen]), 2, 1 << 40)
            return said + (
                f"; about {wanted.effort:,} distributions x {self.starts * wanted.length:,} forward"
                " runs should do"
            )
        apart = found.upper - found.lower
        noise = math.hypot(found.lower_error, found.upper_error)
        if converged(apart, noise, self.gap):
            return None
        return f"the bounds are {apart:.2f} ± {noise:.2f} apart and the goal is {self.gap:g}"
