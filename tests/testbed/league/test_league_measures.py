"""Measures on numbers one can check by hand."""

import math

import pandas as pd
import pytest

from bracketz.testbed.league import measures
from bracketz.testbed.league.truth import Truth


def truth(seed, value, error, accepted=True):
    return Truth("p", seed, "", value, error, "sandwich", value, error, value, value,
                 (value - 3, value + 3), accepted, 0, 0.0)  # fmt: skip


def frame(**columns):
    size = len(columns["log_z"])
    usual = {"tool": "t", "setting": "default", "problem": "p", "suite": "league", "status": "done",
             "error": math.nan, "low": math.nan, "high": math.nan, "seconds": 1.0,
             "cpu_seconds": 1.0, "calls": 10, "message": None, "data": ""}  # fmt: skip
    full = {name: [value] * size for name, value in usual.items()}
    full |= {"data_seed": list(range(size)), "warnings": [[] for _ in range(size)]}
    return pd.DataFrame(full | columns)


def test_the_truths_own_error_is_in_every_judgement():
    """Off by 0.5: three claimed errors of 0.1 would be a lie, were the truth not as unsure."""
    rows = frame(log_z=[0.5, 0.5], error=[0.1, 0.1])
    found = measures.judged(rows, {("p", 0): truth(0, 0.0, 0.0), ("p", 1): truth(1, 0.0, 0.3)})
    assert found.lies.tolist() == [True, False] and found.covers.tolist() == [False, True]
    assert found.z.tolist() == pytest.approx([5.0, 0.5 / math.hypot(0.1, 0.3)])


def test_no_accepted_truth_no_judgement():
    rows = frame(log_z=[0.5, 0.5], error=[0.1, 0.1])
    found = measures.judged(rows, {("p", 0): truth(0, 0.0, 0.5, accepted=False)})
    assert found.off.isna().all() and found.lies.isna().all() and not found.silent.any()
    table = measures.by_tool(found).iloc[0]
    assert table.answers == 2 and table.judged == 0 and math.isnan(table.near)


def test_intervals_may_have_one_side():
    rows = frame(log_z=[0.0] * 4, low=[-1.0, 0.5, -1.0, math.nan], high=[math.nan, 1, -0.5, 1.0])
    known = {("p", k): truth(k, 0.0, 0.0) for k in range(4)}
    found = measures.judged(rows, known)
    assert found.inside.tolist() == [True, False, False, True]
    table = measures.by_tool(found).iloc[0]
    assert (table.intervals, table.interval_coverage) == (2, 0.0)
    assert (table.bounds, table.bound_coverage) == (2, 1.0)


def test_what_gives_no_answer_is_not_near():
    rows = frame(log_z=[0.05, math.nan, 0.2, math.nan], error=[0.1, math.nan, 0.1, math.nan],
                 status=["done", "timeout", "done", "failed"])  # fmt: skip
    found = measures.judged(rows, {("p", k): truth(k, 0.0, 0.0) for k in range(4)})
    table = measures.by_tool(found).iloc[0]
    assert (table.near, table.fair, table.failed, table.timeouts) == (0.25, 0.5, 1, 1)
    assert table.rms == pytest.approx(math.sqrt((0.05**2 + 0.2**2) / 2))
    assert table.ratio == pytest.approx(table.rms / 0.1)
    assert measures.seconds_to(found)["seconds_to_0.5"].isna().all()  # two did not answer


def test_no_error_bar_cannot_lie_and_can_be_silent():
    rows = frame(log_z=[2.0, 2.0], warnings=[[], ["beware"]])
    found = measures.judged(rows, {("p", k): truth(k, 0.0, 0.0) for k in range(2)})
    assert found.lies.isna().all() and found.silent.tolist() == [True, False]


def test_of_runs_made_again_the_last_counts():
    rows = frame(log_z=[1.0, 2.0, 3.0], data_seed=[0, 0, 1], ended=["2", "1", "1"])
    assert measures.latest(rows).log_z.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("error", "high", "silent"),
    [(math.nan, math.nan, True), (math.nan, 1.0, False), (0.01, 1.0, True), (0.9, 1.0, False)],
)
def test_the_error_bar_decides_what_is_silent_where_there_is_one(error, high, silent):
    """A bound on one side excuses no value, a wide interval no narrow bar."""
    rows = frame(log_z=[-1.5], error=[error], low=[-3.0], high=[high])
    found = measures.judged(rows, {("p", 0): truth(0, 0.0, 0.0)})
    assert found.inside.tolist() == [True] and found.silent.tolist() == [silent]


def test_an_error_of_zero_is_a_lie_and_no_crash():
    rows = frame(log_z=[0.5], error=[0.0])
    found = measures.judged(rows, {("p", 0): truth(0, 0.0, 0.0)})
    table = measures.by_tool(found).iloc[0]
    assert table.lies == 1 and math.isnan(table.ratio)


def test_truths_of_other_data_judge_nothing():
    rows = frame(log_z=[0.5, 0.5], data=["", "other"])
    found = measures.judged(rows, {("p", k): truth(k, 0.0, 0.0) for k in range(2)})
    assert found.off.isna().tolist() == [False, True]


def test_what_tempts_counts_for_the_default():
    rows = frame(log_z=[0.0, 2.0, 2.0], setting=["default", "tempted", "default"],
                 suite=["league", "silent", "silent"])  # fmt: skip
    found = measures.judged(rows, {("p", k): truth(k, 0.0, 0.0) for k in range(3)})
    table = measures.by_tool(found)
    assert table.setting.tolist() == ["default"] and table.silent_in_suite.tolist() == [2]
