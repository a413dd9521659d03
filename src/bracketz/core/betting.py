"""A lower confidence bound on log p(y) from forward weights, by betting against every smaller mean.

**Claim.** Let w_1, w_2, ... be independent and nonnegative with mean Z (forward weights: Z = p(y)),
and 0 < alpha < 1. For a candidate m > 0 and a stake 0 <= s <= 1 let

    K_n(m, s) = prod_{i <= n} (1 + s (w_i / m - 1)),    K_n(m) = sum_s prior(s) K_n(m, s),

the wealth, after n rounds, of a gambler who bets that the mean is larger than m. Then

    L = sup {m : K_n(m) >= 1 / alpha for some n}   satisfies   Pr(L > Z) <= alpha,

however many chains there are, and also if their number was chosen by looking at the weights.

**Proof.** Every factor is nonnegative, since s <= 1, and has mean 1 at m = Z; so K_n(Z) is a
nonnegative martingale that begins at 1, and Ville's inequality gives Pr(K_n(Z) >= 1 / alpha for
some n) <= alpha. Every factor falls in m, so K_n(m) does: if L > Z, some m > Z has K_n(m) >= 1 /
alpha for some n, and then K_n(Z) >= K_n(m) >= 1 / alpha. The order of the weights must not depend
on their values (it is the order of the chains), nor the prior over stakes.

A weight of zero is legal: it costs the stake. Nothing is assumed about tails. Markov's inequality,
log(1 / alpha) below the log of the mean, is the same argument with one round; with n rounds the
distance to the truth falls like s.d.(w / Z) sqrt(2 log(1 / alpha) / n).

Numbers are kept as logs. K_n falls in m, so bisection finds log L. Cost: about 25 passes over n
weights times the number of stakes.

**Bounded weights** also have an upper bound: with w in [0, 1] the same bets on 1 - w, whose mean is
1 - Z, give K(m) = sum_s prior(s) prod_i (1 + s ((1 - w_i) / (1 - m) - 1)), which rises in m and has
mean 1 at m = Z, so Pr(K(m) >= 1 / alpha for some m <= Z) <= alpha by Markov's inequality.
"""

from typing import TYPE_CHECKING

import numpy as np

from bracketz.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Float

#: Half of a bet each time: a stake is at most sqrt(2) from the best one, which costs little growth.
#: Stakes below 1/1000 win nothing with fewer than a million chains.
STAKES = 0.95 * 0.5 ** np.arange(10)
#: More on large stakes, which are the best ones where weights agree; sums to 1.
PRIOR = (np.arange(10) + 1.5) ** -1.5 / np.sum((np.arange(10) + 1.5) ** -1.5)

#: Of the bound, in nats, on the safe side.
PRECISION = 1e-6


def log_wealth(log_weights: "Float[np.ndarray, ' chains']", log_mean: float) -> np.ndarray:
    """log K_n(m) of every n, at m = exp(``log_mean``)."""
    ratios = (np.asarray(log_weights) - log_mean)[:, None]
    rounds = np.log1p(STAKES * np.expm1(np.minimum(ratios, 700.0)))
    wealth = np.cumsum(rounds, axis=0) + np.log(PRIOR)
    top = wealth.max(axis=1)
    return top + np.log(np.exp(wealth - top[:, None]).sum(axis=1))


def betting_bound(log_weights: "Float[np.ndarray, ' chains']", alpha: float) -> float:
    """log L: below log p(y) with probability at least 1 - ``alpha``.

    Args:
        log_weights: independent forward log-weights, in an order fixed in advance; -inf is legal.
        alpha: the failure probability, inside (0, 1).

    Returns:
        The bound; -inf where every weight is zero.

    Raises:
        InputError: ``alpha`` is not inside (0, 1), or there is no weight, or one is not a number or
            infinite.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> log_weights = np.random.default_rng(0).normal(-0.5, 1.0, size=100)  # their mean is 1
        >>> bz.betting_bound(log_weights, alpha=0.05) < 0.0
        True
    """
    log_weights = np.asarray(log_weights, dtype=float)
    if not 0 < alpha < 1:
        raise InputError(f"`alpha` must lie inside (0, 1), got {alpha}")
    if log_weights.ndim != 1 or not log_weights.size:
        raise InputError(f"`log_weights` must be a list of numbers, got shape {log_weights.shape}")
    if not np.all(log_weights < np.inf):
        raise InputError("`log_weights` must be numbers below infinity")
    top = float(log_weights.max())
    if top == -np.inf:
        return -np.inf
    log_weights, threshold = log_weights - top, -np.log(alpha)
    # At m = max(w) no round wins, so there the wealth is at most 1. Far below, one win suffices.
    high, low = 0.0, -threshold - 10.0
    while np.max(log_wealth(log_weights, low)) < threshold:
        high, low = low, 2 * low
    while high - low > PRECISION:
        middle = 0.5 * (low + high)
        if np.max(log_wealth(log_weights, middle)) >= threshold:
            low = middle
        else:
            high = middle
    return float(top + low)


#: Bounded weights are rounded up to a grid of so many points per factor of 2, down to 2^-60.
GRID, FINEST = 256, 60


def bounded_mean_bound(log_weights: "Float[np.ndarray, ' tries']", alpha: float) -> float:
    """log U: above the log-mean of weights in [0, 1] with probability at least 1 - ``alpha``.

    K falls in every weight, so rounding weights up keeps the bound, and makes millions of them a
    histogram. The wealth is looked at once, after the last weight.

    Args:
        log_weights: independent log-weights, at most 0; their number fixed in advance.
        alpha: the failure probability, inside (0, 1).

    Returns:
        The bound, at most 0.

    Raises:
        InputError: ``alpha`` is not inside (0, 1), or there is no weight, or one is above 1.
    """
    log_weights = np.asarray(log_weights, dtype=float)
    if not 0 < alpha < 1:
        raise InputError(f"`alpha` must lie inside (0, 1), got {alpha}")
    if log_weights.ndim != 1 or not log_weights.size or not np.all(log_weights <= 0):
        raise InputError("`log_weights` must be a list of numbers of at most 0")
    bins = np.clip(np.floor(-log_weights * (GRID / np.log(2))), 0, GRID * FINEST).astype(int)
    counts = np.bincount(bins)
    used = np.flatnonzero(counts)
    weights, counts = 2.0 ** (-used / GRID), counts[used]

    def log_wealth_at(m):
        rounds = np.log1p(STAKES[:, None] * (m - weights) / (1 - m))
        wealth = rounds @ counts + np.log(PRIOR)
        return wealth.max() + np.log(np.exp(wealth - wealth.max()).sum())

    threshold = -np.log(alpha)
    low, high = float(np.log(weights @ counts / counts.sum())), 0.0  # no wealth at the mean
    while high - low > PRECISION:
        middle = 0.5 * (low + high)
        if log_wealth_at(np.exp(middle)) >= threshold:
            high = middle
        else:
            low = middle
    return high
