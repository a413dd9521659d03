"""The only place where weights become numbers: means, effective sample size, resampling, BAR."""

import math
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri, stdtrit

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int


def logmeanexp(log_weights: "Float[Array, '*n']", axis=-1):
    """log of the arithmetic mean of exp(log_weights)."""
    return jax.nn.logsumexp(log_weights, axis=axis) - jnp.log(log_weights.shape[axis])


def effective_sample_size(log_weights: "Float[Array, ' particles']") -> "Float[Array, '']":
    """(sum w)^2 / sum w^2, between 1 and the number of particles."""
    return jnp.exp(2 * jax.nn.logsumexp(log_weights) - jax.nn.logsumexp(2 * log_weights))


#: Log-weights this far below their mean count as zero: what is lost there moves no mean.
NEGLIGIBLE = 3.0
#: Effective sample size from which a sample's own variance is believed.
TRUSTED = 100
#: Log-weights that agree to this many nats are one value.
SAME = 1e-4


def log_mean(log_values: "Float[np.ndarray, ' trials']") -> float:
    """log of the arithmetic mean of exp(log_values), in NumPy; -inf where all are."""
    top = np.max(log_values)
    if top == -np.inf:
        return -np.inf
    return float(top + np.log(np.mean(np.exp(log_values - top))))


def normalised(log_weights: "Float[np.ndarray, ' trials']") -> "Float[np.ndarray, ' trials']":
    """Weights that sum to 1; equal ones where all are 0 and say nothing."""
    top = np.max(log_weights)
    weights = np.ones(len(log_weights)) if top == -np.inf else np.exp(log_weights - top)
    return weights / weights.sum()


def student(degrees: int) -> float:
    """What an error bar from few values is widened by, so that two of it cover what two normal ones
    do: the 97.5 % quantile of Student's t over the normal one."""
    return float(stdtrit(degrees, 0.975) / ndtri(0.975))


def relative_variance(log_values: "Float[np.ndarray, ' trials']") -> float:
    """Variance of w / mean(w).

    A handful of skewed weights shows too little of it: the sample's own value is at most n however
    they are spread. So below an effective sample size n / (1 + v) of ``TRUSTED`` it is the larger
    of that and of what log-normal weights with the variance of these logs have, e^s2 - 1.
    """
    mean = log_mean(log_values)
    seen = float(np.var(np.exp(log_values - mean), ddof=1))
    if len(log_values) >= TRUSTED * (1 + seen):
        return seen
    logs = np.maximum(log_values - mean, -NEGLIGIBLE)
    log_normal = np.expm1(min(float(np.var(logs, ddof=1)), 500.0))
    return max(seen, float(log_normal))


def log_mean_variance(relative_variance: float, n: int) -> float:
    """Of the log of a mean of n weights, if that mean is nearly log-normal: log(1 + v / n), v the
    relative variance of one. That is v / n, the delta method, where it is small, and no more than
    the spread of the logs where it is not. The log-mean is half of it too low on average."""
    return math.log1p(relative_variance / n)


def log_mean_noise(relative_variance: float, n: int) -> float:
    """Standard error of a log-mean: its spread and its bias together, widened by Student's
    factor."""
    variance = log_mean_variance(relative_variance, n)
    return math.hypot(math.sqrt(variance), 0.5 * variance) * student(n - 1)


def shared_start_noise(gap: float, spread: float, refines: bool) -> float:
    """What the one exact sample adds to the error of an upper bound, in nats; a rule of thumb.

    All reverse chains begin at it, so what the start contributes does not average out, and one
    start cannot show how much another would have differed. Along a path that refines a chain
    forgets its start over a vanishing part of the way: the contribution falls with the single-chain
    ``gap``, of which a quarter is taken. Along others it may be all of the gap, or half the s.d. of
    a forward log-weight (``spread`` is its variance). With these, two standard errors of the upper
    bound cover 93 to 100 % of the time (benchmarks/honesty.py, docs/honesty.md).
    """
    return gap / 4 if refines else max(gap, 0.5 * math.sqrt(spread))


