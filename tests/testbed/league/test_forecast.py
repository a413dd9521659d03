"""How much of a league there is, and how long it will take."""

import pandas as pd
import pytest

from bracketz.testbed.league.catalogue import catalogue
from bracketz.testbed.league.forecast import costs_of, forecast, read_costs
from bracketz.testbed.league.plan import EXAMPLES, PRESETS, plan
from bracketz.testbed.league.process import Limits

KNOWN = catalogue()


def runs(preset, **how):
    return plan(KNOWN, PRESETS[preset], **how)


def test_presets_and_what_is_asked_for_by_name():
    both = {"tools": ["dynesty"], "problems": ["regression-5"]}
    assert [run.setting for run in runs("quick", **both)] == ["default"]
    assert sorted(run.setting for run in runs("full", **both)) == ["accurate"] + 3 * ["default"]
    assert len(runs("complete", **both)) == 20
    assert len(runs("full", datasets=5, **both)) == 10
    # Left out by the preset, but named.
    assert [run.setting for run in runs("quick", settings=["accurate"], **both)] == ["accurate"]


def test_other_suites_have_settings_of_their_own():
    silent = runs("full", tools=["pymc-smc"], problems=["start-at-the-data"])
    assert sorted(run.setting for run in silent) == ["default", "tempted"]
    course = runs("full", problems=["nautilus-crash-course"])
    assert {run.setting for run in course} == {"as documented"}
    assert len(course) == EXAMPLES == len({run.seed for run in course})


def test_a_forecast_knows_what_it_knows():
    """Of a problem not tried the mean of those that were; of a tool not tried the limit."""
    planned = runs("full", tools=["dynesty", "bic"], problems=["regression-5", "ar-2", "gp-3"],
                   settings=["default"], datasets=1)  # fmt: skip
    known = {("dynesty", "default", "regression-5"): 10.0, ("dynesty", "default", "ar-2"): 90.0}
    found = forecast(planned, Limits(60.0), known)
    assert found.runs == 6 and found.at_most == 360 and found.unknown == 3
    assert found.seconds == 10 + 60 + 35 + 3 * 60


def test_costs_are_cpu_seconds_and_endless_where_a_limit_was_reached():
    rows = pd.DataFrame(
        {
            "tool": ["a", "a", "a", "b"],
            "setting": "default",
            "problem": "p",
            "status": ["done", "done", "failed", "timeout"],
            "cpu_seconds": [1.0, 3.0, 2.0, 9.0],
        }
    )
    assert costs_of(rows) == {("a", "default", "p"): 5.0, ("b", "default", "p"): float("inf")}


def test_the_table_of_costs_is_of_tools_and_problems_there_are():
    for tool, setting, problem in read_costs():
        known = KNOWN.tools[tool]
        assert setting in known.settings or problem in known.special
        assert problem in KNOWN.problems


@pytest.mark.parametrize("preset, hours", [("quick", 0.25), ("full", 6.0)])
def test_presets_take_what_they_promise(preset, hours):
    """On two workers, as docs/league.md says."""
    chosen = PRESETS[preset]
    found = forecast(runs(preset), chosen.limits, read_costs())
    assert found.seconds / 2 < 3600 * hours
