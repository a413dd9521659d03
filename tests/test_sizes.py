"""Code that branches on a size, beyond every such size: exact. (Below them the kit and other tests
look, but for the smallest.)"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.check.selftest.loop import TrailModel
from bracketz.estimators.likelihood_weighting import BATCH, PriorWeights
from bracketz.kernels.gibbs import AUDITED_POINTS
from bracketz.models import hyper_pilot
from bracketz.models.binary_attributes.row import RowWeight, WholeRow, patterns
from bracketz.models.low_rank.gibbs import RowGaussians
from bracketz.numerics.cholesky import MAX_WRITTEN_OUT, cholesky, solve_lower
from bracketz.numerics.conditionals import MAX_TRIANGLE, inverse_cdf
from bracketz.numerics.noise import IN_A_LOOP, THREEFRY


@pytest.mark.parametrize("k", [1, MAX_TRIANGLE, MAX_TRIANGLE + 1])
def test_categories_are_drawn_by_their_weights(k):
    """The middle of a category's share of [0, 1) gives that category, and 0 none of no weight."""
    weights = np.random.default_rng(k).uniform(0.5, 2.0, k)
    if k > 1:
        weights[::3] = 0.0
    ends = np.cumsum(weights) / weights.sum()
    middle = ends - 0.5 * weights / weights.sum()
    drawn = jax.jit(jax.vmap(lambda u: inverse_cdf(jnp.asarray(weights), u)))
    positive = np.flatnonzero(weights)
    assert drawn(jnp.asarray(middle[positive])).tolist() == positive.tolist()
    assert drawn(jnp.array([0.0, 1 - 1e-16])).tolist() == [positive[0], positive[-1]]


@pytest.mark.parametrize("k", [MAX_WRITTEN_OUT + 1])
def test_factors_and_solves(k):
    root = np.random.default_rng(k).normal(size=(k, k))
    a, b = root @ root.T + np.eye(k), root[:, 0]
    factor, ahead, back = jax.jit(
        lambda a, b: (cholesky(a), solve_lower(cholesky(a), b), solve_lower(cholesky(a), b, True))
    )(a, b)
    exact = np.linalg.cholesky(a)
    np.testing.assert_allclose(factor, exact, atol=1e-10)
    np.testing.assert_allclose(ahead, np.linalg.solve(exact, b), atol=1e-9)
    np.testing.assert_allclose(back, np.linalg.solve(exact.T, b), atol=1e-9)


@pytest.mark.parametrize("k", [MAX_WRITTEN_OUT + 1])
def test_rows_of_a_low_rank_factor(k):
    """Mean, covariance and mass of independent Gaussian rows; one has power 0."""
    rng = np.random.default_rng(k)
    v, shift, c = rng.normal(size=(k, 5)), rng.normal(size=(k, 3)), np.array([0.0, 0.7, 2.0])
    rows = RowGaussians(jnp.asarray(v @ v.T), jnp.asarray(c), 1 / 1.3, jnp.asarray(shift))
    basis = np.concatenate([np.zeros((1, k, 3)), np.eye(3 * k).reshape(3 * k, k, 3)])
    drawn, mass = jax.jit(lambda n: (jax.vmap(rows.from_noise)(n), rows.log_normalizer))(basis)
    mean, root = np.asarray(drawn[0]), (np.asarray(drawn[1:]) - drawn[0]).reshape(3 * k, 3 * k)
    covariance = (root.T @ root).reshape(3, k, 3, k)
    total = 0.0
    for i in range(3):
        precision = np.eye(k) / 1.3 + c[i] * v @ v.T
        law = np.linalg.inv(precision)
        np.testing.assert_allclose(mean[i], law @ shift[:, i], atol=1e-9)
        np.testing.assert_allclose(covariance[i, :, i], law, atol=1e-9)
        np.testing.assert_allclose(covariance[i, :, (i + 1) % 3], 0.0, atol=1e-9)
        log_det = np.linalg.slogdet(2 * np.pi * law)[1]
        total += 0.5 * (log_det + shift[:, i] @ law @ shift[:, i])
    assert float(mass) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("k", [MAX_TRIANGLE + 1])
def test_clusters_beyond_the_kit_s_three(k):
    """Every value of a point against the joint, with clusters that are empty and that are not."""
    model = bz.Clustering(components=k)
    y, powers = np.random.default_rng(k).normal(size=(3, 2)), jnp.array([1.0, 0.4, 0.0])

    @jax.jit
    def both(assignments):
        state = type(model.sample_prior(jax.random.key(0), (3, 2)))(assignments)
        measure = model.point_conditional(state, y, powers, 0)
        states = jax.vmap(lambda v: model.replace_latent(state, 0, v))(jnp.arange(k, dtype="int32"))
        joint = jax.vmap(lambda s: model.log_annealed(s, y, powers))(states)
        kernel = model.kernel(y, powers)
        first = kernel.remove(
            kernel.cache(assignments), jax.tree.map(lambda a: a[0], kernel.rows), 0
        )
        row = jax.tree.map(lambda a: a[0], kernel.rows)
        return joint, measure.logits, kernel.conditional(first, row, 0).logits

    joint, logits, swept = both(jnp.array([0, k - 1, k - 1], dtype="int32"))
    for found in (logits, swept):
        np.testing.assert_allclose(found - found[0], joint - joint[0], atol=1e-10)


