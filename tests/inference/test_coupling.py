"""Chains made of forward runs: what they leave invariant, when they meet, how far they are off."""

import numpy as np
import pytest
from scipy.stats import chisquare

from bracketz.inference.coupling import acceptance, couple, distance, expected_distance


def literally(log_weights, length, rng):
    """Both chains step by step, as the coupling is defined: meeting times after the lag, or None;
    and where X ends."""
    offered = log_weights.reshape(-1, length)
    log_u = np.log1p(-rng.random(offered.shape))
    lag, waited, ends = length // 2, [], []
    for row, (w, u) in enumerate(zip(offered, log_u, strict=True)):
        x, y, met = 0, None, None
        for t in range(1, length):
            takes_x = u[t] + w[x] <= w[t]
            if t == lag:
                y = t  # Y begins at the pair that X is offered
            elif y is not None and u[t] + w[y] <= w[t]:
                y = t
            x = t if takes_x else x
            if met is None and y is not None and x == y:
                met = t - lag + 1
        waited.append(met)
        ends.append(row * length + x)
    return waited, ends


@pytest.mark.parametrize("spread", [0.2, 1.0, 6.0])
def test_chains_meet_where_the_definition_says(spread):
    log_w = np.random.default_rng(1).normal(-spread / 2, spread**0.5, size=40 * 16)
    log_w[::7] = -np.inf  # weights of zero are legal,
    log_w[: 2 * 16 + 5] = -np.inf  # also where a chain has met nothing else
    found = couple(log_w, 16, np.random.default_rng(2))
    waited, ends = literally(log_w, 16, np.random.default_rng(2))
    met = [w for w in waited if w is not None]
    assert found.ends.tolist() == ends and found.pairs == 40 and found.met == len(met)
    assert found.mean == pytest.approx(np.mean(met))
    assert found.max == (max(met) if len(met) == 40 else None)


def test_long_chains_follow_the_weighted_states():
    """End states of a toy with three kinds of runs, against chance times weight; false positives:
    1 in 1000."""
    rng = np.random.default_rng(3)
    chance, weight = np.array([0.6, 0.3, 0.1]), np.array([0.5, 1.0, 4.0])
    kinds = rng.choice(3, p=chance, size=4000 * 32)
    ends = kinds[couple(np.log(weight)[kinds], 32, rng).ends]
    target = chance * weight / (chance @ weight)
    assert chisquare(np.bincount(ends, minlength=3), 4000 * target).pvalue > 0.001


@pytest.mark.parametrize("number", range(20))
def test_the_distance_is_a_bound(number):
    """Exact laws of toys with few kinds of runs, by powers of the transition matrix."""
    rng = np.random.default_rng(number)
    kinds = rng.integers(2, 6)
    chance, weight = rng.dirichlet(np.ones(kinds)), np.exp(2 * rng.normal(size=kinds))
    accept = chance * np.minimum(1, weight / weight[:, None])
    move = accept - np.diag(np.diag(accept))
    move += np.diag(1 - move.sum(1))
    target = chance * weight / (chance @ weight)
    np.testing.assert_allclose(target @ move, target, rtol=1e-10)
    stay = 1 - accept.sum(1)  # refuses the offer, whatever it is
    for lag in (1, 3, 8):
        before = chance @ np.linalg.matrix_power(move, lag - 1)
        for t in (0, 1, 4, 15):
            law = chance @ np.linalg.matrix_power(move, t)
            far = 0.5 * np.abs(law - target).sum()
            e = before @ distance(stay, t, lag)
            assert far <= e + 1e-12 and e <= target @ distance(stay, t, lag) + 1e-12


def test_acceptance_by_sorting_is_the_mean():
    rng = np.random.default_rng(5)
    log_w = rng.normal(size=50) * 3
    given = acceptance(log_w[:10], log_w)
    for k in range(10):
        others = np.delete(log_w, k)
        assert given[k] == pytest.approx(np.mean(np.minimum(1, np.exp(others - log_w[k]))))


def test_a_chain_stuck_at_a_huge_weight_is_told():
    log_w = np.random.default_rng(6).normal(size=16 * 32)
    log_w[0] = 40.0
    found = couple(log_w, 32, np.random.default_rng(7))
    assert found.met < 16 and found.max is None and found.total_variation == 1.0


@pytest.mark.parametrize("spread,length", [(0.3, 8), (0.5, 16), (1.0, 32)])
def test_the_plan_expects_what_is_found(spread, length):
    rng = np.random.default_rng(8)
    log_w = rng.normal(-spread / 2, spread**0.5, size=20000 * length)
    found = couple(log_w, length, rng).total_variation
    assert 0.8 < found / expected_distance(spread, length) < 1.2


def test_a_region_that_few_runs_found_is_no_upper_bound():
    """Half of the mass is found by one run in 250. Averages over where 16 chains stand said 0 in
    a quarter of such runs; weights never do once it is found."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        found = rng.random(16 * 32) < 0.004
        log_w = np.where(found, np.log(125.0), 0.0)
        if found.any():
            assert 16 * couple(log_w, 32, rng).total_variation > 0.025


def test_nothing_found_is_no_distance():
    assert couple(np.full(64, -np.inf), 8, np.random.default_rng(0)).total_variation == 1.0
