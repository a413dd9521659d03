"""What a comparison answers: an interval per model, how far to trust it, and a verdict."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bracketz._version import __version__
from bracketz.core.results import Seconds, finite_json, html_table
from bracketz.core.weights import normalised
from bracketz.inference.interval import Evidence, Interval
from bracketz.wording import percent

#: Kass and Raftery (1995), as in the paper: log10 of the evidence ratio from which each word
#: applies.
WORDS = (
    (2.0, "decisive"),
    (1.0, "strong"),
    (0.5, "substantial"),
    (0.0, "not worth more than a bare mention"),
)


def strength(nats: float) -> str:
    """Kass and Raftery's word for a difference of log evidences; not a number (of two bounds of
    -inf) tells nothing apart."""
    nats = 0.0 if math.isnan(nats) else nats
    return next(word for least, word in WORDS if abs(nats) / math.log(10) >= least)


class Range(NamedTuple):
    """Ends of an interval; ``high`` is infinite where there is no upper bound."""

    low: float
    high: float


# The logic of a verdict, as functions of intervals alone.


def widened(interval: Interval, margin: float) -> Range:
    """With the margin of its own twins on both sides."""
    high = math.inf if interval.high is None else interval.high + margin
    return Range(interval.low - margin, high)


def factor(own: Range, other: Range) -> Range:
    """Log Bayes factor of one model against another: from its low end over the other's high end to
    the reverse."""
    return Range(own.low - other.high, own.high - other.low)


def reaching(ranges: Sequence[Range]) -> tuple[int, ...]:
    """Which of the others reach the first one's interval."""
    best, *others = ranges
    return tuple(k for k, other in enumerate(others, start=1) if factor(best, other).low <= 0)


def certain_lead(ranges: Sequence[Range]) -> float:
    """By how much the first is ahead of every other, at the least."""
    best, *others = ranges
    return min(factor(best, other).low for other in others)


@dataclass(frozen=True)
class Candidate:
    """One model on the data.

    Attributes:
        name: what it is called.
        model: the name of its kind; several may be of one.
        components: how many it has, if it has any.
        evidence: its log evidence from both sides.
        place: where it stood among the models given.
    """

    name: str
    model: str
    components: int | None
    evidence: Evidence
    place: int = 0

    @property
    def log_ml(self) -> float:
        """The point estimate."""
        return self.evidence.log_ml

    @property
    def margin(self) -> float:
        """What twins ask to be added on both sides; 0 without them."""
        return self.evidence.twins.margin if self.evidence.twins else 0.0

    @property
    def range(self) -> Range:
        """The interval with that margin."""
        return widened(self.evidence.interval, self.margin)

    @property
    def warning(self) -> str | None:
        """What to know before relying on it; None: nothing."""
        e = self.evidence
        if e.upper is None:
            return f"no upper bound: {e.reason}"
        if e.twins is not None and e.twins.covered < e.twins.count:
            return (
                f"{e.twins.count - e.twins.covered} of {e.twins.count} twins were not covered:"
                f" {self.margin:.1f} nats added on both sides"
            )
        return e.reason


