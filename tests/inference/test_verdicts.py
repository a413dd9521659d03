"""Verdicts as functions of intervals: whose error, whose margin, when it settles. Tables."""

import dataclasses
import math

import numpy as np
import pytest

from bracketz.engine.session import Session
from bracketz.inference.answer import Look
from bracketz.inference.comparison import Range, certain_lead, factor, reaching, strength, widened
from bracketz.inference.coupling import couple
from bracketz.inference.interval import Interval, Twin, Twins
from bracketz.inference.plan import converged
from bracketz.inference.procedure import (
    UNIFORMS,
    Design,
    Measured,
    Procedure,
    Settings,
    near_enough,
    upper_level,
)
from bracketz.inference.sandwich import _midpoint, _reason

INF = math.inf


@pytest.mark.parametrize(
    ("low", "high", "margin", "found"),
    [
        (-3.0, -1.0, 0.0, (-3.0, -1.0)),
        (-3.0, -1.0, 0.5, (-3.5, -0.5)),
        (-3.0, None, 0.0, (-3.0, INF)),
        (-3.0, None, 0.5, (-3.5, INF)),
    ],
)
def test_a_margin_widens_both_sides(low, high, margin, found):
    assert widened(Interval(0.95, low, high), margin) == found


@pytest.mark.parametrize(
    ("twins", "margin", "covered"),
    [
        ([(-2.0, 1.0, 0.0)], 0.0, 1),
        ([(-2.0, 1.0, 1.0)], 0.0, 1),  # at the end is inside
        ([(-2.0, 1.0, 1.5)], 0.5, 0),
        ([(-2.0, 1.0, -2.25)], 0.25, 0),
        ([(-2.0, 1.0, 1.5), (-2.0, 1.0, -4.0), (-2.0, 1.0, 0.0)], 2.0, 1),
        ([(-2.0, None, 9.0)], 0.0, 0),  # no upper end misses nothing, and covers nothing
        ([(-2.0, None, -3.0)], 1.0, 0),
    ],
)
def test_margins_are_what_the_worst_twin_was_missed_by(twins, margin, covered):
    found = Twins(tuple(Twin(low, high, 0.0, truth, 0.1) for low, high, truth in twins), "")
    assert (found.margin, found.covered) == (margin, covered)
    assert found.bias == pytest.approx(-np.mean([truth for *_, truth in twins]))


@pytest.mark.parametrize(
    ("ranges", "factors", "rivals"),
    [
        # own low less the other's high, to own high less the other's low
        ([(-5, -4), (-9, -7)], [(2, 5)], ()),
        ([(-5, -4), (-9, -5)], [(0, 5)], (1,)),  # touching is reaching
        ([(-5, -4), (-9, -5.5)], [(0.5, 5)], ()),
        ([(-5, -4), (-4.5, -4.2)], [(-0.8, 0.5)], (1,)),
        ([(-5, -4), (-99, INF)], [(-INF, 95)], (1,)),  # no upper end: never behind for certain
        ([(-5, INF), (-9, -7)], [(2, INF)], ()),  # the best needs none
        ([(-5, -4), (-9, -7), (-6, -4.5), (-8, -5)], [(2, 5), (-0.5, 2), (0, 4)], (2, 3)),
    ],
)
def test_who_reaches_the_best(ranges, factors, rivals):
    ranges = [Range(*r) for r in ranges]
    np.testing.assert_allclose([factor(ranges[0], other) for other in ranges[1:]], factors)
    assert reaching(ranges) == rivals
    assert certain_lead(ranges) == pytest.approx(min(low for low, _ in factors))


@pytest.mark.parametrize(
    ("decades", "word"),
    [(0.0, "not worth"), (0.49, "not worth"), (0.5, "substantial"), (0.99, "substantial"),
     (1.0, "strong"), (1.99, "strong"), (2.0, "decisive"), (40.0, "decisive"), (-1.5, "strong")],
)  # fmt: skip
def test_words_by_decades(decades, word):
    nats = math.copysign(abs(decades) * math.log(10) * (1 + 1e-12), decades)
    assert strength(nats).startswith(word)


@pytest.mark.parametrize(
    ("gap", "noise", "target", "met"),
    [
        (1.0, 0.65, 1.0, True),
        (1.0001, 0.1, 1.0, False),
        (0.0, 0.6501, 1.0, False),
        (-0.5, 0.1, 1.0, True),
        (-0.5001, 0.1, 1.0, False),
        (2.0, 1.3, 2.0, True),  # shares of the target, not nats
        (0.2, 0.13, 0.2, True),
        (0.2, 0.1301, 0.2, False),
        (math.nan, 0.1, 1.0, False),
        (0.5, INF, 1.0, False),
    ],
)
def test_when_a_measurement_has_converged(gap, noise, target, met):
    assert converged(gap, noise, target) is met


