"""The betting bound: a lower confidence bound from forward weights, whatever their tails."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bracketz as bz
from bracketz.core.betting import PRIOR, STAKES, bounded_mean_bound, log_wealth
from bracketz.core.results import lower_share

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from honesty import LAWS


def test_the_wealth_is_the_mixture_of_products():
    assert PRIOR.sum() == pytest.approx(1) and np.all((STAKES > 0) & (STAKES <= 1))
    weights, m = np.array([0.5, 2.0, 0.0, 3.0]), 1.3
    with np.errstate(divide="ignore"):
        found = np.exp(log_wealth(np.log(weights), np.log(m)))
    direct = [
        sum(p * np.prod(1 + s * (weights[:n] / m - 1)) for p, s in zip(PRIOR, STAKES, strict=True))
        for n in range(1, 5)
    ]
    np.testing.assert_allclose(found, direct)


@pytest.mark.parametrize("law", LAWS)
def test_it_exceeds_the_truth_no_more_often_than_alpha(law):
    """2,000 runs of 40 chains, alpha 0.1, where at most 200 may exceed it on average: 250 is 3.7
    standard deviations above, 1 in 10,000."""
    rng = np.random.default_rng(0)
    above = sum(bz.betting_bound(LAWS[law](rng, 40), 0.1) > 0 for _ in range(2000))
    assert above <= 250


def test_it_holds_at_any_number_of_chains():
    """Whoever stops when the bound looks best is still right: the best of all n, 600 runs."""
    rng = np.random.default_rng(1)
    above = 0
    for _ in range(600):
        wealth = log_wealth(rng.normal(-0.5, 1.0, 200), 0.0)  # at the truth
        above += wealth.max() >= np.log(1 / 0.1)
    assert above <= 86  # 60 on average at the most; 3.5 standard deviations


def test_it_is_far_tighter_than_markov():
    rng = np.random.default_rng(2)
    for chains, distance in ((100, 0.36), (1000, 0.14)):  # Markov: 3.0 below the mean
        bounds = [bz.betting_bound(rng.normal(-0.5, 1.0, chains), 0.05) for _ in range(50)]
        assert -distance < np.mean(bounds) < 0


def test_extreme_weights_and_bad_input():
    assert bz.betting_bound(np.full(3, -np.inf), 0.1) == -np.inf
    assert -1010 < bz.betting_bound(np.array([-1000.0, -np.inf, -2000.0]), 0.1) < -1000
    one_wins = bz.betting_bound(np.r_[5000.0, np.zeros(999)], 0.01)
    assert 4980 < one_wins < 5000
    for bad in ([np.nan], [np.inf], []):
        with pytest.raises(bz.InputError):
            bz.betting_bound(np.array(bad), 0.1)
    with pytest.raises(bz.InputError, match="alpha"):
        bz.betting_bound(np.zeros(3), 0.0)


def test_the_shares_of_both_sides_are_decided_before_looking():
    shares = [lower_share(n) for n in (2, 25, 100, 1000)]
    assert shares == sorted(shares, reverse=True) and 0 < shares[-1] < shares[0] < 0.5
    forward = np.zeros(100)
    certificate = bz.Certificate.from_weights(forward, forward, 0.9)
    below = 0.1 * lower_share(100)
    assert certificate.high == pytest.approx(np.log(1 / (0.1 - below)))
    assert certificate.low == bz.betting_bound(forward, below)
    half = bz.Certificate.from_weights(forward, forward, 0.9, spent=0.5)
    assert half.low < certificate.low and half.high == pytest.approx(certificate.high + np.log(2))


BOUNDED = {
    "uniform": (lambda rng, n: np.log(rng.random(n)), 0.5),
    "rare": (lambda rng, n: np.where(rng.random(n) < 0.02, 0.0, -np.inf), 0.02),
    "rare and small": (lambda rng, n: np.log(rng.random(n)) * 20, 1 / 21),
    "one": (lambda rng, n: np.zeros(n), 1.0),
}


@pytest.mark.parametrize("law", BOUNDED)
def test_the_upper_bound_of_bounded_weights(law):
    """1,000 runs of 300 weights, alpha 0.1: above 140 is 4 standard deviations, 1 in 10,000. And it
    is of use: as near as Bernstein's inequality would have it, with twice the logarithm."""
    draw, mean = BOUNDED[law]
    rng = np.random.default_rng(2)
    bounds = np.array([bounded_mean_bound(draw(rng, 300), 0.1) for _ in range(1000)])
    assert np.sum(bounds < np.log(mean)) <= 140 and np.all(bounds <= 0)
    log = 2 * np.log(1 / 0.1)
    near = mean + np.sqrt(2 * mean * log / 300) + log / 300
    assert np.median(bounds) <= np.log(near)


def test_the_upper_bound_is_the_lower_bound_of_the_complement():
    """With the wealth looked at once; weights on the grid, so that at most the last bit is rounded
    up."""
    weights = 2.0 ** -np.random.default_rng(3).integers(0, 6, size=50)
    upper = bounded_mean_bound(np.log(weights), 0.05)
    with np.errstate(divide="ignore"):
        final = log_wealth(np.log1p(-weights), np.log1p(-np.exp(upper)))[-1]
    assert 0 <= final + np.log(0.05) < 0.02


def test_bounded_weights_are_checked():
    for weights, alpha in (([0.1], 0.1), ([], 0.1), ([np.nan], 0.1), ([-1.0], 1.0)):
        with pytest.raises(bz.InputError):
            bounded_mean_bound(np.array(weights), alpha)
