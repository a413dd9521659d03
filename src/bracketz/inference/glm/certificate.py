"""A certified interval for the log evidence of a logistic or Poisson regression, on observed data.

``certify_glm`` needs no exact sample from anybody: the posterior is log-concave with known
third derivatives, so there is a density that lies above it and can be drawn from exactly
(``envelope``). Three things follow, each certified: the envelope's integral is an upper bound
without any sampling, a Gaussian gives a lower bound without any sampling, and the weights of
independent tries lie in [0, 1], so that betting gives both sides with a stated confidence
(``bracketz.core.betting``). Tries that are kept are exact posterior draws.
"""

import dataclasses
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bracketz.core.results import Certificate, check_confidence, finite_json, html_table
from bracketz.core.validation import check_seed, require_at_least
from bracketz.inference.glm.prepared import prepare
from bracketz.inference.glm.sampled import sampled, unsampled


@dataclass(frozen=True)
class GLMCertificate:
    """An interval that covers the log evidence of observed data, and what it rests on.

    ``lower`` and ``upper`` are the better of the deterministic and the sampled bounds on each side.

    Attributes:
        family: "logistic" or "poisson".
        shape: rows and columns of ``X``.
        lower, upper: the interval; ``certificate`` has the same numbers.
        certificate: confidence, low and high.
        deterministic: (low, high), which hold without any sampling.
        log_ml: the point estimate, within the interval: from all weights, or Laplace's where
            nothing was sampled.
        standard_error: of it; infinite where nothing was sampled.
        tries: points drawn from the envelope.
        predicted_tries: at most so many per exact draw, on average; known before sampling.
        tries_per_draw: what it took; not a number where nothing was kept.
        leverage: the largest row norm in whitened coordinates, the R of the plain argument.
        radius: the R in use, which bounds all rows together.
        draws: independent exact posterior draws of the coefficients, (draws, columns).
        seed: everything random follows from it.
        seconds: in all.
        kind: "certified", always.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> X = np.column_stack([np.ones(20), np.linspace(-1, 1, 20)])
        >>> answer = bz.certify_glm(X, np.arange(20) >= 8, family="logistic", draws=50)
        >>> answer.kind, answer.deterministic[0] <= answer.lower < answer.upper
        ('certified', True)
        >>> answer.draws.shape[1]
        2
    """

    family: str
    shape: tuple[int, int]
    lower: float
    upper: float
    certificate: Certificate
    deterministic: tuple[float, float]
    log_ml: float
    standard_error: float
    tries: int
    predicted_tries: float
    tries_per_draw: float
    leverage: float
    radius: float
    draws: np.ndarray = field(repr=False, compare=False)
    seed: int
    seconds: float
    kind: str = "certified"

    def to_json(self) -> dict[str, Any]:
        """As plain values; of the draws, how many there are."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain |= {"draws": len(self.draws), "certificate": dataclasses.asdict(self.certificate)}
        return finite_json(plain)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        low, high = self.deterministic
        error = f" ± {self.standard_error:.3f}" if self.tries else " (Laplace's approximation)"
        sure = f"{self.certificate.confidence:.3g}" if self.tries else "certain"
        sampled = f"{len(self.draws):,} exact draws in {self.tries:,} tries"
        return [
            (f"certified interval ({sure})", f"[{self.lower:.3f}, {self.upper:.3f}]"),
            ("without sampling", f"[{low:.3f}, {high:.3f}]"),
            ("log evidence", f"{self.log_ml:.3f}{error}"),
            ("posterior", sampled if self.tries else "not sampled"),
            ("tries per draw", f"{self.tries_per_draw:.3g}, predicted {self.predicted_tries:.3g}"),
            ("radius", f"{self.radius:.2f}, and the largest row's {self.leverage:.2f}"),
            ("time", f"{self.seconds:.2f} s"),
        ]

    def plot(self, ax=None):
        """The deterministic interval, the certified one within it, and the point estimate.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots.canvas import figure_and_axes

        figure, (axis, *_) = figure_and_axes(ax, width=5.0, height=1.8)
        intervals = {"without sampling": self.deterministic, "certified": (self.lower, self.upper)}
        for place, (low, high) in enumerate(intervals.values()):
            axis.plot([low, high], [place, place], lw=6, solid_capstyle="butt", color="#0072B2")
        axis.plot(self.log_ml, 1, "|", ms=14, color="black")
        axis.set_yticks(range(len(intervals)), list(intervals))
        axis.set(xlabel="log evidence  [nats]", ylim=(-0.6, 1.6))
        return figure

    def _repr_html_(self) -> str:
        rows, columns = self.shape
        title = f"log evidence, {self.family} regression of {rows} x {columns}"
        return html_table(title, self.rows())