def look(lower, upper, lower_error, upper_error):
    return Look(
        effort=8,
        distributions=8,
        chains=2,
        lower=lower,
        upper=upper,
        lower_error=lower_error,
        upper_error=upper_error,
        forward=(lower - 1, lower + 1),
        reverse=(upper - 1, upper + 1),
        schedule_cost=None,
        reports={},
    )


@pytest.mark.parametrize(
    ("given", "gap", "said"),
    [
        ((-5, -3, 0.1, 0.1), 1.0, "the gap is 2.00 and the goal 1"),
        ((-3, -5, 0.1, 0.1), 1.0, "the bounds have crossed by 2.00"),
        (
            (-5, -4.5, 3.0, 4.0),
            1.0,
            "the gap of 0.50 is within the goal 1, but it is only known to ± 5",
        ),
    ],
)
def test_why_a_sandwich_has_not_converged(given, gap, said):
    assert _reason(look(*given), gap).startswith(said)
    middle = _midpoint(look(*given))
    lower, upper, a, b = given
    assert middle.log_ml == (lower + upper) / 2
    assert middle.standard_error == pytest.approx(
        0.5 * math.sqrt((upper - lower) ** 2 + a**2 + b**2)
    )


def measured(lower, upper, lower_error, upper_error):
    meetings = couple(np.zeros(16), 8, np.random.default_rng(0))
    nothing = np.zeros(0)
    interval, point = Interval(0.95, lower, upper), (lower, 0.1)
    return Measured(
        np.array([0.0, 1.0]), meetings, None, nothing, lower, lower_error, upper, upper_error,
        point, interval,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((-5.0, -4.0, 0.2, 0.2), None),
        ((-5.0, -3.0, 0.2, 0.2), "the bounds are 2.00 ± 0.28 apart and the goal is 1"),
        ((-5.0, -4.5, 0.6, 0.3), "the bounds are 0.50 ± 0.67 apart"),  # noise of both, squared
        ((-5.0, -4.5, 0.3, 0.6), "the bounds are 0.50 ± 0.67 apart"),
        ((-5.0, -4.5, 0.45, 0.45), None),
        ((-5.0, -6.0, 0.2, 0.2), "the bounds are -1.00"),
        ((-5.0, None, 0.2, None), "by the weights even one chain of 8 proposals"),
    ],
)
def test_when_evidence_has_converged(given, said):
    found = Procedure(None, Settings(gap=1.0), Session()).reason(measured(*given), Design(8, 8))
    assert found is None if said is None else found.startswith(said)


def test_the_failure_probability_is_spent_once():
    """0.2 below, half for the distance; of the rest two thirds for as many chains as were asked
    for, and the others in equal parts: all of them together are no more than what was allowed."""
    for starts in (2, 3, 4, 16, 17, 64):
        halvings = starts.bit_length()
        levels = [upper_level(number, halvings, 0.05) for number in range(halvings)]
        assert levels[0] == pytest.approx(0.05 * 0.3 * 2 / 3)
        assert all(level == pytest.approx(levels[-1]) for level in levels[1:])
        assert sum(levels) + 0.7 * 0.05 == pytest.approx(0.05)
    assert near_enough(16, 0.025 / 16, 0.05) and not near_enough(16, 0.0251 / 16, 0.05)


@pytest.mark.parametrize("spread", [0.3, 1.6, 2.2, 2.6, 9.0])
def test_the_first_number_of_chains_that_is_near_enough_is_taken(spread):
    """Halved until it is, by uniforms of its own; and its level is that number's."""
    settings = Settings(starts=8)
    weights = np.random.default_rng(3).normal(0, spread, 8 * 32)
    expected = None
    for number in range(4):
        tried = couple(weights, 32 << number, np.random.default_rng([7, UNIFORMS, number]))
        assert tried.pairs == 8 >> number
        if tried.pairs * tried.total_variation <= 0.5 * settings.fail:
            expected = tried, (0.2 if number == 0 else 0.1 / 3) * settings.fail
            break
    meetings, level = Procedure(None, settings, Session()).chains(weights, 32, 7)
    if expected is None:
        assert level is None and meetings.pairs == 1
        return
    assert level == pytest.approx(expected[1])
    for field in dataclasses.fields(meetings):
        np.testing.assert_equal(getattr(meetings, field.name), getattr(expected[0], field.name))


def test_runs_from_one_start_count_as_one():
    values = np.array([-1.0, -2.0, -3.0, -4.0, -5.0, -6.0])
    found = Procedure(None, Settings(), Session()).per_start(values, 3)
    pairs = [(-1.0, -2.0), (-3.0, -4.0), (-5.0, -6.0)]
    expected = [-math.log((math.exp(-a) + math.exp(-b)) / 2) for a, b in pairs]
    np.testing.assert_allclose(found, expected)
