"""What ``quality`` answers: divergences from the posterior, by the length of a chain."""

import dataclasses
import math
from dataclasses import dataclass

from bracketz._version import __version__
from bracketz.core.results import Seconds, finite_json, html_table
from bracketz.wording import percent, plus_minus


@dataclass(frozen=True)
class Reading:
    """How far a sampler's output is from the posterior, at most, on average over data sets.

    Attributes:
        distributions: length of the annealed chain; None: an approximation, no chain.
        jeffreys: an estimate of J, which bounds the Jeffreys divergence (nats).
        standard_error: its spread over data sets.
        low, high: an interval for J by Student's t: asymptotic in the number of data sets.
        confidence: of that interval.
        each: one value per data set; a single one may be negative, their mean is not in the end.
    """

    distributions: int | None
    jeffreys: float
    standard_error: float
    low: float
    high: float
    confidence: float
    each: tuple[float, ...]

    @property
    def total_variation(self) -> float:
        """At most this, on average over data sets, if J is at most ``high``: sqrt(high) / 2. No J
        is negative, so that an interval below 0 says nothing: 1."""
        return min(1.0, 0.5 * math.sqrt(self.high)) if self.high > 0 else 1.0


@dataclass(frozen=True)
class Quality:
    """How far a sampler's output is from the posterior, at most.

    Attributes:
        model: name of the model.
        sampler: what was judged.
        readings: one per length of the chain.
        datasets: how many were counted.
        chains: in each direction, on each data set.
        seed: everything random followed from it.
        converged: all data sets were drawn.
        reason: why not, in a sentence, if not.
        seconds: run and compile time.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> answer = bz.quality(bz.Clustering(components=2), 4, 2, datasets=3, chains=4)
        >>> answer.sampler, answer.interval_kind
        ("the model's own kernel", 'asymptotic')
    """

    model: str
    sampler: str
    readings: tuple[Reading, ...]
    datasets: int
    chains: int
    seed: int
    converged: bool
    reason: str | None
    seconds: Seconds
    version: str = __version__

    #: What ``low`` and ``high`` of a reading are.
    interval_kind = "asymptotic"

    def to_json(self) -> dict:
        """The object of ``quality --json``."""
        readings = [
            dataclasses.asdict(one) | {"total_variation": one.total_variation}
            for one in self.readings
        ]
        more = {"readings": readings, "interval_kind": self.interval_kind}
        return finite_json(dataclasses.asdict(self) | more)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        rows = [("sampler", self.sampler)]
        for one in self.readings:
            length = one.distributions
            rows.append(
                (
                    "Jeffreys bound" if length is None else f"{length:,} distributions",
                    f"{one.jeffreys:.3g} {plus_minus(one.standard_error)} nats,"
                    f" {percent(one.confidence)} interval [{one.low:.3g}, {one.high:.3g}]"
                    f" (asymptotic); if so, total variation at most {one.total_variation:.2f}",
                )
            )
        return [
            *rows,
            ("data sets", f"{self.datasets:,} x {self.chains} chains, both ways"),
            (
                "time",
                f"{self.seconds.run:.1f} s, and {self.seconds.compile:.1f} s to compile",
            ),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"distance from the posterior, {self.model}", self.rows())
