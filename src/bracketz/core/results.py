"""What an answer contains: the value, its side, its error bar, and what it took."""

import enum
import html
import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bracketz._version import __version__
from bracketz.core.betting import betting_bound
from bracketz.core.weights import log_mean, log_mean_error, mean_interval, student
from bracketz.errors import InputError
from bracketz.wording import percent, plus_minus


class Side(enum.StrEnum):
    """Which side of log p(y) an estimate is on, in probability (paper, eqns. markov and jensen).

    Attributes:
        LOWER: a stochastic lower bound.
        UPPER: a stochastic upper bound.
        NONE: no bound.

    Example:
        >>> import bracketz as bz
        >>> bz.Side.LOWER.meaning
        'stochastic lower bound'
    """

    LOWER = "lower"
    UPPER = "upper"
    NONE = "none"

    @property
    def meaning(self) -> str:
        """In words."""
        return "no bound" if self is Side.NONE else f"stochastic {self} bound"


class Combine(enum.Enum):
    """How independent trials become one value (paper, Algorithm parameters, footnote).

    Attributes:
        ARITHMETIC: mean of the weights, for unbiased estimators.
        HARMONIC: harmonic mean of the weights, for unbiased estimators of the reciprocal.
        MAXIMUM: largest value, for deterministic lower bounds.
        MEAN_LOG: mean of the logs.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> bz.Combine.MAXIMUM(np.array([-3.0, -2.0]))
        (-2.0, inf)
    """

    ARITHMETIC = "arithmetic mean of the weights"  # unbiased estimators
    HARMONIC = "harmonic mean of the weights"  # unbiased estimators of the reciprocal
    MAXIMUM = "largest value"  # deterministic lower bounds
    MEAN_LOG = "mean of the logs"

    def __call__(self, values: np.ndarray) -> tuple[float, float]:
        """Combine.

        Args:
            values: log-evidence values of independent trials, (trials,).

        Returns:
            (combined value, its standard error).
        """
        if self is Combine.MAXIMUM:
            return float(np.max(values)), math.inf  # the best of several says nothing of its error
        if self is Combine.MEAN_LOG:
            n = len(values)
            error = student(n - 1) * np.std(values, ddof=1) / math.sqrt(n) if n > 1 else math.inf
            return float(np.mean(values)), float(error)
        sign = 1.0 if self is Combine.ARITHMETIC else -1.0
        return sign * log_mean(sign * values), log_mean_error(sign * values)


@dataclass(frozen=True)
class Seconds:
    run: float
    compile: float


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer on one data set.

    Attributes:
        model: name of the model.
        estimator: name of the estimator.
        side: which side of log p(y) the answer is on.
        log_ml: the log evidence, all trials combined.
        log_ml_trials: one value per trial.
        standard_error: of ``log_ml``; infinite where there is none.
        knobs: the estimator's settings, defaults resolved.
        seed: everything random followed from it.
        seconds: run and compile time.
        details: what else the estimator reports, by name.
        version: of bracketz.
        standard_error_note: why there is no error bar; None where there is one.
        certificate: a certified lower bound on log p(y), of estimators whose weights average to
            p(y); None for the others.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> answer = bz.estimate(model, data, bz.AIS(distributions=9), trials=3)
        >>> answer.side.value, answer.trials, answer.log_ml < 0
        ('lower', 3, True)
    """

    model: str
    estimator: str
    side: Side
    log_ml: float
    log_ml_trials: tuple[float, ...]
    standard_error: float
    knobs: dict
    seed: int
    seconds: Seconds
    details: dict = field(default_factory=dict)
    version: str = __version__
    standard_error_note: str | None = None
    certificate: "LowerCertificate | None" = None

    @property
    def trials(self) -> int:
        """How many there were."""
        return len(self.log_ml_trials)

    def expected(self, confidence: float = 0.95) -> tuple[float, float, float]:
        """Student's interval for the *expected* estimate of one trial.

        It says how well the estimator's own mean is known, not where log p(y) is (paper, figure
        captions).

        Args:
            confidence: of the interval.

        Returns:
            (mean, low, high); the interval is not a number with a single trial.
        """
        values = np.array(self.log_ml_trials)
        if self.trials < 2:
            return float(np.mean(values)), math.nan, math.nan
        found = mean_interval(values, confidence)
        return found.mean, found.low, found.high

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        mean, low, high = self.expected()
        known, why = math.isfinite(self.standard_error), self.standard_error_note
        c = self.certificate
        return [
            ("log evidence", f"{self.log_ml:.2f}" + f" {plus_minus(self.standard_error)}" * known),
            *([] if known else [("error bar", f"none: {why}" if why else "none")]),
            ("side", f"{self.side}: {self.side.meaning}"),
            *([(f"{percent(c.confidence)} certificate", f"at least {c.low:.2f}")] if c else []),
            (
                "one trial",
                f"{mean:.2f} on average, 95 % interval for that mean [{low:.2f}, {high:.2f}]",
            ),
            ("trials", str(self.trials)),
            *(
                (name, f"{np.mean(values):.0f} on average")
                for name, values in self.details.items()
                if name != "preparation"
            ),
            *preparation_rows(self.details.get("preparation")),
            ("knobs", ", ".join(f"{k} {v}" for k, v in self.knobs.items() if v is not None)),
            ("time", f"{self.seconds.run:.2f} s, and {self.seconds.compile:.1f} s to compile"),
        ]

    def plot(self, ax=None):
        """Every trial, and what they combine to; see ``bracketz.plots.trials``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import trials

        return trials(self, ax=ax)

    def to_arviz(self):
        """As ArviZ keeps results; see ``bracketz.interchange.arviz.to_arviz``.

        Returns:
            ``arviz.InferenceData``, or an ``xarray.DataTree`` from ArviZ 1.0 on.

        Raises:
            InputError: ArviZ is not installed.
        """
        from bracketz.interchange.arviz import to_arviz

        return to_arviz(self)

    def _repr_html_(self) -> str:
        return html_table(f"{self.estimator} on {self.model}", self.rows())

    def to_json(self) -> dict:
        """The object of ``estimate --json``."""
        mean, low, high = self.expected()
        extra = {
            "side": str(self.side),
            "trials": self.trials,
            "expected": {"mean": mean, "confidence": 0.95, "low": low, "high": high},
        }
        return finite_json(asdict(self) | extra)


