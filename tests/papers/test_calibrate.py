"""The search for the paper's settings: what it varies, and what it compares."""

import json
import math

import calibrate
import numpy as np
import pytest

import bracketz as bz
from bracketz.papers.grosse2015.printed import CROSS

RATIO = {
    "clustering": lambda h: h["center_variance"],
    "low-rank": lambda h: h["components"] * h["left_variance"] * h["right_variance"],
    "binary-attributes": lambda h: (
        h["components"] * h["attribute_probability"] * h["feature_variance"]
    ),
}


@pytest.mark.parametrize("setting", calibrate.SETTINGS[::4], ids=str)
def test_the_ratio_is_that_of_signal_to_noise(setting):
    values = setting.hyperparameters(0.7)
    assert values["noise_variance"] == 0.7
    np.testing.assert_allclose(RATIO[setting.model](values), 0.7 * setting.ratio)
    model = calibrate.model_of(setting, 0.7)
    assert model.name == setting.model and model.components == values["components"]


def test_scale_moves_the_log_evidence_by_what_the_search_takes_away():
    """Exactly: on enumerated evidence of the shipped model at two scales of the same data."""
    model = bz.Clustering(2, center_variance=0.8, noise_variance=1.5)
    y = bz.simulate(model, 4, 2, seed=3).y
    at = {
        c: bz.Clustering(2, center_variance=0.8 * c * c, noise_variance=1.5 * c * c)
        for c in (1.0, 1.3)
    }
    exact = {c: exact_log_evidence(m, c * y) for c, m in at.items()}
    np.testing.assert_allclose(exact[1.0] - exact[1.3], y.size * math.log(1.3))
    cells = calibrate.ROWS * calibrate.COLUMNS
    noise = calibrate.rescaled(1.5, -2000.0, -2000.0 - cells * math.log(1.3))
    np.testing.assert_allclose(noise, 1.5 * 1.3**2)


def exact_log_evidence(model, y):
    """Both labels of each row, summed."""
    import itertools

    from bracketz.models.clustering.state import ClusteringState

    ones = np.ones(len(y))
    terms = [
        float(model.log_annealed(ClusteringState(np.array(z)), y, ones))
        for z in itertools.product(range(2), repeat=len(y))
    ]
    return np.logaddexp.reduce(terms)


def test_the_distance_is_minus_twice_a_log_density():
    ours = [(10.0, 5.0, math.log(200)), (14.0, 9.0, math.log(220))]
    paper = (13.1, 5.7, math.log(208))
    found = calibrate.compared(ours, paper)
    total = 0.0
    for p, values, tolerance in zip(paper, np.array(ours).T, calibrate.TOLERANCES, strict=True):
        variance = np.var(values, ddof=1) * 1.5 + tolerance**2
        total += (p - values.mean()) ** 2 / variance + math.log(variance)
    np.testing.assert_allclose(found.distance, total)
    np.testing.assert_allclose(found.means, np.mean(ours, axis=0))


def test_statistics_of_the_paper():
    """Leads over the wrong models in the order of the table, and nested sampling's steps."""
    first, second, steps = calibrate.paper_statistics("binary-attributes")
    assert (round(first, 1), round(second, 1), round(math.exp(steps))) == (49.2, 22.3, 404)
    row = {"log_evidence": CROSS["low-rank"], "steps": 904}
    assert calibrate.statistics("low-rank", row) == calibrate.paper_statistics("low-rank")


def test_what_is_kept_is_not_run_again(tmp_path):
    keep = tmp_path / "kept.jsonl"
    setting = calibrate.SETTINGS[0]
    row = {"kind": "data", **setting._asdict(), "seed": 1000, "noise": 1.0}
    keep.write_text(json.dumps(row | {"log_evidence": CROSS["clustering"], "steps": 208}) + "\n")
    found = calibrate.Search(keep).data_set(setting, 1.0, 1000)
    assert found["steps"] == 208
