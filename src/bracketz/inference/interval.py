"""What can be said of observed data: a certified lower bound, a conditional upper one, twins."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from bracketz._version import __version__
from bracketz.core.results import (
    LowerCertificate,
    Seconds,
    finite_json,
    html_table,
    preparation_rows,
)
from bracketz.wording import percent, plus_minus

#: What an upper bound by coupled chains rests on.
CONDITION = (
    "conditional on the forward runs having found every region that matters, in about its weight:"
    " the distance from the posterior is estimated from these runs, and what none of them found has"
    " no part in it"
)


@dataclass(frozen=True)
class Interval:
    """Between ``low`` and ``high``; ``high`` is None where there is no upper bound."""

    confidence: float
    low: float
    high: float | None


@dataclass(frozen=True)
class Coupled:
    """Meeting times of pairs of coupled chains, in proposals.

    Attributes:
        pairs: how many.
        met: how many of them met within the proposals there were.
        mean: proposals until they met.
        max: the most; None where a pair did not meet.
        lag: by which one chain is behind the other.
        length: proposals per chain.
    """

    pairs: int
    met: int
    mean: float
    max: int | None
    lag: int
    length: int


@dataclass(frozen=True)
class Twin:
    """One data set like the observed one: what the procedure said, and the truth.

    Attributes:
        low, high: the interval the procedure gave; ``high`` is None where it gave no upper bound.
        log_ml: its point estimate.
        truth: Bennett's estimate from runs of its own, the reverse ones from the sample that made
            the data.
        truth_error: its standard error.
    """

    low: float
    high: float | None
    log_ml: float
    truth: float
    truth_error: float

    @property
    def missed_by(self) -> float:
        """How far outside the interval the truth is; 0 inside."""
        above = 0.0 if self.high is None else self.truth - self.high
        return max(self.low - self.truth, above, 0.0)


@dataclass(frozen=True)
class Twins:
    """The same procedure, at the settings chosen for the real data, on data like these, whose
    sample it was not told: a heuristic.

    Attributes:
        each: one by one.
        told: what of a twin was taken from the fit, and what that leaves exact.
    """

    each: tuple[Twin, ...]
    told: str

    @property
    def count(self) -> int:
        """How many."""
        return len(self.each)

    @property
    def bounded(self) -> int:
        """On how many there was an upper bound."""
        return sum(twin.high is not None for twin in self.each)

    @property
    def covered(self) -> int:
        """On how many an interval with both ends held the truth."""
        return sum(twin.high is not None and twin.missed_by == 0 for twin in self.each)

    @property
    def truth_error(self) -> float:
        """Standard error of the twins' truths, at the most."""
        return max((twin.truth_error for twin in self.each), default=0.0)

    def __str__(self) -> str:
        bounded = "" if self.bounded == self.count else f" ({self.bounded} had an upper bound)"
        return (
            f"the interval held the truth in {self.covered} of {self.count}{bounded}, the estimate"
            f" was off by {self.bias:+.2f} on average, and a margin of {self.margin:.2f} on both"
            f" sides would have held all (truths known to {plus_minus(self.truth_error)};"
            f" {self.told})"
        )

    @property
    def bias(self) -> float:
        """Of the point estimate, on average."""
        return sum(twin.log_ml - twin.truth for twin in self.each) / max(self.count, 1)

    @property
    def margin(self) -> float:
        """By how much the interval must be widened on both sides to hold every twin's truth."""
        return max((twin.missed_by for twin in self.each), default=0.0)

    def to_json(self) -> dict:
        """As plain values."""
        names = "count bounded covered bias margin truth_error told"
        own = {name: getattr(self, name) for name in names.split()}
        return own | {"each": [dataclasses.asdict(twin) for twin in self.each]}


