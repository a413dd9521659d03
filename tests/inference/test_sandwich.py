"""The sandwich as a user meets it: its ladder, its answer, its refusals."""

import dataclasses
import importlib
import json

import jax
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.weights import bennett
from bracketz.engine.session import Silent
from bracketz.inference.plan import Seen, converged, next_rung, plan

sandwich_module = importlib.import_module("bracketz.inference.sandwich")

MODEL = bz.Clustering(components=5)
DATA = bz.simulate(MODEL, 30, 10, seed=2)  # its short ladders leave bounds that do not cross


@pytest.fixture(scope="module")
def answer():
    return bz.sandwich(MODEL, DATA, gap=0.5, chains=20, first=32)


def test_a_forward_ladder_decides_and_one_fresh_run_measures(answer):
    efforts = [rung.effort for rung in answer.rungs]
    assert efforts[0] == 32 and efforts == sorted(set(efforts))
    (look,) = answer.looks
    assert not {w for rung in answer.rungs for w in rung.forward} & set(look.forward)
    assert answer.distributions == look.effort and answer.chains == look.chains == 20
    assert answer.converged and -0.25 <= answer.gap <= 0.5 and look.noise <= 0.65 * 0.5
    sweeps = sum(20 * (effort - 1) for effort in efforts)
    assert answer.cost.deciding == sweeps
    assert answer.cost.measuring == 2 * 20 * (look.effort - 1)


def test_what_decides_does_not_know_the_exact_sample(answer):
    """Weights that begin at it average to 1 / p(y) only if nothing that was chosen depends on it:
    another exact sample of the same data gives the same ladder, schedule and settings."""
    other = jax.tree.map(np.asarray, MODEL.sample_prior(jax.random.key(9), DATA.y.shape))
    moved = bz.Data(DATA.y, other, DATA.parameters, DATA.meta)
    again = bz.sandwich(MODEL, moved, gap=0.5, chains=20, first=32)
    assert again.rungs == answer.rungs
    assert (again.distributions, again.chains) == (answer.distributions, answer.chains)
    assert again.looks[0].forward == answer.looks[0].forward
    assert again.looks[0].reverse != answer.looks[0].reverse

    def schedule_of(data):
        path = bz.Tempered(schedule=bz.Adapted(pilot=32))
        adapted = bz.sandwich(MODEL, data, chains=20, path=path, first=64, max_effort=64)
        return adapted.looks[0].forward

    assert schedule_of(moved) == schedule_of(DATA)


def test_reverse_ais_adapts_to_forward_runs():
    other = jax.tree.map(np.asarray, MODEL.sample_prior(jax.random.key(9), DATA.y.shape))
    moved = bz.Data(DATA.y, other, DATA.parameters, DATA.meta)
    seen = []
    for data in (DATA, moved):
        session = bz.Session(progress=Streams())
        estimator = bz.ReverseAIS(distributions=64, schedule=bz.Adapted(pilot=32))
        bz.estimate(MODEL, data, estimator, trials=20, session=session)
        seen.append(session.progress.labels)
    assert seen[0] == seen[1] == ["pilot lower", "reverse-ais"]


class Streams(Silent):
    """Remembers which runs there were."""

    def __init__(self):
        self.labels = []

    def begin(self, label, total, done):
        self.labels.append(label)


def test_the_answer_is_its_measurement(answer):
    (look,) = answer.looks
    forward, reverse = np.array(look.forward), np.array(look.reverse)
    assert answer.lower == look.lower == pytest.approx(np.log(np.mean(np.exp(forward))))
    assert answer.upper == look.upper == pytest.approx(-np.log(np.mean(np.exp(-reverse))))
    assert (answer.log_ml, answer.standard_error) == tuple(bennett(forward, reverse))
    assert answer.jeffreys_bound == pytest.approx(reverse.mean() - forward.mean())
    certificate = bz.Certificate.from_weights(forward, reverse, 0.9)
    assert answer.certificate == answer.fixed == certificate


def test_further_looks_are_paid_for_and_do_not_follow_from_the_first():
    hard = {"gap": 1e-6, "chains": 3, "first": 8, "max_effort": 8}
    one = bz.sandwich(MODEL, DATA, **hard)
    two = bz.sandwich(MODEL, DATA, **hard, looks=2)
    assert len(two.looks) == 2 and two.looks[0] == one.looks[0] and not two.converged
    assert not set(two.looks[1].forward) & set(two.looks[0].forward)
    forward, reverse = (np.array(getattr(two.looks[1], side)) for side in ("forward", "reverse"))
    assert two.certificate == bz.Certificate.from_weights(forward, reverse, 0.9, spent=0.5)
    assert two.fixed == bz.Certificate.from_weights(forward, reverse, 0.9)
    found = two.to_json()["certificate"]
    assert found["looks"] == 2 and found["fixed"]["low"] > found["low"]


def test_converged_means_a_small_gap_that_is_not_luck():
    assert converged(gap=0.9, noise=0.3, target=1.0)
    assert not converged(gap=1.1, noise=0.1, target=1.0)
    assert not converged(gap=0.1, noise=0.7, target=1.0)
    assert not converged(gap=-0.6, noise=0.3, target=1.0)
    assert not converged(gap=float("nan"), noise=0.1, target=1.0)
    unlucky = bz.sandwich(MODEL, DATA, gap=3.0, chains=3, first=8, max_effort=8)
    assert not unlucky.converged
    assert unlucky.reason.startswith(("the gap", "the bounds have crossed"))


