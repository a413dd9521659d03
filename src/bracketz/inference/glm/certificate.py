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
from scipy.special import logsumexp

from bracketz.core.betting import betting_bound, bounded_mean_bound
from bracketz.core.results import Certificate, check_confidence, finite_json, html_table
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import log_mean, log_mean_error
from bracketz.errors import InputError
from bracketz.inference.glm.envelope import (
    Envelope,
    Rates,
    envelope,
    lower_bound,
    rates,
    upper_bound,
)
from bracketz.inference.glm.regression import Whitened, as_regression, whiten
from bracketz.inference.glm.tries import batch_size, run_batch, target

#: Tries at the least: fewer are not faster.
FEWEST = 1 << 13
#: Blocks of tries the lower side bets on, per draw wanted: a block's mean has a relative variance
#: of at most this, which the stakes of ``betting_bound`` are made for.
BLOCKS_PER_DRAW, FEWEST_BLOCKS = 8, 1024


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

    def _repr_html_(self) -> str:
        rows, columns = self.shape
        title = f"log evidence, {self.family} regression of {rows} x {columns}"
        return html_table(title, self.rows())


@dataclass(frozen=True)
class _Prepared:
    """Everything that is known before anything is drawn."""

    at: Whitened
    found: Rates
    hull: Envelope
    low: float
    high: float  # of the envelope

    @property
    def top(self) -> float:
        """Above the log evidence: counts and classes have probabilities of at most 1."""
        return min(self.high, 0.0)

    @property
    def tries(self) -> float:
        """At least the expected number per exact draw."""
        return math.exp(min(self.high - self.low, 700.0))

    def afford(self, draws: int, max_tries: int) -> float:
        """How many tries that takes, at most, on average; refused where it is too many."""
        need = draws * self.tries
        if need > max_tries:
            fit = int(max_tries / self.tries)
            fewer = f"ask for at most {fit} `draws`, " if fit else ""
            raise InputError(
                f"{draws} exact draws may take {need:.3g} tries ({self.tries:.3g} each; radius"
                f" {self.found.linear:.2f} in {len(self.at.mode)} dimensions), above `max_tries`,"
                f" {max_tries:,}: raise it, {fewer}take a smaller `prior_scale`, or certify_glm"
                f" with `draws` 0, which gives [{self.low:.2f}, {self.top:.2f}] without sampling"
            )
        return need


def _prepare(X, y, family, prior_scale, prior_covariance, offset) -> _Prepared:
    at = whiten(
        as_regression(
            X,
            y,
            family=family,
            prior_scale=prior_scale,
            prior_covariance=prior_covariance,
            offset=offset,
        )
    )
    found = rates(at)
    hull = envelope(found, len(at.mode))
    return _Prepared(at, found, hull, lower_bound(at), upper_bound(at, hull))


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
        prior_covariance: the prior's covariance matrix, instead of ``prior_scale``.
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
        NumericalError: columns are too nearly collinear for floating-point numbers.

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
    ready = _prepare(X, y, family, prior_scale, prior_covariance, offset)
    at, low, high, top = ready.at, ready.low, ready.high, ready.top
    rows, columns = at.rows.shape
    laplace = at.log_scale + 0.5 * columns * math.log(2 * math.pi)
    value, error, tries = min(max(laplace, low), top), math.inf, 0
    lower, upper, kept = low, top, [np.empty((0, columns))]
    if draws:
        need = max(ready.afford(draws, max_tries), FEWEST)
        size = batch_size(rows, columns, wanted=need)
        t, log_weights = target(at, ready.hull), []
        for number in range(math.ceil(need / size)):
            batch = run_batch(at, t, seed, number, size)
            log_weights.append(batch.log_weights)
            kept.append(batch.draws)
        weights = np.concatenate(log_weights)
        tries, fail = len(weights), (1 - confidence) / 2
        blocks = _block_means(weights, max(BLOCKS_PER_DRAW * draws, FEWEST_BLOCKS), size)
        lower = max(low, high + betting_bound(blocks, fail))
        upper = min(high + bounded_mean_bound(weights, fail), top)
        if lower > upper:  # a failure that shows, within the probability allowed
            lower, upper = low, top
        value, error = high + log_mean(blocks), log_mean_error(blocks)
        value = min(max(value, lower), upper)
    found = np.concatenate(kept)
    return GLMCertificate(
        family=family,
        shape=(rows, columns),
        lower=lower,
        upper=upper,
        certificate=Certificate(confidence, lower, upper),
        deterministic=(low, top),
        log_ml=value,
        standard_error=error,
        tries=tries,
        predicted_tries=ready.tries,
        tries_per_draw=tries / len(found) if len(found) else math.nan,
        leverage=ready.found.leverage,
        radius=ready.found.linear,
        draws=found,
        seed=seed,
        seconds=time.perf_counter() - began,
    )


def _block_means(log_weights: np.ndarray, blocks: int, batch: int) -> np.ndarray:
    """Log-means of blocks of equal size, about as many as asked for; decided without looking."""
    size = 1 << int(np.log2(max(len(log_weights) // blocks, 1)))
    grouped = log_weights.reshape(-1, min(size, batch))
    return logsumexp(grouped, axis=1) - math.log(grouped.shape[1])


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
        NumericalError: columns are too nearly collinear for floating-point numbers.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> bz.glm_draws(np.ones((5, 1)), [0, 1, 1, 0, 1], 10, family="logistic").shape
        (10, 1)
    """
    check_seed(seed)
    require_at_least(1, draws=draws)
    ready = _prepare(X, y, family, prior_scale, prior_covariance, offset)
    need = max(ready.afford(draws, max_tries), FEWEST)
    size = batch_size(*ready.at.rows.shape, wanted=need)
    t, found, number = target(ready.at, ready.hull), np.empty((0, len(ready.at.mode))), 0
    while len(found) < draws:
        found = np.concatenate([found, run_batch(ready.at, t, seed, number, size).draws])
        number += 1
    return found[:draws]