def preparation_rows(told: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Where a path begins and why, and what moves along it, as (name, value); nothing where there
    was no pilot.

    Args:
        told: what ``Prepared.told`` says.

    Returns:
        The rows.
    """
    if told is None:
        return []
    stiff = "" if told["mixes"] else "; the pilot's moves hardly mix, so expect wide bounds"
    begins = ("begins at", f"the {told['begins_at']}: {told['because']}{stiff}")
    took = f"a pilot of {told['seconds']:.1f} s"
    if "reference" in told:
        laws = [f"{name.replace('_', ' ')} {law}" for name, law in told["reference"].items()]
        return [begins, ("reference", f"{', '.join(laws)}; {took}")] if laws else [begins]
    doubt = [("doubt", told["doubt"])] if told["doubt"] else []
    return [begins, ("kernel", f"{told['kernel']}, tuned by {took}"), *doubt]


def lower_share(chains: int) -> float:
    """The share of the failure probability that goes to the lower side, decided before looking.

    Its margin is log(1 / a) above, on one exact sample, and falls like sqrt(2 log(1 / a) / n)
    below (weights with a relative s.d. of 1): the shortest interval gives nearly everything to the
    upper side. The optimum of the sum for a total of 10 %, which is flat: 0.2 of it for 2 chains,
    0.06 for 25, 0.03 for 100.
    """
    share = np.linspace(0.01, 0.5, 50)
    width = -np.log1p(-share) + np.sqrt(2 * np.log(10 / share) / chains)
    return float(share[np.argmin(width)])


@dataclass(frozen=True)
class Certificate:
    """[low, high] covers log p(y) with at least this confidence, for any model and any kernels that
    leave their distributions invariant.

    Attributes:
        confidence: 1 - delta.
        low: below log p(y) but for the share of delta that the lower side may use.
        high: above it but for the rest.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> noise = np.random.default_rng(0).normal(size=100)  # a pair whose log evidence is 0
        >>> certificate = bz.Certificate.from_weights(noise - 0.5, noise + 0.5, confidence=0.9)
        >>> certificate.low < 0 < certificate.high, certificate.high - certificate.low < 3.3
        (True, True)
    """

    confidence: float
    low: float
    high: float

    @classmethod
    def from_weights(
        cls,
        forward: np.ndarray,
        reverse: np.ndarray,
        confidence: float,
        spent: float = 1.0,
        own_starts: bool = False,
    ):
        """The certificate of one sandwich: betting below, Markov's inequality above.

        Forward weights are independent with mean p(y): ``betting_bound``. Reverse weights have mean
        1 / p(y), but all begin at one exact sample, so they count as one draw: Pr(upper < log p(y)
        - b) <= e^-b. Where each begins at an exact sample of its own they are independent as well,
        and betting serves both sides, each with half of what may fail.

        Args:
            forward: log-weights of the forward chains, in their order.
            reverse: those of the reverse chains; minus their log-mean is the upper bound.
            confidence: to reach, inside (0, 1).
            spent: < 1: the share of the failure probability this look at the bounds may use.
            own_starts: each reverse chain began at an exact sample of its own.

        Returns:
            The certificate.

        Raises:
            InputError: the confidence is not inside (0, 1).
        """
        check_confidence(confidence)
        fail = (1 - confidence) * spent
        if own_starts:
            high = -betting_bound(-np.asarray(reverse), fail / 2)
            return cls(confidence, betting_bound(forward, fail / 2), high)
        below = fail * lower_share(len(forward))
        upper = -log_mean(-np.asarray(reverse))
        return cls(confidence, betting_bound(forward, below), upper - math.log(fail - below))


@dataclass(frozen=True)
class LowerCertificate:
    """log p(y) >= ``low`` with at least this confidence, by ``betting_bound``: on any data."""

    confidence: float
    low: float

    @classmethod
    def from_weights(cls, forward: np.ndarray, confidence: float, spent: float = 1.0):
        """Of independent forward log-weights in their order; ``spent`` as in ``Certificate``."""
        check_confidence(confidence)
        return cls(confidence, betting_bound(forward, (1 - confidence) * spent))


def check_confidence(confidence: float) -> None:
    """Refuse what is no confidence."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie inside (0, 1), got {confidence}")


def finite_json(tree):
    """JSON has no NaN or infinity: they become null."""
    if isinstance(tree, dict):
        return {k: finite_json(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [finite_json(v) for v in tree]
    if isinstance(tree, float) and not math.isfinite(tree):
        return None
    return tree


def html_table(title: str, rows: list[tuple[str, str]]) -> str:
    """A small table for a notebook."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{cells}</tbody></table>"