def test_the_plan_asks_for_chains_or_distributions_whichever_is_cheaper():
    seen = [Seen(effort=101, spread=1.0, chains=100)]
    tight, loose = (plan(seen, target, 25, True, 2, 1 << 22) for target in (0.1, 1.0))
    assert tight.effort > 40 * loose.effort and tight.chains == loose.chains == 25
    few = plan(seen, 1.0, 2, True, 2, 1 << 22)
    assert few.chains >= 8 and few.effort * few.chains < 3 * loose.effort * loose.chains
    # A path that does not refine has only the efforts it has seen, and chains.
    prefix = [Seen(1, 0.4, 25), Seen(2, 0.1, 25)]
    assert plan(prefix, 1.0, 25, False, 1, 512).effort == 2
    # Where one chain's weight is unpredictable, so is the effort: measured where the ladder ended.
    assert plan([Seen(1024, 500.0, 25)], 1.0, 25, True, 2, 1 << 22) == (1024, 25)


def test_the_ladder_goes_on_while_effort_pays():
    """On a path that refines: up to eight times the effort, and an end where 64 times have not
    halved the spread."""
    first = Seen(16, 100.0, 25)
    assert next_rung([first], 1.0, True) == 128
    assert next_rung([first, Seen(1024, 49.0, 25)], 1.0, True) == 8192
    assert next_rung([first, Seen(1023, 51.0, 25)], 1.0, True) == 8184
    assert next_rung([first, Seen(1024, 51.0, 25)], 1.0, True) is None
    assert next_rung([first, Seen(128, 4.0, 25)], 1.0, True) is None


def test_an_inversion_no_chance_explains_is_a_failed_run(monkeypatch):
    runs = sandwich_module.BothWays.look

    def inverted(self, *given):
        look = runs(self, *given)
        return dataclasses.replace(look, upper=look.lower - 60.0)

    monkeypatch.setattr(sandwich_module.BothWays, "look", inverted)
    with pytest.raises(bz.NumericalError, match="exceeds the upper bound"):
        bz.sandwich(MODEL, DATA, chains=3, first=8, max_effort=8)


def test_bennett_and_jeffreys_are_withheld_from_several_particles():
    """With P particles the reverse run is not the reversal of the forward one: Bennett's equation
    does not hold, and its bias does not fall with chains."""
    answer = bz.sandwich(MODEL, DATA, chains=3, particles=3, first=8, max_effort=8)
    assert answer.log_ml_by == "midpoint" and answer.jeffreys_bound is None
    assert answer.log_ml == pytest.approx(0.5 * (answer.lower + answer.upper))
    assert answer.standard_error >= 0.5 * abs(answer.gap)
    assert answer.to_json()["jeffreys_bound"] is None


def test_the_measurement_ends_at_max_effort_unconverged():
    answer = bz.sandwich(MODEL, DATA, gap=1e-3, chains=20, first=32, max_effort=64)
    assert answer.distributions <= 64 and not answer.converged and answer.predicted is not None
    assert answer.predicted.distributions > 64


def test_a_budget_that_is_spent_still_gives_an_answer():
    answer = bz.sandwich(
        MODEL, DATA, gap=1e-3, chains=20, first=32, session=bz.Session(max_seconds=1e-9)
    )
    assert len(answer.rungs) == 1 and not answer.converged and np.isfinite(answer.lower)
    assert answer.distributions == 16


@pytest.mark.slow
def test_prefix_path_counts_sweeps_and_takes_an_order():
    plain = bz.sandwich(MODEL, DATA, gap=1e-3, chains=20, path=bz.Prefix(), max_effort=2)
    assert plain.path == "prefix" and plain.unit == "sweeps per row" and plain.schedule is None
    assert plain.distributions == 31 and plain.rungs[0].effort == 1
    shuffled = bz.sandwich(
        MODEL, DATA, gap=1e-3, chains=20, path=bz.Prefix(shuffle=1), max_effort=2
    )
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
    answer = bz.sandwich(MODEL, DATA, chains=40, first=256, max_effort=256, path=path)
    assert answer.schedule == "square"
    plain = bz.sandwich(MODEL, DATA, chains=40, first=256, max_effort=256)
    # Both estimate one number; 4 standard errors: 1 in 16,000.
    error = np.hypot(answer.standard_error, plain.standard_error)
    assert abs(answer.log_ml - plain.log_ml) < 4 * error


def test_json_holds_what_scripts_rely_on(answer):
    found = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert {
        "model", "lower", "upper", "gap", "log_ml", "standard_error", "certificate",
        "jeffreys_bound", "distributions", "chains", "seed", "converged", "seconds", "version",
    } <= set(found)  # fmt: skip
    assert {"confidence", "low", "high"} <= set(found["certificate"])
    assert set(found["seconds"]) == {"run", "compile"}
    assert found["path"] == "tempered" and found["schedule"] == "sigmoid"


def test_a_notebook_shows_a_table_and_a_plot(answer):
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
        ({"looks": 0}, "looks must be at least 1"),
        ({"first": 64, "max_effort": 32}, "`max_effort` must be at least `first`, 64, got 32"),
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
