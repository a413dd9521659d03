"""The sandwich as a user meets it: its ladder, its answer, its refusals."""

import json

import numpy as np
import pytest

import bracketz as bz
from bracketz.core.weights import bennett

MODEL = bz.Clustering(components=5)
DATA = bz.simulate(MODEL, 30, 10, seed=2)  # its short ladders leave bounds that do not cross


@pytest.mark.slow
def test_effort_doubles_until_the_gap_is_small_enough():
    answer = bz.sandwich(MODEL, DATA, gap=0.5, chains=20, first=4)
    efforts = [rung.effort for rung in answer.rungs]
    assert efforts == [4 * 2**i for i in range(len(efforts))] and len(efforts) > 1
    assert all(rung.gap > 0.5 for rung in answer.rungs[:-1])
    assert answer.converged and answer.gap <= 0.5
    assert answer.distributions == efforts[-1]


def test_the_answer_is_its_last_rung():
    answer = bz.sandwich(MODEL, DATA, gap=0.5, chains=20, first=4)
    last = answer.rungs[-1]
    forward, reverse = np.array(last.forward), np.array(last.reverse)
    assert answer.lower == last.lower == pytest.approx(np.log(np.mean(np.exp(forward))))
    assert answer.upper == last.upper == pytest.approx(-np.log(np.mean(np.exp(-reverse))))
    assert (answer.log_ml, answer.standard_error) == tuple(bennett(forward, reverse))
    assert answer.jeffreys_bound == pytest.approx(reverse.mean() - forward.mean())


def test_the_certificate_is_markovs_and_anytime_pays_for_every_look():
    answer = bz.sandwich(MODEL, DATA, gap=0.5, chains=20, first=4, confidence=0.8)
    margin = np.log(2 / 0.2)
    assert answer.certificate.low == pytest.approx(answer.lower - margin)
    assert answer.certificate.high == pytest.approx(answer.upper + margin)
    looks = len(answer.rungs)
    assert answer.anytime.low == pytest.approx(answer.lower - margin - np.log(looks * (looks + 1)))


@pytest.mark.slow
def test_the_ladder_ends_at_max_effort_unconverged():
    answer = bz.sandwich(MODEL, DATA, gap=1e-9, chains=3, first=8, max_effort=16)
    assert [rung.effort for rung in answer.rungs] == [8, 16] and not answer.converged


def test_a_budget_that_is_spent_still_gives_the_first_rung():
    answer = bz.sandwich(
        MODEL, DATA, gap=1e-9, chains=3, first=4, session=bz.Session(max_seconds=1e-9)
    )
    assert len(answer.rungs) == 1 and not answer.converged and np.isfinite(answer.lower)


def test_each_rung_is_independent_of_where_the_ladder_began():
    long = bz.sandwich(MODEL, DATA, gap=1e-9, chains=3, first=8, max_effort=32).rungs[-1]
    short = bz.sandwich(MODEL, DATA, gap=1e-9, chains=3, first=32, max_effort=32).rungs[0]
    assert (long.forward, long.reverse) == (short.forward, short.reverse)


@pytest.mark.slow
def test_prefix_path_counts_sweeps_and_takes_an_order():
    plain = bz.sandwich(MODEL, DATA, gap=1e-9, chains=3, path=bz.Prefix(), max_effort=2)
    assert plain.path == "prefix" and plain.unit == "sweeps per row" and plain.schedule is None
    assert plain.distributions == 31 and [rung.effort for rung in plain.rungs] == [1, 2]
    shuffled = bz.sandwich(MODEL, DATA, gap=1e-9, chains=3, path=bz.Prefix(shuffle=1), max_effort=2)
    assert shuffled.lower != plain.lower


class Square(bz.Schedule):
    """A schedule of one's own: beta = (t / last)^2."""

    name = "square"

    def inverse_temperature(self, t, last):
        return (np.float64(1.0) * t / last) ** 2


@pytest.mark.slow
def test_a_schedule_of_ones_own():
    Registered = bz.pytree_dataclass(Square)
    path = bz.Tempered(schedule=Registered())
    answer = bz.sandwich(MODEL, DATA, gap=1e9, chains=40, first=256, path=path)
    assert answer.schedule == "square"
    plain = bz.sandwich(MODEL, DATA, gap=1e9, chains=40, first=256)
    # Both estimate one number; 4 standard errors: 1 in 16,000.
    error = np.hypot(answer.standard_error, plain.standard_error)
    assert abs(answer.log_ml - plain.log_ml) < 4 * error


def test_json_holds_what_scripts_rely_on():
    answer = bz.sandwich(MODEL, DATA, gap=1e9, chains=3)
    found = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert {
        "model", "lower", "upper", "gap", "log_ml", "standard_error", "certificate",
        "jeffreys_bound", "distributions", "chains", "seed", "converged", "seconds", "version",
    } <= set(found)  # fmt: skip
    assert {"confidence", "low", "high"} <= set(found["certificate"])
    assert set(found["seconds"]) == {"run", "compile"}
    assert found["path"] == "tempered" and found["schedule"] == "sigmoid"


def test_a_notebook_shows_a_table_and_a_plot():
    answer = bz.sandwich(MODEL, DATA, gap=1e9, chains=3)
    page = answer._repr_html_()
    assert "log evidence (BAR)" in page and "90% certificate" in page and page.count("<tr>") >= 8
    figure = answer.plot()
    assert figure.axes[0].get_xlabel() == "distributions"


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"gap": 0.0}, "gap must be positive, got 0"),
        ({"gap": float("nan")}, "gap must be positive"),
        ({"chains": 1}, "chains must be at least 2"),
        ({"sweeps": 0}, "sweeps must be at least 1"),
        ({"particles": 0}, "particles must be at least 1"),
        ({"first": 1}, "distributions must be at least 2"),
        ({"confidence": 1.0}, "confidence must lie inside"),
        ({"seed": -1}, "seed must be"),
        ({"path": "tempered"}, r"path must be one such as bracketz.Tempered\(\), got 'tempered'"),
    ],
)
def test_refusals_come_before_any_work(options, sentence):
    from bracketz.engine import run

    before = run.trace_count
    with pytest.raises(bz.InputError, match=sentence):
        bz.sandwich(MODEL, DATA, **options)
    assert run.trace_count == before


def test_observed_data_are_refused():
    with pytest.raises(bz.InputError, match="needs an exact posterior sample"):
        bz.sandwich(MODEL, DATA.y)
