"""Missing entries: the density against integration over them, the sweep against the density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import bracketz as bz
from bracketz import check
from bracketz.core.capabilities import log_evidence
from bracketz.core.precision import double_precision
from swept_laws import DRAWS, log_densities, swept

FIXED = (bz.Clustering, bz.LowRank, bz.BinaryAttributes)
INFERRED = (bz.InferredClustering, bz.InferredLowRank, bz.InferredBinaryAttributes)


def ids(cls):
    return cls.__name__


@pytest.mark.parametrize("cls", FIXED, ids=ids)
def test_evidence_is_the_integral_over_the_missing_entry(cls):
    model, shape = cls().tiny()
    y = bz.simulate(model, *shape, seed=2).y
    observed = np.ones(shape)
    observed[1, 0] = 0
    axis = np.linspace(-25, 25, 1001)
    with double_precision():
        nodes, weight = jax.tree.map(jnp.asarray, model.nodes(shape))
        whole = jax.jit(
            lambda v: log_evidence(model, jnp.asarray(y).at[1, 0].set(v), nodes, weight)
        )
        integral = logsumexp([float(whole(v)) for v in axis]) + np.log(axis[1] - axis[0])
        incomplete = bz.Incomplete(model, observed)
        found = float(log_evidence(incomplete, jnp.asarray(y), nodes, weight))
    assert found == pytest.approx(integral, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("cls", INFERRED, ids=ids)
def test_with_everything_observed_it_is_the_model(cls):
    model = cls(3)
    shape = (5, 4)
    with double_precision():
        state = model.sample_prior(jax.random.key(0), shape)
        y = model.simulate(jax.random.key(1), state, shape)
        powers = jnp.linspace(0, 1, 5)
        ours = bz.Incomplete(model, np.ones(shape)).log_annealed(state, y, powers)
        assert float(ours) == pytest.approx(float(model.log_annealed(state, y, powers)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("cls", FIXED, ids=ids)
def test_bounds_meet_on_incomplete_data(cls):
    """Both directions against enumeration: the completed sweep keeps its density. Error bars are
    below 0.03 nats."""
    model, shape = cls().tiny()
    observed = np.ones(shape)
    observed[0, 0] = observed[2, -1] = 0
    incomplete = bz.Incomplete(model, observed)
    data = bz.simulate(incomplete, *shape, seed=4)
    with double_precision():
        truth = float(
            log_evidence(incomplete, data.y, *jax.tree.map(jnp.asarray, model.nodes(shape)))
        )
    for estimator in (bz.AIS(distributions=300), bz.ReverseAIS(distributions=300)):
        answer = bz.estimate(incomplete, data, estimator, trials=400)
        assert abs(answer.log_ml - truth) < 0.12, (estimator.name, answer.log_ml, truth)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "only"),
    [
        (bz.InferredClustering, "conditionals.ratios"),
        (bz.InferredLowRank, "geweke.exchange"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_kit_passes(cls, only):
    """Exact conditionals of every hyperparameter with entries missing, and Geweke's tests; false
    alarms below 0.2 %."""
    model, shape = cls().tiny()
    observed = np.ones(shape)
    observed[1, 0] = 0
    incomplete = bz.Incomplete(model, observed)
    report = check.run(incomplete, level="quick", shape=shape, only=only)
    assert report.passed, report.failures


def test_a_model_without_the_capability_is_refused():
    held_out = bz.HeldOut(bz.Clustering(2), np.zeros((2, 3)))
    with pytest.raises(
        bz.InputError, match="HeldOut cannot leave out missing entries exactly: it lacks Conjugate"
    ):
        bz.Incomplete(held_out, np.ones((4, 3)))


def test_pattern_must_fit_the_data():
    incomplete = bz.Incomplete(bz.Clustering(2), np.ones((4, 3)))
    with pytest.raises(bz.InputError, match="pattern of missing entries"):
        bz.estimate(incomplete, np.zeros((5, 3)), bz.AIS(distributions=10), trials=2)


# What a sweep keeps, by enumeration, with rows of power 0, between and 1, each with holes.

POWERS = np.array([0.35, 1.0, 0.0, 0.7])
OBSERVED = np.array([[0, 1], [1, 0], [0, 1], [1, 1]])
Y = np.array([[1.4, -0.9], [-1.1, 0.8], [0.6, 2.0], [-1.6, -1.2]])
TINY = {
    "clustering": bz.Clustering(2, 1.6, 0.3, mixture=[0.6, 0.4]),
    "low-rank": bz.LowRank(1, left_variance=1.1, right_variance=0.8, noise_variance=0.6),
    "binary": bz.BinaryAttributes(2, [0.3, 0.6], 1.4, 0.3),
}
ROWS = {"clustering": 4, "low-rank": 4, "binary": 2}
FILLERS = (0.0, 1e200)  # of which the square is infinite, and 0 times that no number


def filled(name, filler):
    """(the model with holes, y with the filler in them, powers)."""
    n = ROWS[name]
    observed = OBSERVED[:n]
    y = np.where(observed > 0, Y[:n], filler)
    return bz.Incomplete(TINY[name], observed), y, POWERS[:n]


@pytest.mark.parametrize("name", TINY)
def test_nothing_depends_on_what_holes_are_filled_with(name):
    """Density and sweeps, both ways, to the last bit."""
    answers = []
    keys = jax.random.split(jax.random.key(2), DRAWS)
    for filler in FILLERS:
        model, y, powers = filled(name, filler)
        nodes, _ = model.model.nodes(y.shape)
        at = np.arange(DRAWS) % len(jax.tree.leaves(nodes)[0])
        states = jax.tree.map(lambda a, at=at: jnp.asarray(a)[at], nodes)
        moved = swept(model, jnp.asarray(y), powers, keys, states)
        answers.append((moved, log_densities(model, nodes, jnp.asarray(y), powers)))
    jax.tree.map(np.testing.assert_array_equal, *answers)


def test_what_is_decided_on_the_host_does_not_look_into_holes():
    """Refusals, the careful arithmetic and the audit: of a model that would refuse the filler."""
    for cls in FIXED:
        model, y = bz.Incomplete(cls(2), OBSERVED), np.where(OBSERVED > 0, Y, 1e200)
        model.check_data(y)
        assert model.suited_to(y) is model and not model.doubtful(y, None)
        with pytest.raises(bz.InputError):
            model.model.check_data(y)