def certify_glm(
    X,
    y,
    *,
    family: str,
    prior_scale: Any = 1.0,
    prior_covariance: Any = None,
    offset: Any = None,
    confidence: float = 0.95,
    draws: int = 400,
    max_tries: int = 10_000_000,
    seed: int = 0,
) -> GLMCertificate:
    """A certified interval for the log evidence of a regression with a Gaussian prior N(0, scale^2)
    on its coefficients.

    It holds for the data as they are, by a proof (docs/glm.md), up to floating-point and
    pseudo-random numbers; nothing has to converge. How many tries there will be is fixed before the
    first one, from bounds that need no sampling. Where that is too many, it refuses.

    Args:
        X: covariates, one row per observation; an intercept is a column of ones.
        y: 0 or 1 (logistic), or counts (poisson).
        family: "logistic" or "poisson", the latter with a log link.
        prior_scale: the prior's standard deviation, one for all coefficients or one each.
        prior_covariance: the prior's covariance matrix, instead of ``prior_scale``; not too nearly
            singular.
        offset: added to the linear predictor, one number per row; 0 by default.
        confidence: of the interval.
        draws: exact posterior draws, on average at least so many. More make the interval narrower:
            about as one over their root. 0: the deterministic interval alone.
        max_tries: refuse where more may be needed.
        seed: everything random follows from it.

    Returns:
        The interval, the deterministic one, the point estimate, exact posterior draws, and what
        they took.

    Raises:
        InputError: a value out of range, or the predicted number of tries is above ``max_tries``.
        NumericalError: too much rounding, as with nearly collinear columns or a very wide prior.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = np.column_stack([np.ones(50), rng.normal(size=50)])
        >>> y = rng.poisson(np.exp(X @ [0.5, 0.3]))
        >>> answer = bz.certify_glm(X, y, family="poisson", prior_scale=2.0)
        >>> answer.upper - answer.lower < 0.1
        True
    """
    began = time.perf_counter()
    check_confidence(confidence)
    check_seed(seed)
    require_at_least(0, draws=draws)
    ready = prepare(
        X,
        y,
        family=family,
        prior_scale=prior_scale,
        prior_covariance=prior_covariance,
        offset=offset,
    )
    found = sampled(ready, draws, confidence, max_tries, seed) if draws else unsampled(ready)
    return GLMCertificate(
        family=family,
        shape=ready.at.rows.shape,
        lower=found.lower,
        upper=found.upper,
        certificate=Certificate(confidence, found.lower, found.upper),
        deterministic=(ready.low, ready.top),
        log_ml=min(max(found.log_ml, found.lower), found.upper),
        standard_error=found.error,
        tries=found.tries,
        predicted_tries=ready.tries,
        tries_per_draw=found.tries / len(found.draws) if len(found.draws) else math.nan,
        leverage=ready.constants.leverage,
        radius=ready.constants.linear,
        draws=found.draws,
        seed=seed,
        seconds=time.perf_counter() - began,
    )


def glm_draws(
    X,
    y,
    draws: int,
    *,
    family: str,
    prior_scale: Any = 1.0,
    prior_covariance: Any = None,
    offset: Any = None,
    max_tries: int = 10_000_000,
    seed: int = 0,
) -> np.ndarray:
    """Independent exact draws from the posterior of a regression with a Gaussian prior, by
    rejection.

    Each is what a reverse run needs to begin at: an exact posterior sample, on observed data. The
    arguments are those of ``certify_glm``.

    Args:
        X: covariates, one row per observation.
        y: the responses.
        draws: how many.
        family: "logistic" or "poisson".
        prior_scale: the prior's standard deviation, one for all coefficients or one each.
        prior_covariance: the prior's covariance matrix, instead of ``prior_scale``.
        offset: added to the linear predictor.
        max_tries: refuse where more may be needed, on average.
        seed: everything random follows from it.

    Returns:
        The coefficients, (draws, columns).

    Raises:
        InputError: a value out of range, or the predicted number of tries is above ``max_tries``.
        NumericalError: too much rounding, as with nearly collinear columns or a very wide prior.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> bz.glm_draws(np.ones((5, 1)), [0, 1, 1, 0, 1], 10, family="logistic").shape
        (10, 1)
    """
    check_seed(seed)
    require_at_least(1, draws=draws)
    ready = prepare(
        X,
        y,
        family=family,
        prior_scale=prior_scale,
        prior_covariance=prior_covariance,
        offset=offset,
    )
    need, kept, count = ready.afford(draws, max_tries), [], 0
    for batch in ready.batches(need, seed):
        kept.append(batch.draws)
        count += len(batch.draws)
        if count >= draws:
            break
    return np.concatenate(kept)[:draws]