@dataclass(frozen=True)
class Comparison:
    """Models on one data set, in the order of their log evidences, the highest first.

    Attributes:
        candidates: the models, each with its interval.
        confidence: of every single interval.
        twins: data sets simulated per model.
        seed: everything random followed from it.
        seconds: run and compile time.
        log_jacobian: already in every bound; 0 unless the columns were standardised.
        missing: entries of the data that were not observed.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.compare([bz.Clustering(2), bz.Clustering(3)], y, twins=0)
        >>> answer.best.components, len(answer.probabilities)
        (2, 2)
    """

    candidates: tuple[Candidate, ...]
    confidence: float
    twins: int
    seed: int
    seconds: Seconds
    log_jacobian: float = 0.0
    missing: int = 0
    version: str = __version__

    @property
    def best(self) -> Candidate:
        """The one with the highest log evidence."""
        return self.candidates[0]

    @property
    def probabilities(self) -> np.ndarray:
        """Posterior over the candidates, equal prior odds, by the point estimates."""
        return normalised(np.array([c.log_ml for c in self.candidates]))

    def log_bayes_factor(self, candidate: Candidate) -> Range:
        """Of the best against a candidate: from its low end over the other's high end to the
        reverse. Both intervals must hold, so twice their failure probability is the most it fails
        by.

        Args:
            candidate: one of ``candidates``.

        Returns:
            (low, high), in nats.
        """
        if candidate is self.best:
            return Range(0.0, 0.0)
        return factor(self.best.range, candidate.range)

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """Those whose interval, margin included, reaches the best one's."""
        return tuple(self.candidates[k] for k in reaching([c.range for c in self.candidates]))

    @property
    def decided(self) -> bool:
        """Whether the best is ahead of all others by more than intervals and margins."""
        return len(self.candidates) > 1 and not self.rivals

    @property
    def verdict(self) -> str:
        """In words; conditional as the intervals are."""
        if len(self.candidates) == 1:
            return "one model: nothing to compare it with."
        best = self.best
        checked = f", margins of {self.twins} twins each included" if self.twins else ""
        if self.decided:
            lead = certain_lead([c.range for c in self.candidates])
            return (
                f"decided: {best.name}, ahead of every other by at least {lead:.1f} nats"
                f" ({strength(lead)}), by intervals of {percent(self.confidence)} each; conditional"
                f" on the forward runs having found every region that matters{checked}."
            )
        rivals = self.rivals
        names = ", ".join(c.name for c in rivals[:3])
        names += f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
        said = f"not decided: the interval of {best.name} does not clear that of {names}"
        open_ended = next((c for c in rivals if c.evidence.upper is None), None)
        if open_ended is not None:
            return f"{said}; {open_ended.name} has no upper bound: {open_ended.evidence.reason}."
        own, other = best.range, rivals[0].range
        width = max(own.high - own.low, other.high - other.low)
        lead = best.log_ml - rivals[0].log_ml
        if lead < 1:
            return f"{said}; the data hardly tell them apart ({lead:.1f} nats)."
        goal = max(0.25 * lead, 0.05)
        return (
            f"{said}; their lead is {lead:.1f} nats and the intervals are up to {width:.1f} wide:"
            f" try `gap={goal:.2g}` and more `starts`."
        )

    def rows(self) -> list[dict]:
        """One per model, as plain values: the entries of ``models`` in ``compare --json``."""
        out = []
        for c, probability in zip(self.candidates, self.probabilities, strict=True):
            factor = self.log_bayes_factor(c)
            out.append(
                {
                    "name": c.name,
                    "model": c.model,
                    "components": c.components,
                    "log_ml": c.log_ml,
                    "standard_error": c.evidence.standard_error,
                    "low": c.range.low,
                    "high": None if c.evidence.interval.high is None else c.range.high,
                    "kind": c.evidence.kind,
                    "lower": c.evidence.lower,
                    "upper": c.evidence.upper,
                    "certificate": dataclasses.asdict(c.evidence.certificate),
                    "difference": self.best.log_ml - c.log_ml,
                    "log_bayes_factor": factor._asdict(),
                    "bayes_factor": {"low": _exp(factor.low), "high": _exp(factor.high)},
                    "probability": float(probability),
                    "warning": c.warning,
                    "twins": c.evidence.twins.to_json() if c.evidence.twins else None,
                    "total_variation": c.evidence.total_variation,
                    "distributions": c.evidence.distributions,
                    "chains": c.evidence.chains,
                    "reference": c.evidence.reference,
                    "posterior": c.evidence.posterior,
                }
            )
        return out

    def to_json(self) -> dict:
        """The object of ``compare --json``."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("candidates", "seconds")
        }
        more = {
            "models": self.rows(),
            "decided": self.decided,
            "verdict": self.verdict,
            "seconds": dataclasses.asdict(self.seconds),
        }
        return finite_json(plain | more)

    def plot(self, ax=None):
        """A forest of intervals, the highest log evidence first; see ``bracketz.plots.evidences``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import evidences

        return evidences(self, ax=ax)

    def _repr_html_(self) -> str:
        rows = []
        for c in self.candidates:
            high = "" if c.evidence.interval.high is None else f"{c.range.high:.1f}"
            rows.append(
                (c.name, f"{c.log_ml:.1f} in [{c.range.low:.1f}, {high}] {c.evidence.kind}")
            )
        return html_table("log evidence", [*rows, ("verdict", self.verdict)])


def _exp(nats: float) -> float | None:
    """A ratio; None where it is beyond a number."""
    return math.exp(nats) if nats < 700 else None