def tied(log_values: "Float[np.ndarray, ' trials']") -> bool:
    """Whether most values are the same one. Then the weights have atoms, and a spread that was not
    seen is no spread of zero: the one chain in n that went elsewhere may be missing."""
    middle = np.median(log_values)
    if middle == -np.inf:  # most weights are zero
        return True
    return bool(np.sum(np.abs(log_values - middle) < SAME) * 2 >= len(log_values))


def log_mean_error(log_values: "Float[np.ndarray, ' trials']") -> float:
    """Standard error of the log-mean over independent trials; infinite where it cannot be had.

    ``log_mean_noise``, and where the trials are tied at least 1 / n: what one more trial of weight
    zero would change. Two standard errors cover 92 to 99 % of the time with 2, 5, 25 and 100 chains
    on tiny models with known evidence (benchmarks/honesty.py, docs/honesty.md).
    """
    n = len(log_values)
    if n < 2 or log_mean(log_values) == -np.inf:
        return math.inf
    error = log_mean_noise(relative_variance(log_values), n)
    return max(error, 1 / n) if tied(log_values) else error


def shared_start_error(
    forward: "Float[np.ndarray, ' up']", reverse: "Float[np.ndarray, ' down']", refines: bool
) -> float:
    """``shared_start_noise`` of a measurement."""
    forward = _above_zero(forward)
    gap = max(0.0, float(np.mean(reverse) - np.mean(forward)))
    return shared_start_noise(gap, float(np.var(forward, ddof=1)), refines)


def _above_zero(log_values):
    """Without the weights of zero, if there are others."""
    kept = log_values[log_values > -np.inf]
    return kept if len(kept) > 1 else np.zeros(2)


# Resampling: ancestor indices with expected counts P * w / sum(w), each unbiased.


def _from_quantiles(weights, quantiles):
    cumulative = jnp.cumsum(weights)
    index = jnp.searchsorted(cumulative, quantiles * cumulative[-1], side="right")
    return jnp.minimum(index, weights.shape[0] - 1)


def systematic(key, weights: "Float[Array, ' particles']") -> "Int[Array, ' particles']":
    """One uniform, equally spaced quantiles: the lowest variance of the three as a rule."""
    p = weights.shape[0]
    return _from_quantiles(weights, (jnp.arange(p) + jax.random.uniform(key)) / p)


def multinomial(key, weights: "Float[Array, ' particles']") -> "Int[Array, ' particles']":
    """P independent draws."""
    return _from_quantiles(weights, jax.random.uniform(key, weights.shape))


def residual(key, weights: "Float[Array, ' particles']") -> "Int[Array, ' particles']":
    """floor(P w) copies of each particle for certain, the remaining places drawn independently."""
    p = weights.shape[0]
    expected = p * weights / jnp.sum(weights)
    copies = jnp.floor(expected)
    slots = jnp.arange(p)
    certain = jnp.searchsorted(jnp.cumsum(copies), slots, side="right")
    drawn = _from_quantiles(expected - copies, jax.random.uniform(key, (p,)))
    return jnp.where(slots < jnp.sum(copies), jnp.minimum(certain, p - 1), drawn)


RESAMPLERS = {"systematic": systematic, "multinomial": multinomial, "residual": residual}


def resample_indices(scheme: str, key, log_weights):
    """Ancestors by ``scheme``, proportionally to exp(log_weights)."""
    return RESAMPLERS[scheme](key, jnp.exp(log_weights - jnp.max(log_weights)))


class PointEstimate(NamedTuple):
    """A log evidence and its error bar."""

    log_ml: float
    standard_error: float


def _sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def _weighted_moments(values, weights):
    """Mean and variance of ``values`` under normalised ``weights``."""
    weights = weights / np.sum(weights)
    mean = np.sum(weights * values)
    return mean, np.sum(weights * (values - mean) ** 2)


