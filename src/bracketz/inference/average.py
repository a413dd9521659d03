"""What ``mutual_information`` answers: averages over data sets, and what their intervals rest
on."""

import dataclasses
from dataclasses import dataclass

from bracketz._version import __version__
from bracketz.core.results import Certificate, Seconds, finite_json, html_table
from bracketz.wording import percent, plus_minus


@dataclass(frozen=True)
class Average:
    """A mean over data sets from both sides, in nats.

    Attributes:
        lower, upper: averages of the bounds; their expectations are on either side of the truth.
        low, high: an interval by Student's t: asymptotic in the number of data sets, no
            certificate.
        confidence: of that interval.
        estimate, standard_error: the average of Bennett's estimates, and its spread over data sets.
    """

    lower: float
    upper: float
    low: float
    high: float
    confidence: float
    estimate: float
    standard_error: float


@dataclass(frozen=True)
class Information:
    """I(x; y) and H(y) of a model, from both sides.

    Attributes:
        model: name of the model.
        information: I(x; y) = H(y) - H(y | x), in nats.
        entropy: H(y) = E[-log p(y)], in nats.
        about: what x is: "state", or "state and parameters".
        certificate: covers H(y), if -log p(y) always lies ``within`` the range given; None where no
            range was.
        within: that range.
        datasets: how many were counted.
        mean_gap: upper - lower of a data set, on average.
        distributions, chains: of each sandwich; chains in each direction.
        log_likelihoods: log p(y | x), one per data set.
        lowers, uppers: bounds on log p(y), one per data set.
        seed: everything random followed from it.
        converged: all data sets were drawn, and the mean gap is at most ``target``.
        reason: why not, in a sentence, if not.
        target: the gap asked for.
        seconds: run and compile time.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> answer = bz.mutual_information(bz.Clustering(components=2), 4, 2, datasets=3, chains=4)
        >>> answer.interval_kind, answer.certificate is None
        ('asymptotic', True)
    """

    model: str
    information: Average
    entropy: Average
    about: str
    certificate: Certificate | None
    within: tuple[float, float] | None
    datasets: int
    mean_gap: float
    distributions: int
    chains: int
    log_likelihoods: tuple[float, ...]
    lowers: tuple[float, ...]
    uppers: tuple[float, ...]
    seed: int
    converged: bool
    reason: str | None
    target: float
    seconds: Seconds
    version: str = __version__

    #: What ``low`` and ``high`` of an average are.
    interval_kind = "asymptotic"

    def to_json(self) -> dict:
        """The object of ``information --json``."""
        return finite_json(dataclasses.asdict(self) | {"interval_kind": self.interval_kind})

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        rows = []
        for name, a in (
            (f"information about the {self.about}", self.information),
            ("entropy of the data", self.entropy),
        ):
            rows += [
                (name, f"{a.estimate:.3f} {plus_minus(a.standard_error)} nats"),
                ("  bounds, averaged", f"{a.lower:.3f} to {a.upper:.3f}"),
                (
                    f"  {percent(a.confidence)} interval",
                    f"[{a.low:.3f}, {a.high:.3f}] (asymptotic)",
                ),
            ]
        if self.certificate is not None and self.within is not None:
            c, (low, high) = self.certificate, self.within
            rows.append(
                (
                    f"  {percent(c.confidence)} certificate",
                    f"[{c.low:.3f}, {c.high:.3f}] (if -log p(y) is in [{low:g}, {high:g}])",
                )
            )
        return [
            *rows,
            ("data sets", f"{self.datasets:,}, bounds {self.mean_gap:.2f} apart on average"),
            ("distributions", f"{self.distributions:,} x {self.chains} chains, both ways"),
            (
                "time",
                f"{self.seconds.run:.1f} s, and {self.seconds.compile:.1f} s to compile",
            ),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"information, {self.model}", self.rows())
