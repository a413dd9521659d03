"""Numbers that are reported, against formulas written out here: loops, no helper of the library."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as student_t

import bracketz as bz
from bracketz.core.betting import PRIOR, STAKES
from bracketz.core.results import Combine, lower_share
from bracketz.core.weights import bennett, shared_start_error
from bracketz.inference.plan import Seen, expect, good_enough, scaled, spread
from recorded_runs import Runs

MODEL = bz.Clustering(components=2)
DATA = bz.simulate(MODEL, 5, 2, seed=3)
RNG = np.random.default_rng(8)
#: Few and many, narrow and wide, with a weight of zero, and tied.
SAMPLES = {
    "few": RNG.normal(-5, 0.4, 3),
    "wide": RNG.normal(-5, 2.5, 25),
    "many": RNG.normal(-5, 0.3, 400),
    "zero": np.array([-5.0, -np.inf, -4.5, -5.2]),
    "tied": np.array([-5.0, -5.0, -5.0, -4.0]),
}


def betting(log_w, alpha):
    """The largest m at which, after some weight, the mixture of wealths prod (1 + s (w / m - 1)) is
    at least 1 / alpha."""
    w = [math.exp(x) for x in log_w]

    def most(log_m):
        best = -math.inf
        wealth = [math.log(p) for p in PRIOR]
        for value in w:
            ratio = value / math.exp(log_m) - 1
            wealth = [
                k + (math.log1p(s * ratio) if s * ratio > -1 else -math.inf)
                for k, s in zip(wealth, STAKES, strict=True)
            ]
            top = max(wealth)
            best = max(best, top + math.log(sum(math.exp(k - top) for k in wealth)))
        return best + math.log(alpha)

    return brentq(most, max(log_w) - 40, max(log_w) + 1, xtol=1e-9)


@pytest.mark.parametrize("name", ["few", "wide", "zero"])
@pytest.mark.parametrize("alpha", [0.1, 0.004])
def test_the_certificate_at_any_number_of_chains(name, alpha):
    """Betting found by root search; up to the library's own precision of 1e-6 nats below."""
    found = bz.betting_bound(SAMPLES[name], alpha)
    assert 0 <= betting(SAMPLES[name], alpha) - found < 2e-5


@pytest.mark.parametrize("looks", [1, 3])
def test_a_certificate_pays_for_every_look(looks):
    forward, reverse = SAMPLES["wide"], SAMPLES["few"]
    share = min(
        (round(0.01 * k, 2) for k in range(1, 51)),
        key=lambda s: -math.log(1 - s) + math.sqrt(2 * math.log(10 / s) / len(forward)),
    )
    assert lower_share(len(forward)) == pytest.approx(share)
    found = bz.Certificate.from_weights(forward, reverse, 0.8, 1 / looks)
    fail = 0.2 / looks
    upper = -math.log(sum(math.exp(-x) for x in reverse) / len(reverse))
    assert found.high == pytest.approx(upper - math.log(fail * (1 - share)))
    assert found.low == pytest.approx(betting(forward, fail * share), abs=2e-5)


def log_mean_and_error(values):
    """log of a mean and its error bar: the sample's relative variance v, or, below an effective
    100, the larger of that and a log-normal's; log(1 + v / n), bias and spread together, widened
    by Student; at least 1 / n where most values are one."""
    n = len(values)
    w = np.exp(values)
    mean = w.mean()
    v = np.sum((w / mean - 1) ** 2) / (n - 1)
    if n / (1 + v) < 100:
        logs = [max(x - math.log(mean), -3.0) for x in values]
        s2 = sum((x - sum(logs) / n) ** 2 for x in logs) / (n - 1)
        v = max(v, math.exp(s2) - 1)
    u = math.log(1 + v / n)
    error = math.sqrt(u + u * u / 4) * student_t.ppf(0.975, n - 1) / norm.ppf(0.975)
    middle = np.median(values)
    ties = sum(abs(x - middle) < 1e-4 for x in values)
    return math.log(mean), max(error, 1 / n) if 2 * ties >= n else error


@pytest.mark.parametrize("name", SAMPLES)
def test_means_harmonic_means_and_their_errors(name):
    values = SAMPLES[name]
    assert Combine.ARITHMETIC(values) == pytest.approx(log_mean_and_error(values))
    if name != "zero":
        value, error = log_mean_and_error(-values)
        assert Combine.HARMONIC(values) == pytest.approx((-value, error))
        n = len(values)
        plain = np.std(values, ddof=1) / math.sqrt(n)
        plain *= student_t.ppf(0.975, n - 1) / norm.ppf(0.975)
        assert Combine.MEAN_LOG(values) == pytest.approx((values.mean(), plain))


@pytest.mark.parametrize("shared", [True, False])
def test_bennett_and_its_error(shared):
    """The root of sum sigmoid(l - log Z - log(n_F / n_B)) = n_B; variance of the score over its
    slope, the reverse chains' shared start as one cluster."""
    f, b = RNG.normal(-5.4, 0.9, 30), RNG.normal(-4.6, 0.9, 20)
    both, offset = np.concatenate([f, b]), math.log(30 / 20)

    def p(log_z):
        return 1 / (1 + np.exp(-(both - log_z - offset)))

    log_z = brentq(lambda z: p(z).sum() - 20, -30, 30, xtol=1e-12)
    s = p(log_z)
    up, down = s[:30], s[30:]
    within = np.var(down, ddof=1)

    def reweighted(values, weights):
        weights = weights / weights.sum()
        mean = weights @ values
        return mean, weights @ (values - mean) ** 2

    predicted, by_forward = reweighted(up, np.exp(f))
    off = (down.mean() - predicted) ** 2
    start = max(reweighted(s, s)[1] - within, by_forward - within, off) if shared else off
    variance = 30 * np.var(up, ddof=1) + 20 * within + 20**2 * start
    error = math.sqrt(variance) / np.sum(s * (1 - s))
    error *= student_t.ppf(0.975, 48) / norm.ppf(0.975)
    assert error < 1
    found = bennett(f, b, shared)
    assert tuple(found) == pytest.approx((log_z, error), abs=1e-9)