def bennett(
    forward: "Float[np.ndarray, ' up']",
    reverse: "Float[np.ndarray, ' down']",
    shared_start: bool = True,
) -> PointEstimate:
    """Bennett's acceptance ratio from both directions' l = log w (each an estimate of log Z).

    The path measures satisfy q_B(l) / q_F(l) = exp(l - log Z), so P(reverse | l) =
    sigmoid(l - log Z - log(n_F / n_B)), and the maximum-likelihood log Z solves
    sum over both samples of that probability = n_B (Shirts et al. 2003). The left side falls
    monotonically in log Z: bisection.

    Error bar: forward chains are independent. Reverse chains share one exact sample: they are one
    cluster, and what the shared start contributes does not average out. A single cluster shows its
    own deviation only against an independent prediction, which the forward chains give by
    reweighting, E_B[h] = E_F[h exp(l - log Z)]. The shared part is the largest of three estimates:
    total variance of the score under q_B (pooled, or forward chains reweighted) less the variance
    within the reverse chains, and the squared deviation of their mean from the prediction. In
    simulations with correlations from 0 to 0.95 the interval of two standard errors covers at least
    90 % of the time (tests/core/test_weights.py); treating the chains as independent covers far
    less. Where each reverse chain has a start of its own (``shared_start`` False) they are
    independent, and only the last of the three is left: it shows starts that are not the
    posterior's.

    Widened by Student's factor for both samples, and never zero: at least half of 1 / n where
    chains are tied (``log_mean_error``), which few chains of a discrete model often are.

    Where the two samples do not overlap the equation says nothing: any value between them nearly
    solves it. Then the answer is their midpoint, give or take half their distance or the errors of
    both bounds, whichever is more. A forward weight of zero is legal, and a certain "forward".
    """
    forward, reverse = np.asarray(forward, float), np.asarray(reverse, float)
    pooled = np.concatenate([forward, reverse])
    n_f, n_b = len(forward), len(reverse)
    offset = np.log(n_f / n_b)
    if np.max(forward) == -np.inf:
        return PointEstimate(-math.inf, math.inf)

    finite = pooled[np.isfinite(pooled)]
    low, high = finite.min() - abs(offset) - 50, finite.max() + abs(offset) + 50
    for _ in range(200):
        log_z = 0.5 * (low + high)
        if _sigmoid(pooled - log_z - offset).sum() > n_b:
            low = log_z
        else:
            high = log_z

    p = _sigmoid(pooled - log_z - offset)
    score_f, score_b = p[:n_f], p[n_f:]
    information = np.sum(p * (1 - p))
    middle_f, middle_b = np.mean(forward[forward > -np.inf]), np.mean(reverse)
    half = 0.5 * abs(middle_b - middle_f)
    least = 0.5 / min(n_f, n_b) if tied(forward) or tied(reverse) else 0.0
    either = math.hypot(log_mean_error(forward), log_mean_error(-reverse))
    no_overlap = PointEstimate(float(0.5 * (middle_b + middle_f)), float(max(half, either)))
    if n_f < 2 or n_b < 2 or information == 0:
        return no_overlap
    within_b = np.var(score_b, ddof=1)
    _, pooled_b = _weighted_moments(p, p)  # E_B[h] = E_pooled[h P(reverse | l)] / P(reverse)
    predicted, predicted_b = _weighted_moments(score_f, np.exp(forward - forward.max()))
    off = (np.mean(score_b) - predicted) ** 2
    shared = max(pooled_b - within_b, predicted_b - within_b, off)
    if not shared_start:
        shared = off
    variance = n_f * np.var(score_f, ddof=1) + n_b * within_b + n_b**2 * shared
    error = max(float(np.sqrt(variance) / information) * student(n_f + n_b - 2), least)
    return PointEstimate(float(log_z), error) if error < max(half, 1.0) else no_overlap


class MeanInterval(NamedTuple):
    """A mean, its standard error, and an interval for its expectation."""

    mean: float
    error: float
    low: float
    high: float


def mean_interval(values: np.ndarray, confidence: float) -> MeanInterval:
    """By Student's t: asymptotic in the number of values. A value that is infinite leaves no error
    bar, and no end on either side."""
    n, mean = len(values), float(np.mean(values))
    if not math.isfinite(mean):
        return MeanInterval(mean, math.inf, -math.inf, math.inf)
    error = float(np.std(values, ddof=1) / math.sqrt(n))
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    return MeanInterval(mean, error, mean - half, mean + half)
