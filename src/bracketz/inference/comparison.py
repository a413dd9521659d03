"""What a comparison answers: a lower bound per model, how far to trust it, and a verdict."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from bracketz._version import __version__
from bracketz.core.results import LowerCertificate, Seconds, finite_json, html_table
from bracketz.core.weights import normalised

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


def candidate_label(model: str, components: int | None) -> str:
    """What a candidate is called in a sentence."""
    return (
        model
        if components is None
        else f"{model} with {components} component{'s' * (components != 1)}"
    )


@dataclass(frozen=True)
class Simulated:
    """Both bounds at the same settings on one data set simulated from the fitted model."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower


@dataclass(frozen=True)
class Candidate:
    """One model's lower bound on log p(y), and the way there."""

    model: str
    components: int | None
    lower: float
    standard_error: float
    distributions: int
    rungs: tuple[tuple[int, float], ...]  # (distributions, lower bound)
    settled: bool  # the last two doublings raised it by less than the tolerance
    hyperparameters: dict  # posterior mean of each inferred one, by the weights of the chains
    simulated: tuple[Simulated, ...] = ()
    certificate: LowerCertificate | None = None  # pays for every rung that was looked at
    begins_at: str = "prior"  # or "reference": where its path begins

    @property
    def label(self) -> str:
        return candidate_label(self.model, self.components)

    @property
    def margin(self) -> float | None:
        """The largest gap on simulated data: how far below the truth these settings were there."""
        return max((max(s.gap, 0.0) for s in self.simulated), default=None)


@dataclass(frozen=True)
class Comparison:
    """Models on one data set, in the order of their lower bounds, best first.

    ``probabilities`` is the posterior over them, with lower bounds in place of evidences;
    ``decided`` and ``verdict`` say whether the winner's lead is larger than what the bounds were
    off by on simulated data.

    Attributes:
        candidates: a bound per model, with the way there.
        chains: of AIS, per model.
        tolerance: nats; a bound that two doublings did not raise by this has settled.
        seed: everything random followed from it.
        seconds: run and compile time.
        log_jacobian: already in every bound; 0 unless the columns were standardised.
        missing: entries of the data that were not observed.
        version: of bracketz.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.compare(y, [bz.InferredClustering(2)], chains=2, first=8, max_effort=8)
        >>> answer.best.components
        2
    """

    candidates: tuple[Candidate, ...]
    chains: int
    tolerance: float
    seed: int
    seconds: Seconds
    log_jacobian: float = 0.0  # already in every bound; 0 unless the columns were standardised
    missing: int = 0
    version: str = __version__

    @property
    def best(self) -> Candidate:
        """The one with the highest lower bound."""
        return self.candidates[0]

    @property
    def probabilities(self) -> np.ndarray:
        """Posterior over the candidates, equal prior odds, with lower bounds in place of
        evidences."""
        return normalised(np.array([c.lower for c in self.candidates]))

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """Those the winner does not clear: their bound plus margin, and twice the standard error,
        reach it."""
        best = self.best

        def reach(c):
            return (
                c.lower + (c.margin or 0.0) + 2 * math.hypot(c.standard_error, best.standard_error)
            )

        return tuple(c for c in self.candidates[1:] if reach(c) >= best.lower)

    @property
    def decided(self) -> bool | None:
        """None: without validation there is nothing to hold the winner's lead against."""
        if any(c.margin is None for c in self.candidates):
            return None
        return not self.rivals

    @property
    def verdict(self) -> str:
        """One sentence."""
        best = self.best
        if len(self.candidates) == 1:
            return "one model: nothing to compare it with."
        if self.decided is None:
            return (
                f"{best.label} has the highest lower bound; how far the bounds are below the"
                " truth is not known (`validate` estimates it)."
            )
        if self.decided:
            return f"decided: {best.label}, by more than the bounds were off on simulated data."
        names = "; ".join(c.label for c in self.rivals[:3])
        names += f" and {len(self.rivals) - 3} more" if len(self.rivals) > 3 else ""
        more = 4 * max(c.distributions for c in self.candidates)
        return (
            f"not decided at this effort: {best.label} does not clear {names}, whose bounds may"
            f" be further below the truth than its lead; try `first={more}`"
            f" `max_effort={4 * more}`, or more `chains`."
        )

    def to_json(self) -> dict:
        """The object of ``compare --json``."""
        out = dataclasses.asdict(self)
        for entry, candidate, probability in zip(
            out["candidates"], self.candidates, self.probabilities, strict=True
        ):
            entry |= {
                "probability": float(probability),
                "behind": self.best.lower - candidate.lower,
                "evidence_against": None
                if candidate is self.best
                else strength(self.best.lower - candidate.lower),
                "margin": candidate.margin,
                "side": "lower",
            }
        return finite_json(out | {"decided": self.decided, "verdict": self.verdict})

    def plot(self, ax=None):
        """Bounds against the number of components; see ``bracketz.plots.evidences``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots import evidences

        return evidences(self, ax=ax)

    def _repr_html_(self) -> str:
        rows = [(c.label, f"{c.lower:.1f} ± {c.standard_error:.1f}") for c in self.candidates]
        return html_table("log evidence, lower bounds", [*rows, ("verdict", self.verdict)])
