"""Fractional and intrinsic ratios: exact ones, what is certified, and what no run may know."""

import json
import runpy
from pathlib import Path

import jax
import numpy as np
import pytest

import bracketz as bz
from bracketz.engine.anneal import Forward, FromStates
from bracketz.engine.marks import Marked
from bracketz.paths.through import Through
from tiny_instances import TINY

MODEL, SHAPE = TINY["clustering"]
DATA = bz.simulate(MODEL, *SHAPE, seed=12)
CHANNEL = runpy.run_path(Path(__file__).parents[2] / "examples/information/channel.py")["Channel"]()
FRACTION, TRAINING = 0.3, (0, 2)
ROW = np.isin(np.arange(SHAPE[0]), TRAINING) * 1.0


@jax.jit
def log_z(row):
    """By enumeration."""
    states, weight = MODEL.nodes(SHAPE)
    return jax.vmap(lambda state: MODEL.log_annealed(state, DATA.y, row))(states) + weight


def exact(row) -> float:
    with jax.enable_x64(True):
        return float(jax.nn.logsumexp(log_z(row)))


ONES = np.ones(SHAPE[0])
RATIOS = {
    "fraction": exact(ONES) - exact(FRACTION * ONES),
    "training": exact(ONES) - exact(ROW),
}


@pytest.fixture(scope="module")
def answers():
    with jax.enable_x64(True):
        return {
            "fraction": bz.fractional(MODEL, DATA, fraction=FRACTION, gap=1.0),
            "training": bz.fractional(MODEL, DATA, training=TRAINING, gap=1.0),
        }


@pytest.mark.parametrize("name", RATIOS)
def test_bounds_close_on_the_exact_ratio(answers, name):
    """Five standard errors each: about 1e-5 of false alarms with Gaussian noise."""
    answer, truth = answers[name], RATIOS[name]
    assert answer.converged, answer.reason
    assert answer.lower - 5 * answer.lower_error < truth < answer.upper + 5 * answer.upper_error
    assert abs(answer.log_ratio - truth) < 5 * answer.standard_error
    assert answer.certificate.low < truth < answer.certificate.high


def test_what_is_certified_and_what_is_not(answers):
    fraction, training = answers["fraction"], answers["training"]
    assert fraction.kind == ("conditional", "certified") and fraction.condition
    assert training.kind == ("certified", "certified") and training.condition is None
    assert (fraction.certified_by, training.certified_by) == ("convexity", "exact sample")
    assert training.interval is None
    # Sharper than convexity, and not a certificate.
    assert fraction.interval.low > fraction.certificate.low
    told = json.loads(json.dumps(fraction.to_json(), allow_nan=False))
    assert told["kind"] == {"lower": "conditional", "upper": "certified"}
    assert told["training"] is None and told["fraction"] == FRACTION


def test_convexity_bounds_the_training_evidence():
    """log Z(b) <= b log Z(1), with enumerated evidences."""
    for b in (FRACTION, 0.9):
        assert exact(b * ONES) <= b * exact(ONES)


def test_marks_average_to_evidences_at_both_rows():
    """E w = Z(r), Z(1) forwards; Z(r) / Z(1), 1 / Z(1) backwards from exact samples: 4.5 standard
    errors each of four, 3e-5 in all."""
    path, _ = Through(FRACTION * ONES).at(6, MODEL, SHAPE[0])
    truth = np.array([exact(FRACTION * ONES), exact(ONES)])
    states, _ = MODEL.nodes(SHAPE)
    chosen = jax.random.categorical(jax.random.key(3), log_z(ONES), shape=(2000,))
    starts = jax.tree.map(lambda a: np.asarray(a)[np.asarray(chosen)], states)
    up = Marked(Forward(MODEL, DATA.y, path), path.corner)
    down = Marked(FromStates(MODEL, DATA.y, path, starts), path.corner)
    for program, expected in ((up, truth), (down, [truth[1] - truth[0], truth[1]])):
        run = bz.run_chains(program, path.num_edges, chains=2000, seed=1, stream="marks")
        marks = program.sign * run.carry.mark
        for values, log_mean_of in zip((marks, run.log_values), expected, strict=True):
            ratios = np.exp(program.sign * (values - log_mean_of))
            assert abs(np.mean(ratios) - 1) < 4.5 * np.std(ratios) / 2000**0.5


@pytest.mark.parametrize("row", [FRACTION * ONES, ROW])
def test_the_path_goes_through_the_training_row(row):
    table = np.array([0.0, 0.01, 0.2, 1.0])
    for start in (Through(row), Through.along(row, bz.Adapted().frozen(table))):
        path, _ = start.at(12, MODEL, SHAPE[0])
        rows = np.stack([path.powers(t, SHAPE[0]) for t in range(path.num_edges + 1)])
        assert np.all(rows[0] == 0) and np.all(rows[-1] == 1)
        np.testing.assert_allclose(rows[path.corner], row, atol=1e-15)
        assert np.all(np.diff(rows, axis=0) >= 0)


def test_training_runs_do_not_know_the_other_rows():
    """Given the other rows the sample follows another law: what its run uses must not see them."""
    other = DATA.y.copy()
    other[ROW == 0] += 100.0
    trained = bz.raised(MODEL, ROW)
    path = bz.Tempered().through(16)
    one, two = (
        bz.run_chains(Forward(trained, y, path), 15, chains=25, seed=0, stream="x").log_values
        for y in (DATA.y, other)
    )
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert trained.suited_to(other) is trained


def test_a_conjugate_model_in_closed_form():
    """Five standard errors, as above."""
    data = bz.simulate(CHANNEL, 6, 1, seed=3)
    answer = bz.fractional(CHANNEL, data, fraction=0.25, gap=1.0, first=16, max_effort=16)
    truth = CHANNEL.exact_evidence(data.y) - CHANNEL.log_evidence(data.y, np.full(6, 0.25))
    assert answer.certificate.low < truth < answer.certificate.high
    assert answer.lower - 5 * answer.lower_error < truth < answer.upper + 5 * answer.upper_error


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({}, "either `fraction`"),
        ({"fraction": 0.5, "training": 2}, "either `fraction`"),
        ({"fraction": 1.0}, "inside"),
        ({"training": 5}, "from 1 to 4 rows, got 5"),
        ({"training": [0, 0]}, "different rows"),
        ({"training": [7]}, "numbered from 0 to 4"),
        ({"fraction": 0.5, "gap": 0.0}, "positive"),
    ],
)
def test_refusals(knobs, said):
    with pytest.raises(bz.InputError, match=said):
        bz.fractional(MODEL, DATA, **knobs)


def test_observed_data_are_refused_with_the_way_out():
    with pytest.raises(bz.InputError, match="raised"):
        bz.fractional(MODEL, DATA.y, fraction=0.5)
    with pytest.raises(bz.InputError, match="from 0 to 1"):
        bz.raised(MODEL, 1.5)
    with pytest.raises(bz.InputError, match="undirected"):
        bz.raised(bz.Ising(), 0.5)