@pytest.fixture(scope="module")
def looked_at():
    """A sandwich and an evidence on weights that are made up, and what was run."""
    with pytest.MonkeyPatch.context() as patch:
        runs = Runs(patch)
        answer = bz.sandwich(MODEL, DATA, chains=6, first=9, max_effort=9, gap=0.5, confidence=0.8)
        seen = Runs(patch)
        observed = bz.evidence(
            MODEL, DATA.y, chains=12, starts=4, first=9, max_effort=9, seed=2, confidence=0.9
        )
    return answer, runs, observed, seen


def test_what_a_sandwich_reports(looked_at):
    answer, runs, _, _ = looked_at
    (lower,), (upper,) = runs.named("lower"), runs.named("upper")
    f, b = lower.outcome.log_values, upper.outcome.log_values
    value, error = log_mean_and_error(f)
    assert (answer.lower, answer.lower_error) == pytest.approx((value, error))
    value, own = log_mean_and_error(-b)
    jeffreys = sum(b) / 6 - sum(f) / 6
    start = max(jeffreys, 0.0) / 4  # a quarter of the single-chain gap, where the path refines
    assert (answer.upper, answer.upper_error) == pytest.approx((-value, math.hypot(own, start)))
    assert shared_start_error(f, b, False) == pytest.approx(
        max(jeffreys, 0.5 * np.std(f, ddof=1), 0.0)
    )
    assert answer.jeffreys_bound == pytest.approx(jeffreys)
    # The schedule's part: edge t lies in cell floor(256 t / 8), which keeps its increment.
    cost = 0.0
    for t in range(8):
        increments = [r.outcome.carry.increments[:, 256 * t // 8] for r in (lower, upper)]
        cost += 0.5 * sum(np.sum((x - x.mean()) ** 2) / 5 for x in increments)
    assert answer.split.schedule == pytest.approx(cost)
    assert answer.split.mixing == pytest.approx(jeffreys - cost)
    assert answer.looks[-1].noise == pytest.approx(
        math.hypot(answer.lower_error, answer.upper_error)
    )
    assert answer.gap == pytest.approx(answer.upper - answer.lower)
    assert answer.certificate == bz.Certificate.from_weights(f, b, 0.8)
    assert answer.cost.measuring == 2 * 6 * 8 and answer.cost.deciding == 0


def test_what_a_sandwich_predicts(looked_at):
    """The least effort that should do, by the widest of both spreads and the gap."""
    answer, runs, _, _ = looked_at
    (lower,), (upper,) = runs.named("lower"), runs.named("upper")
    f, b = lower.outcome.log_values, upper.outcome.log_values
    widest = max(np.var(f, ddof=1), np.var(b, ddof=1), b.mean() - f.mean())
    scale = scaled([Seen(9, widest, 12)])
    found = answer.predicted
    assert found.gap == 0.5

    def enough(effort):
        return good_enough(expect(scale / (effort - 1), found.chains, True), 0.5)

    assert enough(found.distributions) and not enough(found.distributions - 1)
    # 0.02 s were spent on 8 edges x 6 chains, both ways.
    each = 0.02 / (2 * 8 * 6)
    assert found.seconds == pytest.approx(2 * found.distributions * found.chains * each)


def test_what_is_expected_of_chains():
    """Log-normal weights of spread s2 have the relative variance e^s2 - 1; bounds of M chains are
    log(1 + v / M) apart; the shared start adds a quarter of the gap, or more on other paths."""
    for s2, chains in ((0.3, 5), (2.0, 25)):
        v = math.exp(s2) - 1
        u = math.log(1 + v / chains)
        own = math.sqrt(u + u * u / 4) * student_t.ppf(0.975, chains - 1) / norm.ppf(0.975)
        for refines, start in ((True, s2 / 4), (False, max(s2, 0.5 * math.sqrt(s2)))):
            noise = math.sqrt(2 * own**2 + start**2)
            assert tuple(expect(s2, chains, refines)) == pytest.approx((u, noise))
    assert good_enough(expect(0.01, 25, True), 1.0)
    assert spread(np.array([-1.0, -3.0, -np.inf])) == pytest.approx(np.var([-1, -3, -33], ddof=1))


def test_what_evidence_reports(looked_at):
    _, _, answer, runs = looked_at
    w = np.concatenate([run.outcome.log_values for run in runs.named("forward")])
    (reverse,) = runs.named("reverse")
    r = reverse.outcome.log_values
    assert (answer.lower, answer.lower_error) == pytest.approx(log_mean_and_error(w))
    starts = np.array([-math.log(np.mean(np.exp(-r[3 * k : 3 * k + 3]))) for k in range(4)])
    value, error = log_mean_and_error(-starts)
    assert answer.starts == 4 and answer.reverse_chains == 12
    assert (answer.upper, answer.upper_error) == pytest.approx((-value, error))
    assert answer.interval.low == pytest.approx(betting(w, 0.2 * 0.1), abs=2e-5)
    assert answer.interval.high == pytest.approx(-betting(-starts, 0.3 * 0.1 * 2 / 3), abs=2e-5)
    assert answer.certificate.low == pytest.approx(betting(w, 0.1), abs=2e-5)
    assert (answer.log_ml, answer.standard_error) == tuple(bennett(w, r, True))
    assert answer.kind == "conditional" and answer.distributions == 9