@dataclass(frozen=True)
class Evidence:
    """Both sides on observed data, each with what it rests on.

    Attributes:
        model: name of the model.
        lower: a stochastic lower bound on the log evidence, from all forward runs.
        lower_error: its standard error.
        upper: from reverse runs that begin at states of coupled chains; None where these are too
            far from the posterior.
        upper_error: its standard error, under the condition; None without an upper bound.
        log_ml, standard_error: Bennett's estimate from both directions; the lower bound's where
            there is no other.
        kind: of ``interval``: "conditional" where its upper end comes from coupled chains,
            "certified" where there is no upper end. The lower end is certified in either case.
        condition: what the upper bound rests on, in words; None without one.
        certificate: the certified lower bound, whatever else.
        interval: both sides together.
        meetings: of the coupled chains.
        total_variation: estimated distance of a chain's end from the posterior; ``starts`` times
            that is part of the interval's failure probability.
        starts: chains whose ends begin reverse runs.
        twins: the procedure on data like these; None where none were asked for.
        reference: "fitted" where runs begin at a fitted reference, else "prior".
        distributions: of every run.
        chains: forward runs.
        reverse_chains: reverse runs.
        seed: everything random followed from it.
        converged: there is an upper bound, and it is within ``target`` of the lower one with
            little noise.
        reason: why not, if not.
        target: the gap asked for.
        preparation: how the kernels were tuned (models of a prior and a likelihood).
        posterior: means of the parameters or hyperparameters by name, by the weights of the forward
            runs.
        log_weights: of the forward runs.
        reverse_log_weights: of the reverse runs.
        seconds: run and compile time.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> y = bz.simulate(model, rows=6, columns=2).y
        >>> bz.evidence(model, y, gap=2.0).kind
        'conditional'
    """

    model: str
    lower: float
    lower_error: float
    upper: float | None
    upper_error: float | None
    log_ml: float
    standard_error: float
    kind: str
    condition: str | None
    certificate: LowerCertificate
    interval: Interval
    meetings: Coupled
    total_variation: float
    starts: int
    twins: Twins | None
    reference: str
    distributions: int
    chains: int
    reverse_chains: int
    seed: int
    converged: bool
    reason: str | None
    target: float
    preparation: dict[str, Any] | None
    posterior: dict[str, Any]
    log_weights: tuple[float, ...]
    reverse_log_weights: tuple[float, ...]
    seconds: Seconds
    version: str = __version__

    def shifted(self, nats: float) -> "Evidence":
        """The same for data in other units: every bound moved by as much.

        Args:
            nats: to add.

        Returns:
            The answer, twins as they were.
        """

        def moved(value):
            return None if value is None else value + nats

        return dataclasses.replace(
            self,
            lower=self.lower + nats,
            upper=moved(self.upper),
            log_ml=self.log_ml + nats,
            certificate=LowerCertificate(self.certificate.confidence, self.certificate.low + nats),
            interval=Interval(
                self.interval.confidence, self.interval.low + nats, moved(self.interval.high)
            ),
            log_weights=tuple(w + nats for w in self.log_weights),
            reverse_log_weights=tuple(w + nats for w in self.reverse_log_weights),
        )

    @property
    def sides(self) -> str:
        """What is known, in words."""
        if self.interval.high is None:
            return "certified, lower side only"
        return "conditional; its lower end certified"

    @property
    def statement(self) -> str:
        """The answer in words that can be quoted."""
        c, i, m = self.certificate, self.interval, self.meetings
        said = [
            f"Certified: log p(y) >= {c.low:.2f} with {percent(c.confidence)} confidence, by"
            f" betting on {self.chains:,} independent annealing runs of"
            f" {self.distributions:,} distributions."
        ]
        met = (
            f"{m.met} of {m.pairs} pairs of chains with lag {m.lag} met within their"
            f" {m.length} proposals"
        )
        if m.met:
            met += f", after {m.mean:.1f} on average" + (f" and at most {m.max}" if m.max else "")
        if i.high is None:
            said.append(f"No upper bound: {self.reason}. {met}.")
        else:
            said.append(
                f"Conditional: {i.low:.2f} <= log p(y) <= {i.high:.2f} with {percent(i.confidence)}"
                f" confidence, if the forward runs have found every region that matters, in about"
                f" its weight. {met}; by the weights an end of a chain is an estimated"
                f" {max(self.total_variation, 1e-12):.1g} or less from the posterior in total"
                f" variation, and {self.starts} ends began {self.reverse_chains:,} reverse runs."
            )
        if self.twins is not None:
            said.append(f"Heuristic: on {self.twins.count} twins {self.twins}.")
        return " ".join(said)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        c, i, m, t = self.certificate, self.interval, self.meetings, self.twins
        point = f"{self.log_ml:.2f} {plus_minus(self.standard_error)}"
        upper = "none: " + str(self.reason)
        both = f"at least {i.low:.2f}"
        if i.high is not None:
            upper = f"{self.upper:.2f} {plus_minus(self.upper_error or math.inf)}"
            both = f"[{i.low:.2f}, {i.high:.2f}]"
        waited = f"{m.mean:.1f} proposals on average" if m.met else "never"
        return [
            (
                "log evidence",
                point + (" (conditional)" if i.high is not None else ", a lower bound"),
            ),
            ("lower bound", f"{self.lower:.2f} {plus_minus(self.lower_error)}"),
            (f"{percent(c.confidence)} certificate", f"at least {c.low:.2f} (certified)"),
            ("upper bound", upper + (" (conditional)" if i.high is not None else "")),
            (f"{percent(i.confidence)} interval", f"{both} ({self.sides})"),
            *([("condition", self.condition)] if self.condition else []),
            ("meetings", f"{m.met} of {m.pairs} pairs, {waited}"),
            (
                "distance",
                f"{max(self.total_variation, 1e-12):.1g} in total variation, an estimate by the"
                " weights",
            ),
            *([("twins", f"{t} (heuristic)")] if t else []),
            *([("not converged", self.reason)] if self.reason and i.high is not None else []),
            (
                "runs",
                f"{self.chains:,} forward, {self.reverse_chains:,} reverse,"
                f" {self.distributions:,} distributions each",
            ),
            *preparation_rows(self.preparation),
            ("time", f"{self.seconds.run:.2f} s, and {self.seconds.compile:.1f} s to compile"),
        ]

    def to_json(self) -> dict:
        """The object of ``evidence --json``."""
        out = dataclasses.asdict(dataclasses.replace(self, twins=None))
        out["twins"] = None if self.twins is None else self.twins.to_json()
        return finite_json(out | {"statement": self.statement})

    def plot(self, ax=None):
        """Lower bound, estimate and interval, and the twins; see ``bracketz.plots.interval``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import interval

        return interval(self, ax=ax)

    def _repr_html_(self) -> str:
        return html_table(f"log evidence of observed data, {self.model}", self.rows())
