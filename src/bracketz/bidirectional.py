"""Bidirectional Monte Carlo: both directions, more and more effort, until the bounds meet."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from bracketz._version import __version__
from bracketz.anneal import Forward, Resampling, Reverse
from bracketz.answer import Certificate, Combine, Seconds, finite_json
from bracketz.errors import InputError, unknown
from bracketz.loop import compile_together, run
from bracketz.models.base import Model
from bracketz.path import Path, check_tempered, prefix, tempered
from bracketz.schedule import PILOT, Pilot, Recorded, predict, run_pilot, schedule_cost
from bracketz.session import Session
from bracketz.simulation import Data, as_data, check_seed, model_label
from bracketz.weights import bennett

PATHS = ("tempered", "prefix")
FIRST_RUNG = {"tempered": 32, "prefix": 1}
#: On the prefix path even perfect mixing leaves a gap (paper, eqn. shme-theory-terms), so sweeps alone
#: stop helping; more particles or chains, or the tempered path, go further.
LAST_RUNG = {"tempered": 1 << 22, "prefix": 1 << 9}


@dataclass(frozen=True)
class Rung:
    """Both bounds at one level of effort: distributions (tempered) or sweeps a row (prefix)."""

    effort: int
    lower: float
    upper: float
    forward: tuple[float, ...]  # log w, one a chain
    reverse: tuple[float, ...]
    schedule_cost: float | None  # see Split; tempered path with one particle
    seconds_an_edge: float  # all chains, both directions; not a number where nothing was run now

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def single_chain_gap(self) -> float:
        return float(np.mean(self.reverse) - np.mean(self.forward))

    @property
    def split(self) -> "Split | None":
        cost = self.schedule_cost
        return None if cost is None else Split(cost, self.single_chain_gap - cost)

    def predict(self, gap: float) -> "Prediction | None":
        if self.schedule_cost is None or not math.isfinite(self.schedule_cost + self.single_chain_gap):
            return None
        # Noise can push the measured gap below what perfect mixing leaves, but not the effort.
        distributions = predict(max(self.single_chain_gap, self.schedule_cost), gap, self.effort)
        return Prediction(gap, distributions, (distributions - 1) * self.seconds_an_edge)


@dataclass(frozen=True)
class Split:
    """The single-chain gap (the Jeffreys bound) in two parts, in nats: see ``bracketz.schedule``."""

    schedule: float  # perfect mixing would leave this
    mixing: float  # the rest


@dataclass(frozen=True)
class Prediction:
    """What a single-chain gap of ``gap`` takes: distributions, and seconds for all chains in both directions."""

    gap: float
    distributions: int
    seconds: float

    def __str__(self) -> str:
        return f"about {self.distributions:,} distributions, {self.seconds:.1f} s, for a single-chain gap of {self.gap:g}"


@dataclass(frozen=True)
class PilotReport:
    """What the adapted schedule was made from; its seconds are part of the run's."""

    distributions: int
    seconds: float


@dataclass(frozen=True)
class Sandwich:
    """Two-sided answer on simulated data.

    lower, upper: stochastic bounds from all chains. log_ml and standard_error: Bennett's acceptance
    ratio over both directions. certificate: covers log p(y) with the stated confidence for a rung
    fixed in advance; ``anytime`` also pays for having chosen the rung by looking (see docs/sandwich.md).
    jeffreys_bound: mean single-chain gap, which estimates KL(q_F || q_B) + KL(q_B || q_F) and so
    bounds, in expectation, the divergence of the sampler's output from the posterior (nats). split: what of it is
    the schedule's and what the mixing's; predicted: what it would take to bring it to ``target`` (both for the tempered
    path with one particle a chain, else None). pilot: of the adapted schedule.
    """

    model: str
    lower: float
    upper: float
    log_ml: float
    standard_error: float
    certificate: Certificate
    anytime: Certificate
    jeffreys_bound: float
    distributions: int
    chains: int
    seed: int
    converged: bool
    target: float
    path: str
    schedule: str | None
    split: Split | None
    predicted: Prediction | None
    pilot: PilotReport | None
    rungs: tuple[Rung, ...]
    seconds: Seconds
    version: str = __version__

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    def to_json(self) -> dict:
        """The object of ``sandwich --json``."""
        out = dataclasses.asdict(self)
        out["gap"] = self.gap
        out["certificate"]["anytime"] = {"low": self.anytime.low, "high": self.anytime.high}
        del out["anytime"]
        out["rungs"] = [
            {"effort": r.effort, "lower": r.lower, "upper": r.upper, "gap": r.gap} for r in self.rungs
        ]
        return finite_json(out)


