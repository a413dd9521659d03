"""Comparing models: intervals, margins, the verdict, units and missing entries."""

import dataclasses
import functools
import math

import jax
import numpy as np
import pytest
from jax.scipy.stats import norm

import bracketz as bz
from bracketz.core.results import Seconds
from bracketz.inference.compare import _names, standardized
from bracketz.inference.comparison import Candidate, Comparison, strength
from bracketz.inference.interval import Interval, Twin, Twins


@functools.cache
def base():
    return bz.evidence(bz.Clustering(2), np.zeros((4, 2)), first=32, max_effort=32)


def candidate(log_ml, width=0.4, margin=None, name="clustering", high=True):
    """An answer with a given estimate, interval and margin of twins."""
    low = log_ml - width / 2
    interval = Interval(0.95, low, low + width if high else None)
    twins = None
    if margin is not None:
        twins = Twins((Twin(-1.0, 1.0, 0.0, 1.0 + margin, 0.1),), "")
    found = dataclasses.replace(
        base(), log_ml=log_ml, interval=interval, twins=twins, upper=log_ml if high else None
    )
    return Candidate(name, "clustering", 2, found)


def comparison(*candidates):
    return Comparison(candidates, 0.95, 1, 0, Seconds(1.0, 1.0))


def test_words_are_the_papers():
    """Its table: log10 of the ratio 0 to 1/2, to 1, to 2, and above."""
    for decades, word in (
        (0.4, "not worth"),
        (0.6, "substantial"),
        (1.5, "strong"),
        (2.5, "decisive"),
    ):
        assert strength(decades * math.log(10)).startswith(word)


def test_verdict_holds_intervals_and_margins_against_each_other():
    clear = comparison(candidate(-10.0, name="this"), candidate(-13.0, margin=1.0, name="that"))
    assert clear.decided and clear.verdict.startswith("decided: this, ahead of every other by")
    assert "at least 1.6 nats" in clear.verdict and "conditional on" in clear.verdict
    wide = comparison(candidate(-10.0, margin=2.0), candidate(-13.0, margin=1.0, name="that"))
    assert not wide.decided and "does not clear that of that" in wide.verdict
    assert "try `gap=" in wide.verdict
    close = comparison(candidate(-10.0), candidate(-10.1, name="that"))
    assert not close.decided and "hardly tell them apart" in close.verdict
    # Without an upper bound nothing is decided, however far behind.
    open_ended = comparison(candidate(-10.0), candidate(-90.0, high=False, name="that"))
    assert not open_ended.decided and "that has no upper bound" in open_ended.verdict
    assert open_ended.candidates[1].warning.startswith("no upper bound")


def test_probabilities_and_bayes_factors():
    found = comparison(candidate(-10.0), candidate(-10.0 - math.log(3), margin=0.5))
    np.testing.assert_allclose(found.probabilities, [0.75, 0.25])
    entries = found.to_json()["models"]
    assert entries[1]["difference"] == pytest.approx(math.log(3))
    assert entries[1]["log_bayes_factor"]["low"] == pytest.approx(math.log(3) - 0.9)
    assert entries[1]["bayes_factor"]["high"] == pytest.approx(3 * math.exp(0.9))
    assert entries[0]["bayes_factor"] == {"low": 1.0, "high": 1.0}
    assert "1 of 1 twins were not covered: 0.5 nats added" in entries[1]["warning"]
    far = comparison(candidate(0.0), candidate(-1e4)).to_json()["models"][1]
    assert far["bayes_factor"] == {"low": None, "high": None}
    keys = "name log_ml low high kind difference bayes_factor probability warning"
    assert set(keys.split()) <= set(entries[0])


def test_standardising_puts_the_jacobian_back():
    """One column of Gaussian data with known moments: log N(y; m, s) = log N((y - m)/s; 0, 1) - log
    s an entry."""
    y = np.array([[1.0, 10.0], [3.0, np.nan], [5.0, 40.0]])
    new, log_jacobian = standardized(y)
    np.testing.assert_allclose(np.nanmean(new, axis=0), 0, atol=1e-12)
    scale = [np.std([1, 3, 5]), np.std([10, 40])]
    assert log_jacobian == pytest.approx(-3 * math.log(scale[0]) - 2 * math.log(scale[1]))
    with pytest.raises(bz.InputError, match="column 2 is constant"):
        standardized(np.array([[1.0, 2.0], [2.0, 2.0]]))


def test_columns_whose_squares_overflow_are_standardised():
    new, log_jacobian = standardized(np.array([[-1.5e308], [1.5e308], [np.nan]]))
    assert new[:2].tolist() == [[-1.0], [1.0]] and np.isnan(new[2, 0])
    assert log_jacobian == -2 * np.log(1.5e308)


