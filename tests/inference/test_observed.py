"""Both sides on observed data: coverage, what each side rests on, and what is refused."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

import bracketz as bz
from bracketz.engine.anneal import FromStates
from bracketz.inference.interval import Twin, Twins
from bracketz.paths import Tempered

CONTRACT = (
    "model lower log_ml standard_error upper kind certificate interval meetings total_variation"
    " twins reference distributions chains seed converged seconds version"
)


def test_the_interval_holds_the_exact_evidence(tiny):
    """At 95 %, one run each; all seven hold with these keys."""
    _, model, data = tiny
    answer = bz.evidence(model, data.y, gap=0.5, seed=1)
    truth = model.exact_evidence(data.y)
    assert answer.interval.low < truth < answer.interval.high
    assert answer.certificate.low < truth
    assert abs(answer.log_ml - truth) < 4 * answer.standard_error < 0.4
    assert answer.kind == "conditional" and answer.converged
    assert answer.meetings.met == answer.meetings.pairs == 16


MEAN = bz.from_functions(
    lambda x, y: norm.logpdf(y, x["mean"]),
    log_prior=lambda x: norm.logpdf(x["mean"]),
    sample_prior=lambda key: {"mean": jax.random.normal(key)},
    simulate=lambda key, x: x["mean"] + jax.random.normal(key, (3,)),
    name="mean",
)
Y = np.array([0.3, 1.0, 2.0])
COVARIANCE = np.eye(3) + 1
LOG_DET = np.linalg.slogdet(2 * np.pi * COVARIANCE)[1]
TRUTH = float(-0.5 * (Y @ np.linalg.solve(COVARIANCE, Y) + LOG_DET))


def test_a_users_model_with_twins():
    answer = bz.evidence(MEAN, Y, gap=0.3, twins=3, seed=2)
    assert answer.interval.low < TRUTH < answer.interval.high
    assert answer.reference == "fitted" and answer.twins.count == 3
    assert all(abs(twin.log_ml - twin.truth) < 0.3 for twin in answer.twins.each)
    out = answer.to_json()
    json.dumps(out, allow_nan=False)
    assert set(CONTRACT.split()) <= set(out)
    assert {"count", "covered", "bias", "margin"} <= set(out["twins"])
    assert {"pairs", "max", "mean"} <= set(out["meetings"])
    said = answer.statement
    assert said.index("Certified") < said.index("Conditional") < said.index("Heuristic")
    labels = dict(answer.rows())
    assert "(conditional)" in labels["upper bound"] and "(heuristic)" in labels["twins"]
    assert len(answer.plot().axes) == 2


def test_the_exact_sample_is_not_looked_at():
    model = bz.Clustering(components=2)
    data = bz.simulate(model, rows=6, columns=2, seed=3)
    other = dataclasses.replace(data, exact=bz.simulate(model, rows=6, columns=2, seed=4).exact)
    first, again = (bz.evidence(model, d, gap=1.0, seed=5) for d in (data, other))
    assert first.log_weights == again.log_weights
    assert first.reverse_log_weights == again.reverse_log_weights


def test_chains_that_do_not_meet_give_no_upper_bound():
    """Two distributions, from the prior: a few runs carry all the weight."""
    model = bz.Clustering(components=5)
    data = bz.simulate(model, rows=20, columns=5, seed=6)
    answer = bz.evidence(model, data.y, first=2, max_effort=2)
    assert answer.upper is None and answer.interval.high is None and answer.reverse_chains == 0
    assert answer.kind == "certified" and not answer.converged and answer.condition is None
    assert "even one chain" in answer.reason and "No upper bound" in answer.statement
    assert "none: " in dict(answer.rows())["upper bound"]
    json.dumps(answer.to_json(), allow_nan=False)
    answer.plot()


def test_chains_too_far_off_are_made_longer():
    """Runs too short for 16 chains of 32 proposals serve fewer and longer ones."""
    model = bz.Clustering(components=3)
    data = bz.simulate(model, rows=12, columns=3, seed=8)
    answer = bz.evidence(model, data.y, first=3, max_effort=3)
    assert 1 <= answer.starts < 16 and answer.meetings.pairs == answer.starts
    assert answer.starts * answer.meetings.length == answer.chains == 512
    truth = bz.sandwich(model, data, gap=0.2, chains=100).log_ml
    assert answer.interval.low < truth < answer.interval.high
    assert answer.starts * answer.total_variation <= 0.025


def test_reverse_runs_begin_at_the_states_they_are_given():
    model = bz.Clustering(components=2)
    y = np.zeros((3, 2))
    states = [model.sample_prior(jax.random.key(k), (3, 2)) for k in range(4)]
    stacked = jax.tree.map(lambda *a: np.stack(a), *states)
    program = FromStates(model, y, Tempered().through(4), stacked, each=np.int64(3))
    for chain in range(12):
        begun = program.start_of(jax.random.key(9), jnp.uint32(chain))
        same = jax.tree.map(lambda a, b: np.array_equal(a[0], b), begun.states, states[chain // 3])
        assert all(jax.tree.leaves(same))


def test_twins_keep_the_hyperparameters():
    model = bz.InferredClustering(components=2)
    state = model.sample_prior(jax.random.key(0), (6, 2))
    exact, y = model.twin(jax.random.key(1), state, np.zeros((6, 2)))
    assert jax.tree.all(jax.tree.map(np.array_equal, exact.hyper, state.hyper))
    other, another = model.twin(jax.random.key(2), state, np.zeros((6, 2)))
    assert not np.array_equal(y, another) and jax.tree.all(
        jax.tree.map(np.array_equal, other.hyper, exact.hyper)
    )
    seen = bz.Incomplete(model, np.ones((6, 2)))
    again, _ = seen.twin(jax.random.key(1), state, np.zeros((6, 2)))
    assert jax.tree.all(jax.tree.map(np.array_equal, again, exact))


def test_the_margin_of_twins():
    twins = Twins((Twin(-2.0, 1.0, 0.5, 0.0, 0.1), Twin(-3.0, -1.0, -2.0, 0.5, 0.1)), "")
    assert twins.covered == 1 and twins.margin == 1.5 and twins.bias == -1.0
    without = Twins((Twin(-1.0, None, 0.0, 5.0, 0.1),), "")
    assert without.margin == 0 and without.covered == 0 and "(0 had an upper bound)" in str(without)


@pytest.mark.parametrize(
    "wrong,sentence",
    [
        ({"gap": 0.0}, "gap must be positive"),
        ({"starts": 1}, "starts must be at least 2"),
        ({"chains": 8}, "`chains` must be at least `starts`"),
        ({"confidence": 1.0}, "confidence must lie inside"),
        ({"twins": -1}, "twins must be at least 0"),
    ],
)
def test_refusals(wrong, sentence):
    with pytest.raises(bz.InputError, match=sentence):
        bz.evidence(MEAN, Y, **wrong)
