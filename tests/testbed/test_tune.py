"""Tuning: the measure, the search on a bench whose errors are known, and a real one."""

import dataclasses
import json
import math

import numpy as np
import pytest

import bracketz as bz
from bracketz.testbed.tune import tune as tune_function
from bracketz.testbed.tune.bench import Bench, Choice, Measured, Truth, choices
from bracketz.testbed.tune.climb import Rung, around, climb, ratio_interval, time_of, time_to

MODEL = bz.Clustering(components=2)


def test_time_to_a_target_is_interpolated_in_logarithms():
    """Error 1 / sqrt(seconds): the crossing of 1/4 is at 16 s, wherever the rungs are."""
    points = [(s, s**-0.5) for s in (1.0, 3.0, 10.0, 40.0)]
    assert time_to(0.25, points) == pytest.approx(16.0)
    assert time_to(2.0, points) == 1.0  # the first is enough
    assert time_to(0.01, points) == math.inf
    assert time_to(0.5, [(0.0, 1.0), (2.0, 0.1)]) == 2.0  # nothing to interpolate by


def rung(knob, seconds, error, data=4):
    return Rung(knob, tuple(Measured(np.array([error, -error]), seconds) for _ in range(data)))


def test_the_interval_of_a_ratio_holds_it_and_narrows_to_a_point_without_noise():
    slow, fast = [rung(1, 4.0, 2.0), rung(2, 8.0, 0.5)], [rung(1, 1.0, 2.0), rung(2, 2.0, 0.5)]
    assert time_of(slow, 1.0) == pytest.approx(4 * 2**0.5)
    low, high = ratio_interval(slow, fast, 1.0, 0.95, np.random.default_rng(0), resamples=50)
    assert low == pytest.approx(4.0) and high == pytest.approx(4.0)


@dataclasses.dataclass
class Known(Bench):
    """Errors and seconds by a formula: particles pay up to 4, the linear schedule never does."""

    def truth(self, number):
        return self.truths.setdefault(number, Truth(None, 0.0, 0.1, 0.1))

    def measure(self, choice, knob, number):
        self.truth(number)
        e = choice.estimator
        variance = {1: 1024.0, 4: 64.0, 16: 60.0}[e.particles] / knob
        variance *= {"sigmoid": 1.0, "adapted": 0.4, "linear": 9.0}[e.schedule]
        noise = np.random.default_rng([number, knob, e.particles]).normal(size=16)
        seconds = 1e-3 * knob * e.sweeps * e.particles
        return Measured(math.sqrt(variance) * noise / np.sqrt(np.mean(noise**2)), seconds)


def test_one_change_at_a_time_finds_the_best_settings(monkeypatch):
    monkeypatch.setattr("bracketz.testbed.tune.search.Bench", Known)
    answer = bz.tune(MODEL, "ais", 6, 2, budget=60, fresh=4)
    assert answer.settings["particles"] == 4 and answer.settings["schedule"] == "adapted"
    assert answer.settings["sweeps"] == 1 and answer.exhausted and answer.converged
    # 1024 thousandths of a second against 4 * 64 * 0.4.
    assert answer.gain.ratio == pytest.approx(10.0)
    assert answer.gain.low <= answer.gain.ratio <= answer.gain.high
    tried = [t.settings for t in answer.tried]
    assert len(tried) == len({json.dumps(t, sort_keys=True) for t in tried})
    told = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert told["datasets"] == 3 and told["fresh"] == 4
    assert any("gain on fresh data" in name for name, _ in answer.rows())


def test_no_time_leaves_the_defaults(monkeypatch):
    monkeypatch.setattr("bracketz.testbed.tune.search.Bench", Known)
    answer = bz.tune(MODEL, "ais", 6, 2, budget=1e-9, fresh=2)
    assert answer.settings["particles"] == 1 and not answer.exhausted
    assert len(answer.tried) == 1


def test_a_setting_without_hope_is_given_up():
    bench = Known(MODEL, 6, 2, 1.0, 1, 16, 0, bz.Session())
    linear = Choice(bz.AIS(schedule="linear"))
    found = climb(bench, linear, range(2), lambda: False, best=0.02)
    assert not found.reached and found.rungs[-1].knob == 32


@pytest.mark.parametrize("knob", [64, 1024, 2**15])
def test_the_crossing_lies_between_two_rungs_wherever_the_search_left_it(knob):
    """Errors are below 1 from 1,024 on; what tuning data needed, fresh data may not."""
    bench = Known(MODEL, 6, 2, 1.0, 1, 16, 0, bz.Session())
    found = around(bench, Choice(bz.AIS()), knob, range(2))
    knobs = [one.knob for one in found]
    assert knobs == sorted(set(knobs)) and knobs[0] < 1024 <= knobs[-1]
    assert time_of(found, 1.0) == pytest.approx(1.024)


def test_choices_change_one_setting_that_matters():
    model = bz.BinaryAttributes(components=20)
    default = Choice(bz.SMC())
    found = choices(default.estimator, model, default)
    assert [c.estimator.particles for c in found] == [1, 4, 16, 64]
    # 2^20 candidates of a whole row are refused, so it is no choice; resampling one particle none.
    assert found[0].moves == (("row_update", "flips"),)
    assert found[0].on(model).row_update == "flips"
    more = choices(bz.SMC(), model, Choice(bz.SMC(particles=4)))
    assert {"residual"} == {c.estimator.resampling for c in more} - {"systematic"}


def test_measurements_are_against_the_truth_and_kept(tmp_path):
    """On a real bench; a resumed one measures nothing again."""

    def bench(resume):
        kept = bz.Checkpoint(tmp_path / "kept.npz", {}, resume=resume)
        return Bench(MODEL, 4, 2, 4.0, 2, 3, 0, bz.Session(checkpoint=kept))

    choice = Choice(bz.LikelihoodWeighting())
    first = bench(False)
    once = first.measure(choice, 64, 0)
    exact = MODEL.exact_evidence(first.truth(0).data.y)
    assert abs(first.truth(0).log_ml - exact) < 5 * first.truth(0).error
    assert once.errors.shape == (3,) and once.seconds > 0
    again = bench(True)
    again._run = None
    assert np.array_equal(again.measure(choice, 64, 0).errors, once.errors)


@pytest.mark.parametrize(
    ("knobs", "said"),
    [({"budget": 0}, "budget must be positive"), ({"fresh": 1}, "fresh must be at least 2")],
)
def test_refusals(knobs, said):
    with pytest.raises(bz.InputError, match=said):
        tune_function(MODEL, "ais", **knobs)
    with pytest.raises(bz.InputError, match="undirected"):
        bz.tune(bz.Ising(), "ais")
