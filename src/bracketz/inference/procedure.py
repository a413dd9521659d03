"""What is done with observed data: a certified lower bound, an upper bound with its condition.

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
from typing import NamedTuple

import jax
import numpy as np

from bracketz.core.betting import betting_bound
from bracketz.core.model import Model, State
from bracketz.core.results import Combine, check_confidence
from bracketz.core.validation import check_seed, require_at_least, require_efforts
from bracketz.core.weights import PointEstimate, bennett, log_mean
from bracketz.engine.anneal import FromStates
from bracketz.engine.run import compile_together
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.coupling import LENGTHS, Meetings, couple, expected_distance
from bracketz.inference.interval import Interval
from bracketz.inference.ladder import Clock, Runs, batches
from bracketz.inference.plan import PREDICTABLE, Seen, converged, plan, scaled, spread
from bracketz.models.factored import Prepared
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered
from bracketz.wording import percent, plus_minus

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
#: Keeps the uniforms of coupled chains apart from every run's randomness.
UNIFORMS = 0xC0


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

    @property
    def each(self) -> int:
        """Reverse runs per start."""
        return self.chains // self.starts

    @property
    def reverse_runs(self) -> int:
        """As many from every start."""
        return self.starts * self.each

    @property
    def fail(self) -> float:
        """Failure probability of an interval."""
        return 1 - self.confidence

    def __post_init__(self):
        check_seed(self.seed)
        check_confidence(self.confidence)
        if not self.gap > 0:
            raise InputError(f"gap must be positive, got {self.gap}")
        require_at_least(2, starts=self.starts)
        require_at_least(0, twins=self.twins)
        require_efforts(self.first, self.max_effort, least=2)
        if self.chains < self.starts:
            raise InputError(
                f"`chains` must be at least `starts`, {self.starts}, got {self.chains}"
            )


class Design(NamedTuple):
    """What a measurement is made of."""

    effort: int
    length: int  # proposals per chain


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


def near_enough(pairs: int, total_variation: float, fail: float) -> bool:
    """Whether the ends of so many chains may begin reverse runs."""
    return pairs * total_variation <= MOST_FAR * fail


def upper_level(number: int, halvings: int, fail: float) -> float:
    """Failure probability of the upper side after ``number`` halvings of ``halvings`` - 1 possible
    ones: with all of them, the lower side's and the distance's, ``fail`` is spent."""
    share = FIRST if number == 0 else (1 - FIRST) / (halvings - 1)
    return share * (1 - BELOW - MOST_FAR) * fail


def _filled(states: np.ndarray, count: int) -> np.ndarray:
    """With the last one repeated, so that one compiled program serves any number of states."""
    return np.concatenate([states, np.repeat(states[-1:], count - len(states), axis=0)])


@dataclass(frozen=True)
class Procedure:
    """What is done with a data set, real or a twin."""

    model: Model
    settings: Settings
    session: Session
    prefix: str = ""

    def begin(self, y, seed: int) -> tuple[Prepared, Runs]:
        """The model made ready, and its forward runs."""
        chains = BATCH * self.settings.starts
        with self.session.working(f"{self.prefix}pilot"):
            ready = prepare(
                self.model,
                y,
                seed=seed,
                reference=self.settings.reference,
                chains=chains,
                note=self.session.progress.note,
            )
        path = Tempered() if ready.schedule is None else Tempered(ready.schedule)
        runs = Runs(ready.model, y, path, 1, 1, chains, seed, self.session, self.prefix)
        return ready, runs

    def decide(self, runs: Runs, low: int, top: int, clock: Clock) -> Design:
        """Climb the ladder, and choose."""
        if low == top:
            return Design(top, DEFAULT_LENGTH)
        programs = [runs.forward(low)[1]]
        clock.compile += compile_together(programs, chains=runs.chains)
        rungs = runs.climb(low, top, self.settings.gap, clock)
        if not rungs:
            return Design(low, DEFAULT_LENGTH)
        seen = [rung.seen for rung in rungs]
        chosen = Design(seen[-1].effort, DEFAULT_LENGTH)
        if seen[-1].spread <= 2 * PREDICTABLE:
            least = max(low // 2, 2)
            chosen = self.cheapest(scaled(seen), least, top)
            narrow = plan(seen, self.settings.gap, self.settings.reverse_runs, True, least, top)
            chosen = chosen._replace(effort=max(chosen.effort, narrow.effort))
        seconds = chosen.effort * self.runs_of(chosen) * clock.per_step
        if seconds > self.session.remaining():
            share = max(self.session.remaining(), 0.0) / seconds
            chosen = chosen._replace(effort=max(low, int(share * chosen.effort)))
        self.session.progress.note(
            f"decided: {chosen.effort:,} distributions x"
            f" {self.settings.starts * chosen.length:,} forward and"
            f" {self.settings.reverse_runs:,} reverse runs"
        )
        return chosen

    def runs_of(self, design: Design) -> int:
        """Forward and reverse ones."""
        return self.settings.starts * (design.length + self.settings.each)

    def cheapest(self, scale: float, least: int, top: int) -> Design:
        """Runs and proposals for which chains should come near enough to the posterior: the spread
        of a log-weight is ``scale`` / edges."""
        allowed = AIM_FAR * self.settings.fail / self.settings.starts
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
        count = self.settings.starts * design.length
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
        below = betting_bound(log_w, self.settings.fail)
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
            interval=Interval(self.settings.confidence, below, None),
        )
        if allowed is None:
            return found
        reverse = self.reverse(runs, design, found.ends, "reverse", clock)
        per_start = self.per_start(reverse, meetings.pairs)
        below = betting_bound(log_w, BELOW * self.settings.fail)
        above = -betting_bound(-per_start, allowed)
        upper, upper_error = Combine.HARMONIC(per_start)
        return found._replace(
            reverse=reverse,
            upper=upper,
            upper_error=upper_error,
            point=bennett(log_w, reverse, shared_start=len(per_start) < len(reverse)),
            interval=Interval(
                self.settings.confidence, betting_bound(log_w, BELOW * self.settings.fail), above
            ),
        )

    def chains(
        self, log_weights: np.ndarray, length: int, seed: int
    ) -> tuple[Meetings, float | None]:
        """Coupled chains near enough to the posterior, as many as can be had, and the failure
        probability of the runs from their ends; None: not even one is."""
        halvings = self.settings.starts.bit_length()
        for number in range(halvings):
            length_now = len(log_weights) // max(self.settings.starts >> number, 1)
            rng = np.random.default_rng([seed, UNIFORMS, number])
            meetings = couple(log_weights, length_now, rng)
            fail = self.settings.fail
            if near_enough(meetings.pairs, meetings.total_variation, fail):
                return meetings, upper_level(number, halvings, fail)
        return meetings, None

    def reverse(self, runs: Runs, design: Design, states, stream: str, clock: Clock) -> np.ndarray:
        """Log values of reverse runs, as many from every state."""
        path, common = runs.laid(design.effort)
        chains = self.settings.reverse_runs
        each = np.int64(chains // len(jax.tree.leaves(states)[0]))
        padded = jax.tree.map(lambda a: _filled(a, self.settings.starts), states)
        program = FromStates(runs.model, runs.y, path, padded, *common, each=each)
        name = f"{stream} {design.effort}"
        return runs.run(program, path.num_edges, name, clock, chains).log_values

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
                f" an interval of {percent(self.settings.confidence)} can afford"
                f" {MOST_FAR * self.settings.fail:.2g}"
            )
            wide = spread(found.forward)
            if wide > 2 * PREDICTABLE:
                return said + "; runs this short do not tell how long they must be"
            seen = Seen(design.effort, wide, len(found.forward))
            wanted = self.cheapest(scaled([seen]), 2, 1 << 40)
            return said + (
                f"; about {wanted.effort:,} distributions x"
                f" {self.settings.starts * wanted.length:,} forward runs should do"
            )
        apart = found.upper - found.lower
        noise = math.hypot(found.lower_error, found.upper_error)
        if converged(apart, noise, self.settings.gap):
            return None
        return (
            f"the bounds are {apart:.2f} {plus_minus(noise)} apart and the goal is"
            f" {self.settings.gap:g}"
        )
