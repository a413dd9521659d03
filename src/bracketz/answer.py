"""What an answer contains: the value, its side, its error bar, and what it took."""

import enum
import math
from dataclasses import asdict, dataclass, field

import numpy as np
from scipy.special import stdtrit  # scipy comes with JAX

from bracketz._version import __version__
from bracketz.errors import InputError
from bracketz.weights import log_mean_error


class Side(enum.StrEnum):
    """Which side of log p(y) an estimate is on, in probability (paper, eqns. markov and jensen)."""

    LOWER = "lower"
    UPPER = "upper"
    NONE = "none"


class Combine(enum.Enum):
    """How independent trials become one value (paper, Algorithm parameters, footnote)."""

    ARITHMETIC = "arithmetic mean of the weights"  # unbiased estimators
    HARMONIC = "harmonic mean of the weights"  # unbiased estimators of the reciprocal
    MAXIMUM = "largest value"  # deterministic lower bounds
    MEAN_LOG = "mean of the logs"

    def __call__(self, values: np.ndarray) -> tuple[float, float]:
        """(combined value, its standard error)."""
        if self is Combine.MAXIMUM:
            return float(np.max(values)), 0.0
        if self is Combine.MEAN_LOG:
            n = len(values)
            error = np.std(values, ddof=1) / math.sqrt(n) if n > 1 else math.nan
            return float(np.mean(values)), float(error)
        sign = 1.0 if self is Combine.ARITHMETIC else -1.0
        top = np.max(sign * values)
        combined = sign * (top + np.log(np.mean(np.exp(sign * values - top))))
        return float(combined), log_mean_error(sign * values)


@dataclass(frozen=True)
class Seconds:
    run: float
    compile: float


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer on one data set."""

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

    @property
    def trials(self) -> int:
        return len(self.log_ml_trials)

    def expected(self, confidence: float = 0.95) -> tuple[float, float, float]:
        """(mean, low, high): Student's interval for the *expected* log-ML estimate of one trial.

        It says how well the estimator's own mean is known, not where log p(y) is (paper, figure captions).
        """
        values, n = np.array(self.log_ml_trials), self.trials
        mean = float(np.mean(values))
        if n < 2:
            return mean, math.nan, math.nan
        half = float(stdtrit(n - 1, 0.5 + confidence / 2) * np.std(values, ddof=1) / math.sqrt(n))
        return mean, mean - half, mean + half

    def to_json(self) -> dict:
        """The object of ``estimate --json``."""
        mean, low, high = self.expected()
        extra = {
            "side": str(self.side),
            "trials": self.trials,
            "expected": {"mean": mean, "confidence": 0.95, "low": low, "high": high},
        }
        return finite_json(asdict(self) | extra)


@dataclass(frozen=True)
class Certificate:
    """[low, high] covers log p(y) with at least this confidence: Markov's inequality on both sides.

    Pr(lower > log p(y) + b) < e^-b and Pr(upper < log p(y) - b) < e^-b; b = log(2 / delta) each.
    """

    confidence: float
    low: float
    high: float

    @classmethod
    def from_bounds(cls, lower: float, upper: float, confidence: float, spent: float = 1.0):
        """``spent`` < 1 is the share of the failure probability this look at the bounds may use."""
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie inside (0, 1), got {confidence}")
        margin = math.log(2 / ((1 - confidence) * spent))
        return cls(confidence, lower - margin, upper + margin)


def finite_json(tree):
    """JSON has no NaN or infinity: they become null."""
    if isinstance(tree, dict):
        return {k: finite_json(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [finite_json(v) for v in tree]
    if isinstance(tree, float) and not math.isfinite(tree):
        return None
    return tree
