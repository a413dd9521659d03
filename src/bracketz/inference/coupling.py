"""Posterior states from forward runs alone, and how far from the posterior they are.

**The chain.** Independent forward runs give pairs (w, x) of a weight and an end state. A chain that
stands at (w, x), is offered the next pair (w', x') and takes it with probability min(1, w' / w)
leaves the posterior of x invariant, whatever the model: particle independent Metropolis-Hastings
(Andrieu, Doucet and Holenstein 2010; E[w'] = p(y) on an extended space whose marginal at the end of
a run is p(x | y)).

**The coupling.** X begins at pair 0. Y begins at pair L, and from then on both are offered the same
pairs and throw the same uniforms, Y being L steps behind: (X_t, Y_{t-L}) at pair t. They meet where
both take a pair, at time m (Middleton, Deligiannidis, Doucet and Jacob 2019). X refused pair L if
they have not met there, so its weight M is the larger one; it stays M as long as they have not met,
since a pair that X takes is one that Y takes (u < w' / M <= w' / w_Y). So they meet at the first
pair, from L on, that X takes: each time with probability

    a(M) = E min(1, w' / M),

and m - L is geometric given M. Lagged couplings bound the distance in total variation of X_t from
the posterior (Biswas, Jacob and Vanetti 2019) by E max(0, ceil((m - L - t) / L)), which is

    e(t) = E sum_{j >= 0} (1 - a(M))^(t + 1 + j L) = E (1 - a(M))^(t + 1) / (1 - (1 - a(M))^L).

**What is done.** P chains with n pairs each, all of them different, so that chains are independent.
Their end states, t = n - 1, begin reverse runs: their joint law is within P e(t) of that of P
independent posterior draws. M is where X stands after pair L - 1. The chain is stochastically
monotone in the weight and begins below the posterior in that order (the posterior has weights
biased by their size), and the term under the expectation rises in M: so the average over the
posterior's M is at least the one over X's, whatever L. It is estimated from all pairs by their
weights, with a(M) from all pairs but its own: no meeting that never comes is waited for, and one
chain alone can be judged too.

**What it cannot see.** It is an estimate from the pairs there are. A region of the posterior that
no forward run has found has no weight here, and no meeting time tells of it; weights larger than
any seen make the distance larger than it looks. Everything that rests on it is *conditional* on
that.

Cost: none beside the forward runs: chains and meetings are made of weights.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from bracketz.core.weights import normalised

#: Pairs per chain: what a plan may choose from.
LENGTHS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Meetings:
    """What coupled chains say.

    Attributes:
        pairs: of chains.
        met: how many of them met within their pairs.
        mean: pairs of a run it took them to meet, on average (of those that met).
        max: the most any took; None where one did not meet.
        lag: L.
        length: n, pairs of weights and states that each chain was offered.
        total_variation: e(n - 1), the estimated distance of a chain's end from the posterior.
        ends: which forward run each chain stands at in the end.
    """

    pairs: int
    met: int
    mean: float
    max: int | None
    lag: int
    length: int
    total_variation: float
    ends: np.ndarray


def couple(log_weights: np.ndarray, length: int, rng: np.random.Generator) -> Meetings:
    """Run the coupled chains.

    Args:
        log_weights: of independent forward runs, in their order, (P * length,).
        length: n, at least 2; each chain is offered so many, in their order.
        rng: for the uniforms.

    Returns:
        Meeting times, the distance, and where each chain ends.
    """
    count = len(log_weights) // length
    offered = np.asarray(log_weights, float)[: count * length].reshape(count, length)
    log_u = np.log1p(-rng.random((count, length)))  # of (0, 1]: a weight of 0 is never taken
    lag = length // 2
    at = np.zeros(count, int)
    taken = np.zeros((count, length), bool)
    rows = np.arange(count)
    for t in range(1, length):
        # Written as a sum: -inf - -inf is no number, and a chain leaves a weight of 0 at once.
        taken[:, t] = log_u[:, t] + offered[rows, at] <= offered[:, t]
        at = np.where(taken[:, t], t, at)
    late = taken[:, lag:]
    met = late.any(1)
    waited = np.argmax(late, axis=1)[met] + 1
    return Meetings(
        pairs=count,
        met=int(met.sum()),
        mean=float(waited.mean()) if met.any() else math.inf,
        max=int(waited.max()) if met.all() else None,
        lag=lag,
        length=length,
        total_variation=distance_by(offered.ravel(), length),
        ends=rows * length + at,
    )


def distance_by(log_weights: np.ndarray, length: int) -> float:
    """e(n - 1), averaged over where a chain stands in the long run; at most 1."""
    if np.max(log_weights) == -np.inf:
        return 1.0  # nothing was found
    each = distance(1 - acceptance(log_weights, log_weights), length - 1, length // 2)
    return min(float(normalised(log_weights) @ each), 1.0)


def acceptance(log_m: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """a(M) for each log M, over all weights but the one it is.

    sum_j min(1, w_j / M) = #{w_j >= M} + sum_{w_j < M} w_j / M, by sorting.
    """
    ordered = np.sort(log_weights)
    top = ordered[-1]
    below = np.concatenate([[0.0], np.cumsum(np.exp(ordered - top))])
    k = np.searchsorted(ordered, log_m, side="left")
    smaller = np.where(k > 0, below[k] * np.exp(np.minimum(top - log_m, 700.0)), 0.0)
    others = len(ordered) - k + smaller - 1.0
    return np.clip(others / max(len(ordered) - 1, 1), 0.0, 1.0)


def distance(stay: np.ndarray, t: int, lag: int) -> np.ndarray:
    """e(t) given M: (1 - a)^(t + 1) / (1 - (1 - a)^L); a bound on average only, so not cut at 1."""
    stay = np.minimum(stay, 1 - 1e-12)
    return stay ** (t + 1) / (1 - stay**lag)


def expected_distance(spread: float, length: int) -> float:
    """e(n - 1) where log-weights are normal with variance s2 = ``spread``.

    Forward log w - log Z ~ N(-s2 / 2, s2), and where a chain stands it is N(s2 / 2, s2). With
    m = log M - log Z,  a(M) = Phi((-s2/2 - m) / s) + e^-m Phi((m - s2/2) / s).
    """
    if spread <= 0:
        return 0.0
    s = math.sqrt(spread)
    z, weight = np.polynomial.hermite_e.hermegauss(61)
    m = 0.5 * spread + s * z
    rise = np.exp(np.minimum(-m, 700.0)) * ndtr(m / s - 0.5 * s)
    stay = 1 - np.clip(ndtr(-m / s - 0.5 * s) + rise, 0.0, 1.0)
    each = distance(stay, length - 1, length // 2)
    return min(float(np.sum(weight * each) / np.sum(weight)), 1.0)
