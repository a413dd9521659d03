"""What ``bracket_each`` answers: bounds of many data sets, and an interval for their mean."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from bracketz.core.results import Seconds, finite_json, html_table
from bracketz.wording import percent


@dataclass(frozen=True)
class Brackets:
    """Bounds on the log evidence of each of many data sets, and on their mean.

    Attributes:
        model: name of the model.
        lower: a stochastic lower bound for each data set, (n,).
        upper: a stochastic upper bound for each, (n,); None where there is none.
        kind: what upper bounds rest on: "certified" (data simulated here, exact samples) or
            "conditional" (observed data). A certificate with its margin is the interval's alone.
        condition: what conditional bounds depend on, in words; None for certified ones.
        mean_low, mean_high: an interval for the mean of log p(y_i) over the data sets, of the given
            confidence; mean_low is certified, mean_high is what ``kind`` says, None without one.
        confidence: of that interval.
        total_variation: the sum over data sets of how far reverse runs may have begun from the
            posterior; 0 for exact samples.
        forward, reverse: log-weights as estimates of log p(y_i), (n, chains).
        distributions: from the prior to the posterior.
        length: of the path, as pilots saw it.
        seed: everything random followed from it.
        seconds: run and compile time, without the pilots.
        pilot_seconds: of the pilots, compilation included.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Decoder()
        >>> found = bz.bracket_each(model, bz.simulate_each(model, 3), distributions=16)
        >>> found.kind, found.lower.shape, found.mean_low < found.mean_high
        ('certified', (3,), True)
    """

    model: str
    lower: np.ndarray
    upper: np.ndarray | None
    kind: str
    condition: str | None
    mean_low: float
    mean_high: float | None
    confidence: float
    total_variation: float
    forward: np.ndarray
    reverse: np.ndarray | None
    distributions: int
    length: float
    seed: int
    seconds: Seconds
    pilot_seconds: float

    @property
    def gap(self) -> float:
        """Mean of upper less lower over the data sets; not a number without upper bounds."""
        return math.nan if self.upper is None else float(np.mean(self.upper - self.lower))

    def to_json(self) -> dict:
        """As plain values, arrays as lists."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        arrays = {k: v.tolist() for k, v in fields.items() if isinstance(v, np.ndarray)}
        seconds = dataclasses.asdict(self.seconds)
        return finite_json(fields | arrays | {"seconds": seconds, "gap": self.gap})

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        high = "no bound" if self.mean_high is None else f"{self.mean_high:.3f}"
        told = [
            ("data sets", f"{len(self.lower):,}"),
            ("mean of the lower bounds", f"{np.mean(self.lower):.3f}"),
        ]
        rests_on = (
            "certified" if self.kind == "certified" else "conditional; its lower end certified"
        )
        if self.upper is None:
            rests_on = "certified, lower side only"
        if self.upper is not None:
            told += [
                (
                    "mean of the upper bounds",
                    f"{np.mean(self.upper):.3f}" + " (conditional)" * (self.kind == "conditional"),
                ),
                ("gap per data set", f"{self.gap:.3f}"),
            ]
        told += [
            (
                f"{percent(self.confidence)} interval of the mean",
                f"[{self.mean_low:.3f}, {high}] ({rests_on})",
            ),
            ("distributions", f"{self.distributions:,}"),
        ]
        return told + ([("condition", self.condition)] if self.condition else [])

    def _repr_html_(self) -> str:
        return html_table(f"log evidence of each, {self.model}", self.rows())
