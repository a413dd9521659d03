"""What a sandwich answers: both bounds, the point estimate, the certificate, and the way there."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bracketz._version import __version__
from bracketz.core.path import Path
from bracketz.core.results import Certificate, Seconds, finite_json, html_table, preparation_rows
from bracketz.engine.recorder import edges_in_cells, inverse_temperatures
from bracketz.inference.plan import Seen, spread
from bracketz.wording import percent, plus_minus


@dataclass(frozen=True)
class Rung:
    """One effort of the ladder that decides: forward chains only."""

    effort: int
    lower: float
    forward: tuple[float, ...]  # log w, one per chain

    @property
    def seen(self) -> Seen:
        return Seen(self.effort, spread(np.array(self.forward)), len(self.forward))


@dataclass(frozen=True)
class Look:
    """One measurement: both directions with fresh randomness, at settings fixed before."""

    effort: int
    distributions: int
    chains: int
    lower: float
    upper: float
    lower_error: float
    upper_error: float  # with what the shared exact sample adds
    forward: tuple[float, ...]  # log w, one per chain
    reverse: tuple[float, ...]
    schedule_cost: float | None  # see Split; a path that refines, with one particle
    reports: dict[str, tuple[float, ...]]  # by the kernels, from the prior to the posterior
    temperatures: tuple[float, ...] = ()  # inverse, where each of these was reported
    trace: "Trace | None" = None  # a path that refines, with one particle

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def noise(self) -> float:
        """Standard error of the gap."""
        return math.hypot(self.lower_error, self.upper_error)

    @property
    def single_chain_gap(self) -> float:
        return float(np.mean(self.reverse) - np.mean(self.forward))

    @property
    def split(self) -> "Split | None":
        cost, gap = self.schedule_cost, self.single_chain_gap
        if cost is None or not math.isfinite(cost + gap):  # a weight of zero has no split
            return None
        return Split(cost, gap - cost)


@dataclass(frozen=True)
class Trace:
    """What one edge adds to the log evidence, by place on the path: the mean over the first batch
    of chains of each direction, both read upwards. Of a long path an edge per cell is kept."""

    forward: tuple[float, ...]
    reverse: tuple[float, ...]
    path: Path = dataclasses.field(repr=False, compare=False)

    @property
    def edges(self) -> np.ndarray:
        """How many edges each value stands for."""
        each = edges_in_cells(self.path.num_edges)
        return each[each > 0]

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Inverse ones, of each value."""
        return inverse_temperatures(self.path)


@dataclass(frozen=True)
class Split:
    """The single-chain gap (the Jeffreys bound) in two parts, in nats: see
    ``bracketz.engine.schedule``."""

    schedule: float  # perfect mixing would leave this
    mixing: float  # the rest


@dataclass(frozen=True)
class Prediction:
    """What should meet the target ``gap``: distributions, chains, and seconds for both
    directions."""

    gap: float
    distributions: int
    chains: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"about {self.distributions:,} distributions x {self.chains:,} chains,"
            f" {self.seconds:.1f} s, should do"
        )


