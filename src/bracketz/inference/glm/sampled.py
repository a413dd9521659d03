"""The interval from the weights of tries, or without any."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from bracketz.core.betting import betting_bound, bounded_mean_bound
from bracketz.core.weights import log_mean, log_mean_error
from bracketz.inference.glm.prepared import Prepared

#: Blocks of tries the lower side bets on, per draw wanted: a block's mean has a relative variance
#: of at most this, which the stakes of ``betting_bound`` are made for.
BLOCKS_PER_DRAW, FEWEST_BLOCKS = 8, 1024


class Found(NamedTuple):
    """Bounds, point estimate and its error, and what it took."""

    lower: float
    upper: float
    log_ml: float
    error: float
    tries: int
    draws: np.ndarray


def unsampled(ready: Prepared) -> Found:
    """The deterministic bounds, and Laplace's approximation."""
    columns = len(ready.at.mode)
    laplace = ready.at.log_scale + 0.5 * columns * math.log(2 * math.pi)
    return Found(ready.low, ready.top, laplace, math.inf, 0, np.empty((0, columns)))


def sampled(ready: Prepared, draws: int, confidence: float, max_tries: int, seed: int) -> Found:
    """Bets on the weights of tries, whose number is fixed before the first one."""
    need, batches = ready.afford(draws, max_tries), []
    for batch in ready.batches(need, seed):
        batches.append(batch)
        if len(batches) * len(batch.log_weights) >= need:
            break
    weights = np.concatenate([batch.log_weights for batch in batches])
    size, fail = len(batches[0].log_weights), (1 - confidence) / 2
    blocks = _block_means(weights, max(BLOCKS_PER_DRAW * draws, FEWEST_BLOCKS), size)
    # The mean weight is p(y) / e^high for the energy as it is, not as it is rounded.
    slack = 2 * ready.at.energy_error + ready.weight_error
    lower = max(ready.low, ready.high + betting_bound(blocks, fail) - slack)
    upper = min(ready.high + bounded_mean_bound(weights, fail) + ready.weight_error, ready.top)
    if lower > upper:  # a failure that shows, within the probability allowed
        lower, upper = ready.low, ready.top
    return Found(
        lower,
        upper,
        ready.high + log_mean(blocks),
        log_mean_error(blocks),
        len(weights),
        np.concatenate([batch.draws for batch in batches]),
    )


def _block_means(log_weights: np.ndarray, blocks: int, batch: int) -> np.ndarray:
    """Log-means of blocks of equal size, about as many as asked for; decided without looking."""
    size = 1 << int(np.log2(max(len(log_weights) // blocks, 1)))
    grouped = log_weights.reshape(-1, min(size, batch))
    return logsumexp(grouped, axis=1) - math.log(grouped.shape[1])
