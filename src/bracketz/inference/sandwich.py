"""Bidirectional Monte Carlo: both directions, more and more effort, until the bounds meet."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from bracketz._version import __version__
from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.results import Certificate, Combine, Seconds, finite_json, html_table
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import bennett
from bracketz.data.dataset import Data, as_data
from bracketz.data.identity import model_label
from bracketz.engine.anneal import Forward, Resampling, Reverse
from bracketz.engine.recorder import Recorded, mean_reports
from bracketz.engine.run import compile_together, run_chains
from bracketz.engine.schedule import Pilot, predict, run_pilot, schedule_cost
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.paths import Tempered


@dataclass(frozen=True)
class Rung:
    """Both bounds at one level of effort, in the path's unit (distributions, sweeps per row)."""

    effort: int
    distributions: int
    lower: float
    upper: float
    forward: tuple[float, ...]  # log w, one per chain
    reverse: tuple[float, ...]
    schedule_cost: float | None  # see Split; a path that refines, with one particle
    reports: dict[str, tuple[float, ...]]  # by the kernels, from the prior to the posterior
    seconds_per_edge: float  # all chains, both directions; not a number where nothing was run now

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
        if self.schedule_cost is None or not math.isfinite(
            self.schedule_cost + self.single_chain_gap
        ):
            return None
        # Noise can push the measured gap below what perfect mixing leaves, but not the effort.
        distributions = predict(max(self.single_chain_gap, self.schedule_cost), gap, self.effort)
        return Prediction(gap, distributions, (distributions - 1) * self.seconds_per_edge)


@dataclass(frozen=True)
class Split:
    """The single-chain gap (the Jeffreys bound) in two parts, in nats: see
    ``bracketz.engine.schedule``."""

    schedule: float  # perfect mixing would leave this
    mixing: float  # the rest


@dataclass(frozen=True)
class Prediction:
    """What a single-chain gap of ``gap`` takes: distributions, and seconds for all chains in both
    directions."""

    gap: float
    distributions: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"about {self.distributions:,} distributions, {self.seconds:.1f} s, for a"
            f" single-chain gap of {self.gap:g}"
        )


@dataclass(frozen=True)
class PilotReport:
    """What the adapted schedule was made from; its seconds are part of the run's."""

    distributions: int
    seconds: float


@dataclass(frozen=True)
class Sandwich:
    """A two-sided answer on simulated data.

    Attributes:
        model: name of the model.
        lower, upper: stochastic bounds from all chains.
        log_ml, standard_error: the log evidence by Bennett's acceptance ratio over both directions.
        certificate: covers log p(y) with the stated confidence for a rung fixed in advance.
        anytime: the same, also paying for having chosen the rung by looking (docs/sandwich.md).
        jeffreys_bound: mean single-chain gap, which estimates KL(q_F || q_B) + KL(q_B || q_F) and
            so bounds, in expectation, the divergence of the sampler's output from the posterior
            (nats).
        distributions: of the last rung.
        chains: in each direction.
        seed: everything random followed from it.
        converged: whether the gap reached ``target``.
        target: the gap asked for.
        path, unit, schedule: names of the path, of what its effort counts, and of its schedule.
        split: what of the Jeffreys bound is the schedule's and what the mixing's (for a path that
            refines, with one particle per chain, else None).
        predicted: what it would take to bring the Jeffreys bound to ``target`` (where there is a
            split).
        pilot: of an adapted schedule.
        reports: what the kernels reported (such as "acceptance"), by place from the prior to the
            posterior.
        rungs: every level of effort on the way.
        seconds: run and compile time.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.sandwich(model, bz.simulate(model, rows=6, columns=2), gap=4.0, chains=4)
        >>> answer.certificate.low < answer.log_ml < answer.certificate.high
        True
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
    unit: str
    schedule: str | None
    split: Split | None
    predicted: Prediction | None
    pilot: PilotReport | None
    reports: dict[str, tuple[float, ...]]
    rungs: tuple[Rung, ...]
    seconds: Seconds
    version: str = __version__

    @property
    def gap(self) -> float:
        """upper - lower; below 0 where the bounds have crossed."""
        return self.upper - self.lower

    def to_json(self) -> dict:
        """The object of ``sandwich --json``."""
        out = dataclasses.asdict(self)
        out["gap"] = self.gap
        out["certificate"]["anytime"] = {"low": self.anytime.low, "high": self.anytime.high}
        del out["anytime"]
        out["reports"] = {name: float(np.mean(values)) for name, values in self.reports.items()}
        out["rungs"] = [
            {"effort": r.effort, "lower": r.lower, "upper": r.upper, "gap": r.gap}
            for r in self.rungs
        ]
        return finite_json(out)

    def plot(self, ax=None):
        """Both bounds closing; see ``bracketz.plots.closing_bounds``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import closing_bounds

        return closing_bounds(self, ax=ax)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        c = self.certificate
        pilot = f" ({self.pilot.seconds:.1f} s of it the pilot)" if self.pilot else ""
        return [
            ("lower bound", f"{self.lower:.2f}"),
            ("upper bound", f"{self.upper:.2f}"),
            ("gap", f"{self.gap:.2f} nats (goal {self.target:g})"),
            ("log evidence (BAR)", f"{self.log_ml:.2f} ± {self.standard_error:.2f}"),
            (f"{c.confidence:.0%} certificate", f"[{c.low:.2f}, {c.high:.2f}]"),
            ("Jeffreys bound", f"{self.jeffreys_bound:.2f} nats, one chain"),
            ("distributions", f"{self.distributions:,} x {self.chains} chains, both ways"),
            *((name, f"{np.mean(values):.2f} on average") for name, values in self.reports.items()),
            (
                "time",
                f"{self.seconds.run:.1f} s{pilot}, and {self.seconds.compile:.1f} s to compile",
            ),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"log evidence, {self.model}", self.rows())


