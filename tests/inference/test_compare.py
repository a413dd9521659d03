"""Comparing models: the bounds, the margin, the verdict, units and missing entries."""

import dataclasses
import math

import numpy as np
import pytest

import bracketz as bz
from bracketz.core.results import Seconds
from bracketz.inference.compare import _names, _settled, standardized
from bracketz.inference.comparison import Candidate, Comparison, Simulated, strength


def candidate(lower, margin=None, error=0.1, model="clustering", components=2):
    simulated = () if margin is None else (Simulated(0.0, margin), Simulated(0.0, margin / 2))
    return Candidate(model, components, lower, error, 1024, ((1024, lower),), True, {}, simulated)


def comparison(*candidates):
    return Comparison(candidates, 20, 0.5, 0, Seconds(1.0, 1.0))


def test_words_are_the_papers():
    """Its table: log10 of the ratio 0 to 1/2, to 1, to 2, and above."""
    for decades, word in (
        (0.4, "not worth"),
        (0.6, "substantial"),
        (1.5, "strong"),
        (2.5, "decisive"),
    ):
        assert strength(decades * math.log(10)).startswith(word)


def test_verdict_holds_the_lead_against_the_rivals_margin():
    assert comparison(candidate(-10.0), candidate(-30.0)).decided is None
    clear = comparison(candidate(-10.0, 50.0), candidate(-30.0, 5.0))
    assert clear.decided and "decided: clustering with 2 components" in clear.verdict
    # The winner's own margin can only raise it; the rival's can lift it past the winner.
    near = comparison(candidate(-10.0, 0.1), candidate(-30.0, 25.0, model="low-rank"))
    assert near.decided is False and "not decided" in near.verdict and "low-rank" in near.verdict
    # A lead within twice the error bars is no lead.
    assert comparison(candidate(-10.0, 0.0, 1.0), candidate(-11.0, 0.0, 1.0)).decided is False


def test_probabilities_follow_the_bounds():
    found = comparison(candidate(-10.0), candidate(-10.0 - math.log(3)))
    np.testing.assert_allclose(found.probabilities, [0.75, 0.25])
    entries = found.to_json()["candidates"]
    assert entries[1]["behind"] == pytest.approx(math.log(3)) and entries[0]["side"] == "lower"
    assert entries[0]["evidence_against"] is None and entries[1]["evidence_against"].startswith(
        "not worth"
    )


def test_bounds_of_minus_infinity_compare():
    """All forward weights may be 0: a poor bound, but one."""
    found = comparison(candidate(-10.0), candidate(-math.inf))
    assert found.probabilities.tolist() == [1.0, 0.0]
    assert found.to_json()["candidates"][1]["evidence_against"] == "decisive"
    neither = comparison(candidate(-math.inf), candidate(-math.inf))
    assert neither.probabilities.tolist() == [0.5, 0.5]
    assert neither.to_json()["candidates"][1]["evidence_against"].startswith("not worth")


def test_a_bound_settles_after_two_doublings_without_a_rise():
    assert not _settled([-10.0, -9.9], 0.5)  # one may be luck
    assert _settled([-10.0, -9.9, -9.8], 0.5)
    assert not _settled([-10.0, -12.0, -9.0], 0.5)


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
def test_bounds_and_margins_on_data_with_a_known_answer():
    """Tiny instances have exact evidence: the bound settles at it, and the margin covers what is
    left."""
    model, shape = bz.InferredClustering().tiny()
    one = dataclasses.replace(model, components=1)
    y = bz.simulate(model, *shape, seed=7).y
    found = bz.compare(y, [one, model], chains=100, first=64, validate=1)
    by_size = {c.components: c for c in found.candidates}
    truth = model.exact_evidence(y)
    assert abs(by_size[2].lower - truth) < 0.2
    assert by_size[2].settled and by_size[2].margin < 1.0
    assert set(by_size[2].hyperparameters) == {"center_variance", "noise_variance", "mixture"}


@pytest.mark.slow
def test_missing_entries_count_for_nothing():
    """A row that was never observed leaves the evidence of the others: within 0.1 nats, error bars
    of 0.02."""
    model, shape = bz.InferredClustering().tiny()
    y = bz.simulate(model, *shape, seed=7).y
    more = np.vstack([y, np.full((1, shape[1]), np.nan)])
    found = bz.compare(more, [model], chains=200, first=256, max_effort=1024)
    assert found.missing == shape[1]
    assert abs(found.best.lower - model.exact_evidence(y)) < 0.1


def test_candidates_of_one_name_have_streams_of_their_own(tmp_path):
    """Streams were keyed by name and size: with a checkpoint the second of two priors was given
    the first one's answer. Plain names, and with them seeds and numbers, are as they were."""
    y = bz.simulate(bz.Clustering(components=2), rows=5, columns=2, seed=3).y
    tight, wide = (bz.Clustering(2, center_variance=v) for v in (0.1, 9.0))
    knobs = {"chains": 4, "first": 8, "max_effort": 8}
    kept = bz.Checkpoint(tmp_path / "run.ckpt", {})
    plain = bz.compare(y, [tight, wide, tight], **knobs)
    stored = bz.compare(y, [tight, wide, tight], session=bz.Session(checkpoint=kept), **knobs)
    assert stored.candidates == plain.candidates
    lower = {c.label: c.lower for c in plain.candidates}
    first, second = (f"clustering (center_variance {v}) with 2 components" for v in (0.1, 9.0))
    assert set(lower) == {first, second} and lower[first] != lower[second]
    assert [c.lower for c in plain.candidates].count(lower[first]) == 2  # equal models share one


def test_names_tell_different_models_apart():
    def again():
        class Mine(bz.Clustering):
            pass

        return Mine(2)

    wide = bz.Clustering(20, mixture=np.arange(1, 21) / 210)
    models = [bz.Clustering(2), bz.InferredClustering(2), bz.Clustering(3), bz.Clustering(2, 0.5)]
    assert _names(models) == [
        "clustering (center_variance 0.8)",
        "inferred-clustering",
        "clustering",
        "clustering (center_variance 0.5)",
    ]
    for pair in ([again(), again()], [bz.Clustering(20), wide]):
        assert len(set(_names(pair))) == 2
    assert len(set(_names([bz.Clustering(2), bz.Clustering(2)]))) == 1


def test_models_and_knobs_are_checked():
    y = np.zeros((4, 2))
    for bad, message in (
        ({"chains": 1}, "chains must be at least 2"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"first": 1}, "distributions must go from at least 2"),
        ({"validate": -1}, "must not be negative"),
    ):
        with pytest.raises(bz.InputError, match=message):
            bz.compare(y, [bz.InferredClustering(2)], **bad)
    with pytest.raises(bz.InputError, match="at least one model"):
        bz.compare(y, [])
