"""Rows of powers, and edges crossed both ways."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import Clustering, InputError, LowRank, simulate
from bracketz.core.conditional import log_prob
from bracketz.core.precision import double_precision
from bracketz.models.clustering.state import ClusteringState
from bracketz.paths import Prefix, Sigmoid, Tempered, schedule_named


def test_sigmoid_is_the_papers_formula():
    total, delta = 7, 4.0
    t = np.arange(1, total + 1)
    raw = 1 / (1 + np.exp(-delta * (2 * t / total - 1)))
    expected = (raw - raw[0]) / (raw[-1] - raw[0])
    path = Tempered().through(total)
    got = [float(path.inverse_temperature(s)) for s in range(total)]
    np.testing.assert_allclose(got, expected, atol=1e-14)
    assert got[0] == 0.0 and got[-1] == 1.0


@pytest.mark.parametrize("schedule", ["sigmoid", "linear"])
@pytest.mark.parametrize("total", [2, 3, 1000])
def test_tempered_rows_rise_from_zero_to_one(schedule, total):
    path = Tempered(schedule_named(schedule)).through(total)
    betas = np.asarray(jax.vmap(path.inverse_temperature)(jnp.arange(total)))
    assert betas[0] == 0.0 and betas[-1] == 1.0 and np.all(np.diff(betas) > 0)
    assert path.powers(1, 4).shape == (4,)


def test_prefix_rows_follow_the_order():
    path = Prefix(shuffle=3).over(Clustering(), 4)
    assert sorted(path.order.tolist()) == [0, 1, 2, 3] and path.order.tolist() != [0, 1, 2, 3]
    for t in range(5):
        row = path.powers(t, 4)
        assert set(np.flatnonzero(row)) == set(path.order[:t].tolist())
    assert Prefix().over(Clustering(), 4).order.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("proposal", ["posterior", "prior"])
def test_crossing_an_edge_keeps_the_ratio_of_measures(proposal):
    """Enumerated: sum over x of f_{t-1}(x) E[exp(increment) h(x')] = sum over x of f_t(x) h(x)."""
    model, n = Clustering(components=2), 3
    y = jnp.asarray(simulate(model, n, 2, seed=1).y)
    path = Prefix(proposal, num_edges=n, order=jnp.array([2, 0, 1]))
    states = [
        ClusteringState(jnp.array(z, dtype=jnp.int32))
        for z in itertools.product(range(2), repeat=n)
    ]
    h = {
        s.assignments.tobytes(): v
        for s, v in zip(states, np.random.default_rng(0).normal(size=8), strict=True)
    }
    keys = jax.random.split(jax.random.key(1), 4000)
    extend = jax.jit(jax.vmap(lambda k, s, t: path.extend(k, model, y, s, t), (0, None, None)))
    log_f = jax.jit(lambda s, t: model.log_annealed(s, y, path.powers(t, n)))
    for t in (1, 2, 3):
        left = 0.0
        for s in states:
            f = np.exp(float(log_f(s, t - 1)))
            moved, inc = extend(keys, s, t)
            values = np.array([h[z.tobytes()] for z in np.asarray(moved.assignments)])
            left += f * np.mean(np.exp(np.asarray(inc)) * values)
        right = sum(np.exp(float(log_f(s, t))) * h[s.assignments.tobytes()] for s in states)
        scale = sum(np.exp(float(log_f(s, t))) for s in states)
        # Monte Carlo over the redrawn latent only: 4,000 draws a state, 6-sigma band.
        assert abs(left - right) < 6 * scale / np.sqrt(4000)


class _Chosen:
    """A measure whose ``sample`` takes the value in place of a key, and notes its probability."""

    def __init__(self, measure, noted):
        self.measure, self.noted = measure, noted

    def __getattr__(self, name):
        return getattr(self.measure, name)

    def sample(self, value):
        self.noted.append(float(log_prob(self.measure, value)))
        return value


def _spying(model):
    """(the model with its choices made for it, their log-probabilities as they are made)."""
    noted = []

    class Spying(type(model)):
        def point_conditional(self, *given):
            return _Chosen(super().point_conditional(*given), noted)

    spy = Spying(**{f.name: getattr(model, f.name) for f in dataclasses.fields(model)})
    return spy, noted


@pytest.mark.parametrize("proposal", ["posterior", "prior"])
@pytest.mark.parametrize("model", [Clustering(2), LowRank(1)], ids=["clustering", "low rank"])
def test_leaving_is_the_exact_reversal_of_entering(proposal, model):
    """f_{t-1}(x) E(x -> x') e^w = f_t(x') R(x' -> x), the same w both ways, for every edge, state
    and latent of clustering, and for low rank, which forgets the latent. The prior proposal drew
    the leaving latent once more before weighing it, and kept it."""
    n = 2
    with double_precision():
        y = jnp.asarray(simulate(model, n, 2, seed=1).y)
        spy, noted = _spying(model)
        path = Prefix(proposal).over(spy, n)
        keeps = isinstance(model, Clustering)
        if keeps:
            every = jnp.asarray(model.nodes(y.shape)[0].assignments)
            states = [ClusteringState(z) for z in every]
            values = jnp.arange(2, dtype=jnp.int32)
        else:
            states = [model.sample_prior(jax.random.key(0), y.shape)]
            values = jnp.array([[0.3], [-1.2]])
        for t, state, value in itertools.product((1, 2), states, values):
            noted.clear()
            after, up = path.extend(value, spy, y, state, t)
            old = state.assignments[t - 1] if keeps else value
            before, down = path.retract(old, spy, y, after, t)
            jax.tree.map(np.testing.assert_array_equal, before, state)
            # The last word counts; what is drawn, not weighed and forgotten counts for nothing.
            entering, leaving = (noted[0], noted[-1]) if keeps or proposal == "prior" else (0, 0)
            left = model.log_annealed(state, y, path.powers(t - 1, n)) + entering + up
            right = model.log_annealed(after, y, path.powers(t, n)) + leaving
            np.testing.assert_allclose([up, left], [down, right], atol=1e-9)
    assert path.exact_reversal(model)


def test_edges_add_up_to_the_joint():
    """Along the path the increments at a fixed state telescope to log f(x; 1) - log f(x; 0)."""
    model = LowRank(components=2)
    y = simulate(model, 5, 3, seed=1).y
    state = model.sample_prior(jax.random.key(0), (5, 3))
    path = Tempered().through(9)
    log_edge = jax.jit(lambda t: path.log_edge(model, y, state, t))
    log_f = jax.jit(lambda powers: model.log_annealed(state, y, powers))
    total = sum(log_edge(t) for t in range(1, 9))
    expected = log_f(jnp.ones(5)) - log_f(jnp.zeros(5))
    np.testing.assert_allclose(total, expected, atol=1e-10)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Tempered().through(1), "at least 2"),
        (lambda: schedule_named("sigmod"), "did you mean 'sigmoid'"),
        (lambda: Sigmoid(delta=0), "delta must be positive"),
        (lambda: Sigmoid(delta=float("inf")), "finite, got inf"),
        (lambda: Sigmoid(delta=float("nan")), "finite, got nan"),
        (lambda: Sigmoid(delta=1e-17), "at least 1e-6"),
        (lambda: Prefix("posteriour"), "did you mean 'posterior'"),
    ],
)
def test_bad_paths_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
