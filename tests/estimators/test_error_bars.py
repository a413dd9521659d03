"""Where the spread over trials is no error bar, none is given: infinite, not 0 and not NaN."""

import dataclasses
import math

import numpy as np
import pytest

import bracketz as bz
from bracketz.estimators.registry import ESTIMATORS

#: Trials that share a start, weights without a variance, the best of several optima.
NONE = {"reverse-ais", "shme", "hme", "cms", "bic", "vb", "vb-sym"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_trials_that_share_a_start_or_have_no_variance_give_no_error_bar(name):
    values = np.array([-10.0, -10.5, -11.0])
    value, error = ESTIMATORS[name].combined(values)
    assert math.isfinite(value)
    assert math.isinf(error) == (ESTIMATORS[name].no_error_bar is not None) == (name in NONE)


def test_an_answer_without_an_error_bar_says_why():
    model = bz.Clustering(components=2)
    data = bz.simulate(model, rows=4, columns=2)
    answer = bz.estimate(model, data, bz.ReverseAIS(distributions=3), trials=3)
    assert answer.standard_error == math.inf and "one exact sample" in answer.standard_error_note
    said = answer.to_json()
    assert said["standard_error"] is None and said["standard_error_note"]
    assert len(said["log_ml_trials"]) == 3 and said["expected"]["low"] is not None
    rows = dict(answer.rows())
    assert "±" not in rows["log evidence"] and rows["error bar"].startswith("none: all trials")
    known = dataclasses.replace(answer, standard_error=0.25, standard_error_note=None)
    assert dict(known.rows())["log evidence"].endswith("± 0.25")


def test_a_lower_bound_is_certified_where_weights_average_to_the_evidence():
    certifying = {name for name, kind in ESTIMATORS.items() if kind.certifies}
    assert certifying >= {"ais", "smc", "lw"} and not certifying & {"cms", "vb", "bic", "nested"}
    model = bz.Clustering(components=2)
    data = bz.simulate(model, rows=4, columns=2)
    answer = bz.estimate(model, data.y, bz.AIS(distributions=3), trials=3, confidence=0.9)
    low = bz.betting_bound(np.array(answer.log_ml_trials), 0.1)
    assert answer.certificate.low == pytest.approx(low) and low < answer.log_ml
    assert answer.to_json()["certificate"].keys() == {"confidence", "low"}
    assert "90% certificate" in dict(answer.rows())
    upper = bz.estimate(model, data, bz.ReverseAIS(distributions=3), trials=3)
    assert upper.certificate is None and upper.to_json()["certificate"] is None