@dataclass(frozen=True)
class _Ladder:
    """What does not change between rungs."""

    model: Model
    data: Data
    path: str
    schedule: str
    sweeps: int
    particles: int
    shuffle: int | None
    chains: int
    seed: int
    table: np.ndarray | None = None  # of the adapted schedule

    def adapted(self, distributions: int, session: Session) -> tuple["_Ladder", Pilot]:
        """This ladder on a schedule frozen after a pilot."""
        found = run_pilot(
            lambda path: Forward(self.model, self.data.y, path, self.sweeps),
            lambda path: Reverse(self.model, self.data.y, path, self.data.exact, self.sweeps),
            distributions=distributions, chains=self.chains, seed=self.seed, session=session,
        )  # fmt: skip
        return dataclasses.replace(self, table=found.table), found

    @property
    def records(self) -> bool:
        return self.path == "tempered" and self.particles == 1

    def programs(self, effort: int):
        model, y = self.model, self.data.y
        path: Path
        if self.path == "tempered":
            path, sweeps = tempered(effort, self.schedule, table=self.table), self.sweeps
        else:
            path, sweeps = prefix(model, y.shape[0], shuffle=self.shuffle), effort
        common = (sweeps, Resampling(), self.particles)
        both = Forward(model, y, path, *common), Reverse(model, y, path, self.data.exact, *common)
        return path, *((Recorded(program) for program in both) if self.records else both)

    def climb(self, effort: int, session: Session):
        """Both directions at one effort: (rung or None when time ran out, run and compile seconds)."""
        path, *programs = self.programs(effort)
        outcomes, steps, run_seconds, compile_seconds = [], 0, 0.0, 0.0
        for name, program in zip(("lower", "upper"), programs, strict=True):
            stream = f"{name} {effort}"
            done, _ = session.restore(stream) or (0, None)
            steps += path.num_edges - done
            outcome = run(
                program, path.num_edges, chains=self.chains, seed=self.seed, stream=stream, session=session
            )
            run_seconds += outcome.run_seconds
            compile_seconds += outcome.compile_seconds
            if not outcome.finished:
                return None, run_seconds, compile_seconds
            outcomes.append(outcome)
        forward, reverse = (outcome.log_values for outcome in outcomes)
        rung = Rung(
            effort,
            Combine.ARITHMETIC(forward)[0],
            Combine.HARMONIC(reverse)[0],
            tuple(forward.tolist()),
            tuple(reverse.tolist()),
            schedule_cost(path.num_edges, *outcomes) if self.records else None,
            2 * run_seconds / steps if steps else math.nan,
        )
        return rung, run_seconds, compile_seconds