@dataclass(frozen=True)
class Cost:
    """Kernel sweeps of all chains and particles: what the ladder (and the pilot of an adapted
    schedule) took, and the measurement in both directions."""

    deciding: int
    measuring: int


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
        lower, upper: stochastic bounds from all chains of one measurement.
        lower_error, upper_error: their standard errors; a rule of thumb, not certified.
        log_ml, standard_error: the log evidence, and its error bar.
        log_ml_by: "bennett": Bennett's acceptance ratio over both directions; "midpoint": of the
            bounds, where the reverse run is not the exact reversal that Bennett needs: with more
            than one particle (the reversal of resampling is conditional SMC, not a reverse run), or
            on a path whose ``exact_reversal`` says no.
        certificate: covers log p(y) with the stated confidence for the way this run really
            stopped, whatever the model.
        fixed: what it would be if ``looks`` had been 1.
        jeffreys_bound: mean single-chain gap, which estimates KL(q_F || q_B) + KL(q_B || q_F) and
            so bounds, in expectation, the divergence of the sampler's output from the posterior
            (nats). None where ``log_ml_by`` is "midpoint".
        distributions, chains: of the measurement; chains in each direction.
        seed: everything random followed from it.
        converged: the gap is at most ``target``, and the noise small enough that this is not luck.
        reason: why not, in a sentence, if not.
        target: the gap asked for.
        path, unit, schedule: names of the path, of what its effort counts, and of its schedule.
        split: what of the Jeffreys bound is the schedule's and what the mixing's (for a path that
            refines, with one particle per chain, else None).
        predicted: what should meet ``target``, by what was measured (where the path refines).
        pilot: of an adapted schedule.
        preparation: where the path begins and why, and how the kernels were tuned (models of a
            prior and a likelihood).
        reports: what the kernels reported (such as "acceptance"), by place from the prior to the
            posterior.
        rungs: the ladder that decided, forward runs only.
        looks: every measurement; the answer is the last.
        cost: kernel sweeps, of deciding and of measuring.
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
    lower_error: float
    upper_error: float
    log_ml: float
    standard_error: float
    log_ml_by: str
    certificate: Certificate
    fixed: Certificate
    jeffreys_bound: float | None
    distributions: int
    chains: int
    seed: int
    converged: bool
    reason: str | None
    target: float
    path: str
    unit: str
    schedule: str | None
    split: Split | None
    predicted: Prediction | None
    pilot: PilotReport | None
    preparation: dict[str, Any] | None
    reports: dict[str, tuple[float, ...]]
    rungs: tuple[Rung, ...]
    looks: tuple[Look, ...]
    cost: Cost
    seconds: Seconds
    version: str = __version__

    @property
    def gap(self) -> float:
        """upper - lower; below 0 where the bounds have crossed."""
        return self.upper - self.lower

    @property
    def crossing(self) -> str | None:
        """What to say of bounds that have crossed; None where they have not."""
        if self.gap >= 0:
            return None
        noise = self.looks[-1].noise
        return (
            f"The bounds have crossed by {-self.gap:.2g} nats: each is random, and their distance"
            f" is known to {noise:.2g} here. The certificate allows for it."
        )

    def to_json(self) -> dict:
        """The object of ``sandwich --json``."""
        # Looks are told in short, and what they hold is not all made of plain values.
        out = dataclasses.asdict(dataclasses.replace(self, looks=()))
        out["gap"] = self.gap
        out["certificate"] |= {
            "looks": len(self.looks),
            "fixed": {"low": self.fixed.low, "high": self.fixed.high},
        }
        del out["fixed"]
        out["reports"] = {name: float(np.mean(values)) for name, values in self.reports.items()}
        out["rungs"] = [
            {"effort": r.effort, "lower": r.lower, "spread": r.seen.spread} for r in self.rungs
        ]
        out["looks"] = [
            {
                "effort": k.effort,
                "chains": k.chains,
                "lower": k.lower,
                "upper": k.upper,
                "gap": k.gap,
                "noise": k.noise,
            }
            for k in self.looks
        ]
        return finite_json(out)

    def plot(self, ax=None):
        """Both bounds, their error bars and the certificate; see ``bracketz.plots.closing_bounds``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import closing_bounds

        return closing_bounds(self, ax=ax)

    def to_arviz(self):
        """As ArviZ keeps results; see ``bracketz.interchange.arviz.to_arviz``.

        Returns:
            ``arviz.InferenceData``, or an ``xarray.DataTree`` from ArviZ 1.0 on.

        Raises:
            InputError: ArviZ is not installed.
        """
        from bracketz.interchange.arviz import to_arviz

        return to_arviz(self)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        c = self.certificate
        pilot = f" ({self.pilot.seconds:.1f} s of it the pilot)" if self.pilot else ""
        total = self.cost.deciding + self.cost.measuring
        by = "BAR" if self.log_ml_by == "bennett" else self.log_ml_by
        jeffreys = self.jeffreys_bound
        return [
            ("lower bound", f"{self.lower:.2f} {plus_minus(self.lower_error)}"),
            ("upper bound", f"{self.upper:.2f} {plus_minus(self.upper_error)}"),
            ("gap", f"{self.gap:.2f} nats (goal {self.target:g})"),
            (f"log evidence ({by})", f"{self.log_ml:.2f} {plus_minus(self.standard_error)}"),
            (f"{percent(c.confidence)} certificate", f"[{c.low:.2f}, {c.high:.2f}]"),
            *([] if jeffreys is None else [("Jeffreys bound", f"{jeffreys:.2f} nats, one chain")]),
            ("distributions", f"{self.distributions:,} x {self.chains} chains, both ways"),
            *preparation_rows(self.preparation),
            *((name, f"{np.mean(values):.2f} on average") for name, values in self.reports.items()),
            (
                "time",
                f"{self.seconds.run:.1f} s{pilot}, and {self.seconds.compile:.1f} s to compile",
            ),
            ("effort", f"{total:,} sweeps, {self.cost.deciding / total:.0%} of them to decide"),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"log evidence, {self.model}", self.rows())
