"""What ``fractional`` answers: two bounds on a ratio of evidences, and what each rests on."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

from bracketz._version import __version__
from bracketz.core.results import Certificate, Seconds, finite_json, html_table
from bracketz.inference.interval import CONDITION, Interval
from bracketz.wording import percent, plus_minus


class Side(NamedTuple):
    """What a bound rests on: "certified", "conditional", or None where there is no bound."""

    lower: str | None
    upper: str | None


@dataclass(frozen=True)
class Fractional:
    """log Z(1) - log Z(r): the log evidence of all data less that of the training data.

    Attributes:
        model: name of the model.
        fraction: the power of the training data; None where they are rows.
        training: the rows, counted from 0; None where there is a fraction.
        lower, upper: stochastic bounds; ``lower`` is None where there is none.
        lower_error, upper_error: their standard errors; a rule of thumb, not certified.
        log_ratio, standard_error: between what both directions of the whole run say; an estimate.
        kind: what each bound rests on: "certified" (an exact sample) or "conditional" (coupled
            chains). The bounds are stochastic either way; ``certificate`` has the margins.
        certificate: covers the ratio with the stated confidence, whatever the model.
        certified_by: what its lower end rests on: "exact sample" (training rows), or "convexity"
            (a fraction), which is far below as a rule.
        interval: of a fraction, sharper and conditional (``condition``); None where there is none.
        whole, trained: bounds on log Z(1), and on log Z(r), without margins.
        distributions, chains: of the whole run; chains in each direction.
        seed: everything random followed from it.
        converged: the bounds are at most ``target`` apart, and that is not luck.
        reason: why not, in a sentence, if not.
        target: the gap asked for.
        seconds: run and compile time, of all runs.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> answer = bz.fractional(model, data, fraction=0.5, gap=4.0, chains=4)
        >>> answer.kind.lower, answer.certified_by
        ('conditional', 'convexity')
    """

    model: str
    fraction: float | None
    training: tuple[int, ...] | None
    lower: float | None
    upper: float
    lower_error: float | None
    upper_error: float
    log_ratio: float
    standard_error: float
    kind: Side
    certificate: Certificate
    certified_by: str
    interval: Interval | None
    whole: Interval
    trained: Interval
    distributions: int
    chains: int
    seed: int
    converged: bool
    reason: str | None
    target: float
    seconds: Seconds
    version: str = __version__

    @property
    def gap(self) -> float | None:
        """upper - lower; None where there is no lower bound."""
        return None if self.lower is None else self.upper - self.lower

    @property
    def condition(self) -> str | None:
        """What the conditional bound depends on, in words; None where none is conditional."""
        return CONDITION if self.kind.lower == "conditional" else None

    def to_json(self) -> dict:
        """The object of ``fractional --json``."""
        out = dataclasses.asdict(self)
        bounds = {
            name: {"lower": out[name]["low"], "upper": out[name]["high"]}
            for name in ("whole", "trained")
        }
        more = {"kind": self.kind._asdict(), "gap": self.gap, "condition": self.condition}
        return finite_json(out | bounds | more)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        c, i = self.certificate, self.interval
        if self.fraction is not None:
            trained = f"power {self.fraction:g} of all rows"
        else:
            assert self.training is not None
            trained = f"{len(self.training)} rows: {', '.join(map(str, self.training[:12]))}"
            trained += ", ..." * (len(self.training) > 12)
        lower = "none"
        if self.lower is not None and self.lower_error is not None:
            lower = f"{self.lower:.2f} {plus_minus(self.lower_error)}"
            # A stochastic bound with an error bar is no certificate, so none is called one here.
            lower += " (conditional)" * (self.kind.lower == "conditional")
        conditional = []
        if i is not None and i.high is not None:
            name = f"{percent(i.confidence)} interval"
            conditional = [(name, f"[{i.low:.2f}, {i.high:.2f}] (lower end conditional)")]
        return [
            ("training data", trained),
            ("log evidence ratio", f"{self.log_ratio:.2f} {plus_minus(self.standard_error)}"),
            ("lower bound", lower),
            ("upper bound", f"{self.upper:.2f} {plus_minus(self.upper_error)}"),
            *conditional,
            (
                f"{percent(c.confidence)} certificate",
                f"[{c.low:.2f}, {c.high:.2f}] (certified, the lower end by {self.certified_by})",
            ),
            ("all data", _between(self.whole)),
            ("training alone", _between(self.trained)),
            ("distributions", f"{self.distributions:,} x {self.chains} chains, both ways"),
            (
                "time",
                f"{self.seconds.run:.1f} s, and {self.seconds.compile:.1f} s to compile",
            ),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"log evidence beyond training data, {self.model}", self.rows())


def _between(bounds: Interval) -> str:
    high = "no upper bound" if bounds.high is None else f"{bounds.high:.2f}"
    return f"log evidence from {bounds.low:.2f} to {high}"