@dataclass(frozen=True)
class _Ladder:
    """What does not change between rungs."""

    model: Model
    data: Data
    path: Path
    sweeps: int
    particles: int
    chains: int
    seed: int

    def tuned(self, session: Session) -> tuple["_Ladder", Pilot]:
        """This ladder on a path tuned by a pilot, and frozen."""
        assert isinstance(self.path, Tempered)
        found = run_pilot(
            self.path,
            lambda path: Forward(self.model, self.data.y, path, self.sweeps),
            lambda path: Reverse(self.model, self.data.y, path, self.data.exact, self.sweeps),
            chains=self.chains,
            seed=self.seed,
            session=session,
        )
        return dataclasses.replace(self, path=found.path), found

    @property
    def records(self) -> bool:
        return self.path.refines and self.particles == 1

    def programs(self, effort: int):
        model, y = self.model, self.data.y
        path, sweeps = self.path.at(effort, model, y.shape[0], self.sweeps)
        common = (sweeps, Resampling(), self.particles)
        both = Forward(model, y, path, *common), Reverse(model, y, path, self.data.exact, *common)
        return path, *((Recorded(program) for program in both) if self.records else both)

    def climb(self, effort: int, session: Session):
        """Both directions at one effort: (rung or None when time ran out, run and compile
        seconds)."""
        path, *programs = self.programs(effort)
        outcomes, steps, run_seconds, compile_seconds = [], 0, 0.0, 0.0
        for name, program in zip(("lower", "upper"), programs, strict=True):
            stream = f"{name} {effort}"
            done, _ = session.restore(stream) or (0, None)
            steps += path.num_edges - done
            outcome = run_chains(
                program,
                path.num_edges,
                chains=self.chains,
                seed=self.seed,
                stream=stream,
                session=session,
            )
            run_seconds += outcome.run_seconds
            compile_seconds += outcome.compile_seconds
            if not outcome.finished:
                return None, run_seconds, compile_seconds
            outcomes.append(outcome)
        forward, reverse = (outcome.log_values for outcome in outcomes)
        reports = mean_reports(path.num_edges, *outcomes) if self.records else {}
        rung = Rung(
            effort,
            path.num_edges + 1,
            Combine.ARITHMETIC(forward)[0],
            Combine.HARMONIC(reverse)[0],
            tuple(forward.tolist()),
            tuple(reverse.tolist()),
            schedule_cost(path.num_edges, *outcomes) if self.records else None,
            {name: tuple(values.tolist()) for name, values in reports.items()},
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
    path: Path | None = None,
    sweeps: int = 1,
    particles: int = 1,
    first: int | None = None,
    max_effort: int | None = None,
    session: Session | None = None,
) -> Sandwich:
    """Bracket log p(y) of simulated data until upper - lower <= ``gap``.

    Effort doubles from rung to rung, each with fresh randomness. The session's time limit is soft:
    the first rung always finishes, and then the last complete rung is the answer, with ``converged
    = False``. Total cost is about twice the last rung's: 2 * chains * effort sweeps each.

    Args:
        model: the model that made the data.
        data: from ``simulate`` (or ``load``): the bounds need the exact sample behind it.
        gap: stop when upper - lower is at most this (nats).
        chains: in each direction.
        seed: everything random follows from it.
        confidence: of the certificate.
        path: ``Tempered()`` (the default), ``Tempered(schedule=Adapted(pilot=256))``, ``Prefix()``,
            or your own.
        sweeps: kernel sweeps per distribution, where effort does not count these.
        particles: per chain, resampled by effective sample size.
        first: effort of the first rung; the path's own by default.
        max_effort: do not go beyond this effort; the path's own limit by default.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        Both bounds, the point estimate, the certificate and how they came about.

    Raises:
        InputError: observed data, or a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> bz.sandwich(model, bz.simulate(model, rows=6, columns=2), gap=4.0, chains=4).converged
        True
    """
    data = as_data(data, model)
    check_seed(seed)
    if not data.simulated:
        raise InputError(
            "a sandwich needs an exact posterior sample, which observed data do not have; use"
            " data from bracketz simulate, or bracketz estimate for a lower bound"
        )
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    path = Tempered() if path is None else path
    if not isinstance(path, Path):
        raise InputError(f"path must be one such as bracketz.Tempered(), got {path!r}")
    if chains < 2:
        raise InputError(f"chains must be at least 2 for an error bar, got {chains}")
    require_at_least(1, sweeps=sweeps, particles=particles)
    effort = first or path.first_effort
    top = max_effort or path.last_effort
    path.at(effort, model, data.y.shape[0], sweeps)  # refuse before the work
    Certificate.from_bounds(0.0, 0.0, confidence)
    session = session or Session()
    ladder = _Ladder(model.suited_to(data.y), data, path, sweeps, particles, chains, seed)

    rungs: list[Rung] = []
    piloted = None
    session.must_finish = True
    if path.pilot is not None:
        ladder, found = ladder.tuned(session)
        run_seconds, compile_seconds = found.run_seconds, found.compile_seconds
        piloted = PilotReport(found.distributions, found.run_seconds)
    else:
        run_seconds, compile_seconds = (
            0.0,
            compile_together(ladder.programs(effort)[1:], chains=chains),
        )
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
            f"{effort:>8,} {path.unit}:"
            f"  {rung.lower:.2f} <= log evidence <= {rung.upper:.2f}   gap {rung.gap:.2f}"
            + (f"; {predicted}" if predicted and rung.gap > gap else "")
        )
        if rung.gap <= gap:
            break
        if 2 * effort > top:
            session.progress.note(f"not beyond {top:,}: {path.beyond}")
            break
        if 2 * ran > session.remaining():
            left = max(0, session.remaining())
            session.progress.note(
                f"the next rung would take about {2 * ran:.0f} s and {left:.0f} s are left"
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
        anytime=Certificate.from_bounds(
            last.lower, last.upper, confidence, 1 / (looks * (looks + 1))
        ),
        jeffreys_bound=last.single_chain_gap,
        distributions=last.distributions,
        chains=chains,
        seed=seed,
        converged=last.gap <= gap,
        target=gap,
        path=path.name,
        unit=path.unit,
        schedule=path.schedule_name,
        split=last.split,
        predicted=last.predict(gap),
        pilot=piloted,
        reports=last.reports,
        rungs=tuple(rungs),
        seconds=Seconds(run_seconds, compile_seconds),
    )