@pytest.mark.parametrize("k", [1, 12])
def test_whole_rows_of_bits(k):
    """The table of all rows, each by itself, and what noise in the middle of a share draws."""
    rng = np.random.default_rng(k)
    root = rng.normal(size=(k, k)) / k
    weight = RowWeight(
        *(rng.normal(size=k), 0.3, root @ root.T, root.T @ root, rng.normal(size=k), 4.0, 0.8, 3)
    )
    weight = RowWeight(*(jnp.asarray(a) for a in weight[:-1]), 3)
    measure = WholeRow(weight)
    every = jnp.asarray(patterns(k))
    table, single, mass = jax.jit(
        lambda: (weight.table(), jax.vmap(measure.log_density)(every), measure.log_normalizer)
    )()
    np.testing.assert_allclose(np.ravel(table), single, atol=1e-9)
    assert float(mass) == pytest.approx(float(jax.nn.logsumexp(single)), abs=1e-9)
    w, draw = np.exp(np.asarray(table) - np.max(table)), jax.jit(measure.from_noise)
    for i, j in ((0, 0), (w.shape[0] - 1, w.shape[1] - 1), (w.shape[0] // 2, w.shape[1] // 2)):
        rows = w.sum(1)
        u = (
            (rows[:i].sum() + 0.5 * rows[i]) / rows.sum(),
            (w[i, :j].sum() + 0.5 * w[i, j]) / rows[i],
        )
        drawn = draw(jnp.array(u))
        assert drawn.tolist() == patterns(k)[i * w.shape[1] + j].tolist()


@pytest.mark.parametrize("size", [IN_A_LOOP - 1, IN_A_LOOP + 1])
def test_random_bits_are_those_of_jax(size):
    ours, theirs = (jax.random.key(12345, impl=impl) for impl in (THREEFRY, "threefry2x32"))
    for dtype in ("uint32", "uint64"):
        both = [
            jax.jit(lambda k, t=dtype: jax.random.bits(k, (size,), t))(k) for k in (ours, theirs)
        ]
        np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("proposals", [1, BATCH, BATCH + 1])
def test_batches_of_proposals_count_what_was_asked_for(proposals):
    """A likelihood of e^0.7 wherever it is looked at averages to itself."""

    @bz.pytree_dataclass
    class Constant(TrailModel):
        def log_annealed(self, state, y, powers):
            return 0.7 * jnp.mean(powers)

    program = PriorWeights(Constant(), jnp.zeros((2, 1)), bz.Tempered().through(2), proposals)
    carry = program.start(jax.random.key(0))
    for index in range(-(-proposals // BATCH)):
        carry = jax.jit(program.step)(jax.random.key(index), carry, index)
    assert float(program.log_value(carry)) == pytest.approx(0.7, abs=1e-12)


@pytest.mark.parametrize("n", [2 * AUDITED_POINTS + 3])
def test_an_audit_sees_a_cache_that_drifts_whatever_the_number_of_points(n):
    model = bz.Clustering(components=2)
    y, ones = jnp.asarray(np.random.default_rng(n).normal(size=(n, 1))), jnp.ones(n)
    right = model.kernel(y, ones)

    class Drifting(type(right)):
        def insert(self, cache, row, latent):
            new = super().insert(cache, row, latent)
            return new._replace(precision=new.precision * 1.001)

    wrong = Drifting(**{f.name: getattr(right, f.name) for f in dataclasses.fields(right)})

    @jax.jit
    def drift(assignments):
        state = type(model.sample_prior(jax.random.key(0), (n, 1)))(assignments)
        return tuple(
            k.drift(state, lambda i: model.kernel(y, ones.at[i].set(0.0))) for k in (right, wrong)
        )

    fine, off = map(float, drift(jnp.asarray(np.arange(n) % 2, dtype="int32")))
    assert fine < 1e-10 and off > 1e-4


def test_pilots_take_the_caller_s_number_of_chains_where_it_fits():
    model = bz.InferredClustering(components=2)
    for asked, taken in ((None, 20), (9, 20), (10, 10), (128, 128), (129, 20)):
        assert hyper_pilot.Pilot(model, None, 0, asked).chains == taken
