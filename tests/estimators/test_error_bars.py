"""Where the spread over trials is no error bar, none is given: infinite, not 0 and not NaN."""

import dataclasses
import math

import numpy as np
import pytest

import bracketz as bz
from bracketz.estimators.registry import ESTIMATORS

#: Root mean square of error / error bar on tiny instances was 1.2 (reverse-ais), 1.4 to 2.6 (shme),
#: 2.0 to 3.5 (hme), 3.9 to 9.6 (cms).
NONE = {"reverse-ais", "shme", "hme", "cms"}


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