@pytest.mark.slow
def test_intervals_on_data_with_a_known_answer(short_pilots):
    """Tiny instances have exact evidence; at 95 %, these two keys hold it."""
    model, shape = bz.InferredClustering().tiny()
    y = bz.simulate(model, *shape, seed=7).y
    more = np.vstack([y, np.full((1, shape[1]), np.nan)])  # a row that was never observed
    truth = model.exact_evidence(y)
    for data, missing in ((y, 0), (more, shape[1])):
        found = bz.compare([model], data, twins=0 if missing else 1)
        assert found.missing == missing
        assert found.best.range.low < truth < found.best.range.high
    assert set(found.best.evidence.posterior) == {"center_variance", "noise_variance", "mixture"}


@pytest.mark.slow
def test_models_of_users_by_name():
    """A normal mean against a fixed one: the Bayes factor is known."""

    def mean_of(scale):
        return bz.from_functions(
            lambda x, y: norm.logpdf(y, x["mean"]),
            log_prior=lambda x: norm.logpdf(x["mean"], 0.0, scale),
            sample_prior=lambda key: {"mean": scale * jax.random.normal(key)},
            simulate=lambda key, x: x["mean"] + jax.random.normal(key, (8,)),
        )

    y = np.full(8, 2.5)
    found = bz.compare({"narrow": mean_of(0.2), "wide": mean_of(2.0)}, y, gap=0.3, twins=0)

    def exact(scale):
        covariance = np.eye(8) + scale**2
        log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
        return float(-0.5 * (y @ np.linalg.solve(covariance, y) + log_det))

    assert found.best.name == "wide" and found.decided
    for c in found.candidates:
        truth = exact({"narrow": 0.2, "wide": 2.0}[c.name])
        assert c.range.low < truth < c.range.high
    factor = found.log_bayes_factor(found.candidates[1])
    assert factor.low < exact(2.0) - exact(0.2) < factor.high


def test_candidates_of_one_name_have_streams_of_their_own(tmp_path):
    """Streams were keyed by name and size: with a checkpoint the second of two priors was given
    the first one's answer."""
    y = bz.simulate(bz.Clustering(components=2), rows=5, columns=2, seed=3).y
    tight, wide = (bz.Clustering(2, center_variance=v) for v in (0.1, 9.0))
    knobs = {"first": 8, "max_effort": 8, "starts": 2, "chains": 4, "twins": 0}
    kept = bz.Checkpoint(tmp_path / "run.ckpt", {})
    plain = bz.compare([tight, wide, tight], y, **knobs)
    stored = bz.compare([tight, wide, tight], y, session=bz.Session(checkpoint=kept), **knobs)
    names = [f"clustering (center_variance {v}) with 2 components" for v in (0.1, 9.0)]
    weights = {c.name: c.evidence.log_weights for c in plain.candidates}
    assert weights == {c.name: c.evidence.log_weights for c in stored.candidates}
    assert set(weights) == set(names) and weights[names[0]] != weights[names[1]]


def test_names_tell_different_models_apart():
    def again():
        class Mine(bz.Clustering):
            pass

        return Mine(2)

    wide = bz.Clustering(20, mixture=np.arange(1, 21) / 210)
    models = [bz.Clustering(2), bz.InferredClustering(2), bz.Clustering(3), bz.Clustering(2, 0.5)]
    assert _names(models) == [
        "clustering (center_variance 0.8) with 2 components",
        "inferred-clustering with 2 components",
        "clustering with 3 components",
        "clustering (center_variance 0.5) with 2 components",
    ]
    for pair in ([again(), again()], [bz.Clustering(20), wide]):
        assert len(set(_names(pair))) == 2
    assert len(set(_names([bz.Clustering(2), bz.Clustering(2)]))) == 1


def test_models_and_knobs_are_checked():
    y = np.zeros((4, 2))
    for bad, message in (
        ({"chains": 1}, "`chains` must be at least `starts`"),
        ({"gap": 0.0}, "gap must be positive"),
        ({"twins": -1}, "twins must be at least 0"),
    ):
        with pytest.raises(bz.InputError, match=message):
            bz.compare([bz.InferredClustering(2)], y, **bad)
    with pytest.raises(bz.InputError, match="at least one model"):
        bz.compare([], y)
    with pytest.raises(bz.InputError, match="models first"):
        bz.compare(y, [bz.InferredClustering(2)])


def test_models_with_data_of_their_own_must_have_the_same():
    import numpyro
    import numpyro.distributions as dist

    def mean(y):
        m = numpyro.sample("m", dist.Normal(0, 1))
        with numpyro.plate("rows", len(y)):
            numpyro.sample("y", dist.Normal(m, 1), obs=y)

    one, other = (bz.from_numpyro(mean, y=np.full(3, v)) for v in (0.0, 1.0))
    with pytest.raises(bz.InputError, match="b was made with other observations than a"):
        bz.compare({"a": one, "b": other})
    with pytest.raises(bz.InputError, match="cannot leave out missing entries"):
        bz.compare({"a": one}, np.array([0.0, np.nan, 1.0]))