def sandwich(
    model: Model,
    data,
    *,
    gap: float = 1.0,
    chains: int = 25,
    seed: int = 0,
    confidence: float = 0.9,
    path: str = "tempered",
    schedule: str = "sigmoid",
    sweeps: int = 1,
    particles: int = 1,
    shuffle: int | None = None,
    pilot: int = PILOT,
    first: int | None = None,
    max_effort: int | None = None,
    session: Session | None = None,
) -> Sandwich:
    """Bracket log p(y) of simulated data until upper - lower <= ``gap``.

    Effort (the number of distributions on the tempered path, kernel sweeps a row on the prefix path)
    doubles from rung to rung, each with fresh randomness. The session's time limit is soft: the
    first rung always finishes, and then the last complete rung is the answer, with
    ``converged = False``. Total cost is about twice the last rung's: 2 * chains * effort sweeps each.

    schedule "adapted" first runs ``chains`` chains of ``pilot`` distributions in both directions and freezes the
    schedule their increments suggest (``bracketz.schedule``).
    """
    data = as_data(data, model)
    check_seed(seed)
    if not data.simulated:
        raise InputError(
            "a sandwich needs an exact posterior sample, which observed data do not have; use data from"
            " bracketz simulate, or bracketz estimate for a lower bound"
        )
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    if path not in PATHS:
        raise unknown("path", path, PATHS)
    if chains < 2:
        raise InputError(f"chains must be at least 2 for an error bar, got {chains}")
    for name, value in (("sweeps", sweeps), ("particles", particles)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if path == "tempered":
        check_tempered(first or FIRST_RUNG[path], schedule)
    elif schedule == "adapted":
        raise InputError("schedule adapted is for the tempered path; leave it out, or take --path tempered")
    if pilot < 2:
        raise InputError(f"pilot must be at least 2 distributions, got {pilot}")
    Certificate.from_bounds(0.0, 0.0, confidence)  # refuse a bad confidence before the work
    session = session or Session()
    ladder = _Ladder(model, data, path, schedule, sweeps, particles, shuffle, chains, seed)

    rungs: list[Rung] = []
    piloted = None
    effort = first or FIRST_RUNG[path]
    top = max_effort or LAST_RUNG[path]
    session.must_finish = True
    if schedule == "adapted":
        ladder, found = ladder.adapted(pilot, session)
        run_seconds, compile_seconds = found.run_seconds, found.compile_seconds
        piloted = PilotReport(pilot, found.run_seconds)
    else:
        run_seconds, compile_seconds = 0.0, compile_together(ladder.programs(effort)[1:], chains=chains)
    while True:
        rung, ran, compiled = ladder.climb(effort, session)
        session.must_finish = False
        run_seconds += ran
        compile_seconds += compiled
        if rung is None:
            session.progress.note("time is up: the answer is the last complete rung")
            break
        rungs.append(rung)
        predicted = rung.predict(gap)
        session.progress.note(
            f"{effort:>8,} {'distributions' if path == 'tempered' else 'sweeps a row'}:"
            f"  {rung.lower:.2f} <= log Z <= {rung.upper:.2f}   gap {rung.gap:.2f}"
            + (f"; {predicted}" if predicted and rung.gap > gap else "")
        )
        if rung.gap <= gap:
            break
        if 2 * effort > top:
            session.progress.note(
                f"not beyond {top:,}: raise max-effort"
                + (", or particles, or take the tempered path" if path == "prefix" else "")
            )
            break
        if 2 * ran > session.remaining():
            session.progress.note(
                f"the next rung would take about {2 * ran:.0f} s and {max(0, session.remaining()):.0f} s are left"
            )
            break
        effort *= 2

    last = rungs[-1]
    bar = bennett(np.array(last.forward), np.array(last.reverse))
    looks = len(rungs)
    return Sandwich(
        model=model_label(model),
        lower=last.lower,
        upper=last.upper,
        log_ml=bar.log_ml,
        standard_error=bar.standard_error,
        certificate=Certificate.from_bounds(last.lower, last.upper, confidence),
        # Shares 1/(j (j+1)) over all rungs j = 1, 2, ... sum to 1: valid at any stopping time.
        anytime=Certificate.from_bounds(last.lower, last.upper, confidence, 1 / (looks * (looks + 1))),
        jeffreys_bound=last.single_chain_gap,
        distributions=last.effort if path == "tempered" else data.y.shape[0] + 1,
        chains=chains,
        seed=seed,
        converged=last.gap <= gap,
        target=gap,
        path=path,
        schedule=schedule if path == "tempered" else None,
        split=last.split,
        predicted=last.predict(gap),
        pilot=piloted,
        rungs=tuple(rungs),
        seconds=Seconds(run_seconds, compile_seconds),
    )
