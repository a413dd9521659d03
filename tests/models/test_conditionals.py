"""Step 1 of the paper's appendix, exact: conditionals against the joint, caches against
rebuilds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.core.conditional import log_prob
from bracketz.models.binary_attributes.row import BitByBit, WholeRow, pattern_table, patterns
from bracketz.models.low_rank import gibbs as low_rank
from bracketz.models.low_rank.state import Left
from bracketz.numerics.cholesky import cholesky, solve_lower
from bracketz.numerics.conditionals import Categorical, Gaussian
from tiny_instances import TINY, power_rows

KEYS = [jax.random.key(s) for s in range(3)]


def latents_of(model, name):
    """Every value one row's latent can take."""
    if name == "clustering":
        return list(range(model.components))
    return list(jnp.asarray(patterns(model.components)))


@pytest.mark.parametrize("name", ["clustering", "binary-whole"])
@pytest.mark.parametrize("row", range(5))
def test_point_conditional_matches_joint(name, row):
    model, shape = TINY[name]
    y = jnp.asarray(simulate(model, *shape, seed=3).y)
    powers = power_rows(shape[0])[row]

    @jax.jit
    def densities(state, i):
        """log f with each value of row i's latent, the same without the row, what is scored, and
        its mass."""
        conditional = model.point_conditional(state, y, powers, i)
        values = latents_of(model, name)
        states = [model.replace_latent(state, i, v) for v in values]
        without = jnp.asarray(powers).at[i].set(0.0)
        joint, bare = (
            jnp.stack([model.log_annealed(s, y, b) for s in states]) for b in (powers, without)
        )
        scored = jnp.stack([conditional.log_density(v) for v in values])
        return joint, bare, scored, conditional.log_normalizer

    for key in KEYS:
        state = model.sample_prior(key, shape)
        for i in range(shape[0]):
            joint, bare, scored, mass = map(np.asarray, densities(state, i))
            np.testing.assert_allclose(scored - scored[0], joint - joint[0], atol=1e-10)
            # The mass is the predictive density: marginal over the latent with the point, less
            # without it.
            np.testing.assert_allclose(mass, logsumexp(joint) - logsumexp(bare), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("row", range(5))
def test_low_rank_conditionals_match_joint(row):
    model, shape = LowRank(components=3), (6, 4)
    y = simulate(model, *shape, seed=3).y
    powers = power_rows(shape[0])[row]
    kernel = model.kernel(y, powers)
    annealed = jax.jit(model.log_annealed)
    mass = jax.jit(lambda *point: model.point_conditional(*point).log_normalizer)
    k_v, k_w, k_u, k_t = jax.random.split(jax.random.key(1), 4)
    right, other_right = (model.sample_prior(k, shape) for k in (k_v, k_w))
    left, other_left = (model.sample_parameters(k, None, shape) for k in (k_u, k_t))

    def joint(state, parameters):
        return model.log_joint(state, parameters, y, powers)

    np.testing.assert_allclose(
        log_prob(kernel.left_conditional(right.right), left.left)
        - log_prob(kernel.left_conditional(right.right), other_left.left),
        joint(right, left) - joint(right, other_left),
        atol=1e-10,
    )
    conditional = kernel.right_conditional(left.left)
    np.testing.assert_allclose(
        log_prob(conditional, right.right) - log_prob(conditional, other_right.right),
        joint(right, left) - joint(other_right, left),
        atol=1e-10,
    )
    # The point conditional's mass is the density ratio with and without the point (U integrated
    # out).
    for i in range(shape[0]):
        without = jnp.asarray(powers).at[i].set(0.0)
        ratio = annealed(right, y, powers) - annealed(right, y, without)
        np.testing.assert_allclose(mass(right, y, powers, i), ratio, atol=1e-10)


def test_low_rank_left_draws_have_the_scored_law():
    """the left conditional is affine in the noise: its mean and covariance are those of the scored
    Gaussian."""
    model, shape = LowRank(components=3), (4, 5)
    y = simulate(model, *shape, seed=3).y
    powers = power_rows(4)[3]
    kernel = model.kernel(y, powers)
    right = model.sample_prior(jax.random.key(0), shape).right
    zero = jnp.zeros((3, 4))
    draw = kernel.left_conditional(right).from_noise
    mean = draw(zero)
    for i in range(4):
        columns = [draw(zero.at[k, i].set(1.0))[i] - mean[i] for k in range(3)]
        root = jnp.stack(columns, axis=1)
        gaussian = model.row_conditional(right, y[i], powers[i])
        np.testing.assert_allclose(
            root @ root.T, jnp.linalg.inv(gaussian.cholesky @ gaussian.cholesky.T), atol=1e-10
        )
        np.testing.assert_allclose(mean[i], gaussian.from_noise(jnp.zeros(3)), atol=1e-10)


def test_rows_factored_one_by_one_and_in_the_eigenbasis_are_one_law(monkeypatch):
    """Few components factor every row by itself, many share an eigendecomposition: same mean,
    covariance and mass."""
    model, shape = LowRank(components=4), (6, 5)
    y = simulate(model, *shape, seed=3).y
    rows = model.kernel(y, power_rows(6)[3]).left_conditional(
        model.sample_prior(jax.random.key(0), shape).right
    )
    noise = jnp.eye(24).reshape(24, 4, 6)

    def law():
        mean = rows.from_noise(jnp.zeros((4, 6)))
        root = jax.vmap(rows.from_noise)(noise).reshape(24, 24) - mean.ravel()
        return mean, root, root.T @ root, rows.log_normalizer

    (mean, root, covariance, mass), _ = law(), monkeypatch.setattr(low_rank, "MAX_WRITTEN_OUT", 0)
    other_mean, other_root, other_covariance, other_mass = law()
    assert (
        np.max(np.abs(root - other_root)) > 0.1
    )  # another root of the same covariance: the other way was taken
    np.testing.assert_allclose(mean, other_mean, atol=1e-10)
    np.testing.assert_allclose(covariance, other_covariance, atol=1e-10)
    np.testing.assert_allclose(mass, other_mass, atol=1e-10)


@pytest.mark.slow
def test_many_components_are_consistent_with_the_joint():
    model, shape = LowRank(components=9), (6, 12)
    y = simulate(model, *shape, seed=3).y
    kernel, state = model.kernel(y, power_rows(6)[3]), model.sample_prior(jax.random.key(0), shape)
    left = Left(jax.random.normal(jax.random.key(1), (6, 9)))
    collapsed = model.log_annealed(state, y, power_rows(6)[3])
    joint = model.log_joint(state, left, y, power_rows(6)[3])
    np.testing.assert_allclose(
        joint - collapsed, log_prob(kernel.left_conditional(state.right), left.left), atol=1e-9
    )


@pytest.mark.parametrize("k", [1, 2, 5, 8, 11])
def test_written_out_factors_and_solves_are_lapack_s(k):
    root = jax.random.normal(jax.random.key(k), (k, k))
    a, b = root @ root.T + jnp.eye(k), jax.random.normal(jax.random.key(99), (k, 3))
    factor = cholesky(a)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=1e-12)
    for right in (b, b[:, 0]):
        np.testing.assert_allclose(
            solve_lower(factor, right), np.linalg.solve(factor, right), atol=1e-10
        )
        np.testing.assert_allclose(
            solve_lower(factor, right, True), np.linalg.solve(factor.T, right), atol=1e-10
        )


@pytest.mark.parametrize("row", range(5))
def test_row_weight_tables_agree(row):
    """The (2^a, 2^b) table, the single-row formula and the joint say the same, for an odd K too."""
    model, shape = BinaryAttributes(components=5, row_update="whole"), (4, 3)
    y = simulate(model, *shape, seed=2).y
    powers = power_rows(4)[row]
    state = model.sample_prior(jax.random.key(4), shape)
    conditional = model.point_conditional(state, y, powers, 1)
    assert isinstance(conditional, WholeRow)
    every = jnp.asarray(patterns(5))
    table = np.asarray(pattern_table(conditional.row)).ravel()
    np.testing.assert_allclose(table, jax.jit(jax.vmap(conditional.row.of))(every), atol=1e-9)
    joint = jax.jit(
        jax.vmap(lambda v: model.log_annealed(model.replace_latent(state, 1, v), y, powers))
    )(every)
    joint = np.asarray(joint)
    np.testing.assert_allclose(table - table[0], joint - joint[0], atol=1e-9)


@pytest.mark.parametrize("backward", [False, True])
def test_each_bit_conditional_matches_joint(backward):
    """Bit k's log-odds inside the scan = joint odds with the already visited bits at their new
    values."""
    model, shape = BinaryAttributes(components=4), (5, 3)
    y = simulate(model, *shape, seed=2).y
    for powers in power_rows(5):
        state = model.sample_prior(jax.random.key(7), shape)
        i, new = 2, jnp.array([1.0, 0.0, 0.0, 1.0])
        whole = model.point_conditional(state, y, powers, i)
        scan = BitByBit(whole.row, state.attributes[i], backward)
        _, logits = scan._scan(lambda k, logit, new=new: new[k])
        bits = state.attributes[i]
        for k in range(4)[:: -1 if backward else 1]:
            on, off = (
                model.log_annealed(model.replace_latent(state, i, bits.at[k].set(v)), y, powers)
                for v in (1.0, 0.0)
            )
            np.testing.assert_allclose(logits[k], on - off, atol=1e-9)
            bits = bits.at[k].set(new[k])


@pytest.mark.parametrize("model", [Clustering(components=7), BinaryAttributes(components=6)])
def test_caches_agree_with_rebuild_after_a_long_walk(model):
    shape = (40, 8)
    y = jnp.asarray(simulate(model, *shape, seed=5).y)
    powers = jnp.linspace(0.0, 1.0, 40)
    kernel = model.kernel(y, powers)
    state = model.sample_prior(jax.random.key(0), shape)
    latents = kernel.latents(state)
    cache = kernel.cache(latents)

    @jax.jit
    def move(cache, latents, noise, i):
        row = jax.tree.map(lambda a: a[i], kernel.rows)
        cache = kernel.remove(cache, row, latents[i])
        value = kernel.conditional(cache, row, latents[i]).from_noise(noise[i])
        return kernel.insert(cache, row, value), latents.at[i].set(value)

    # A thousand moves without a rebuild in between: 25 sweeps of 40 points.
    for sweep in range(25):
        noise = kernel.noise(jax.random.key(sweep), latents)
        for i in range(40):
            cache, latents = move(cache, latents, noise, i)
    for kept, rebuilt in zip(cache, kernel.cache(latents), strict=True):
        np.testing.assert_allclose(kept, rebuilt, atol=1e-9, rtol=1e-9)


@pytest.mark.slow
def test_collapsed_density_integrates_the_joint():
    """log_annealed = log of the integral of exp(log_joint) over centres, U or A: constants
    included."""
    grid = np.linspace(-12, 12, 481)
    two = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    step = grid[1] - grid[0]
    powers = jnp.array([0.3, 1.0])
    for model, shape, variables in (
        (Clustering(components=2), (2, 1), (2, 1)),
        (LowRank(components=1), (2, 2), (2, 1)),
        (BinaryAttributes(components=2), (2, 1), (2, 1)),
    ):
        y = simulate(model, *shape, seed=4).y
        state = model.sample_prior(jax.random.key(3), shape)
        kind = type(model.sample_parameters(jax.random.key(0), None, shape))
        values = jax.lax.map(
            lambda v, kind=kind, state=state, y=y, model=model, variables=variables: (
                model.log_joint(state, kind(v.reshape(variables)), y, powers)
            ),
            jnp.asarray(two),
            batch_size=4096,
        )
        integral = jax.nn.logsumexp(values) + 2 * np.log(step)
        np.testing.assert_allclose(model.log_annealed(state, y, powers), integral, atol=1e-8)


@pytest.mark.slow
def test_conditionals_sample_what_they_score():
    """Frequencies of 40,000 draws against the scored probabilities; false-positive rate
    below 1e-6."""
    u = jax.random.uniform(jax.random.key(0), (40_000,))
    categorical = Categorical(jnp.log(jnp.array([0.1, 0.0, 0.6, 0.3])) + 5.0)
    counts = np.bincount(jax.vmap(categorical.from_noise)(u), minlength=4)
    expected = np.exp([float(log_prob(categorical, k)) for k in range(4)])
    assert counts[1] == 0
    np.testing.assert_allclose(counts / 40_000, expected, atol=5 * 0.5 / 200)

    model, shape = BinaryAttributes(components=3, row_update="whole"), (4, 3)
    y = simulate(model, *shape, seed=2).y
    state = model.sample_prior(jax.random.key(4), shape)
    whole = model.point_conditional(state, y, jnp.full(4, 0.6), 1)
    for conditional in (whole, BitByBit(whole.row, state.attributes[1], True)):
        keys = jax.random.split(jax.random.key(9), 40_000)
        draws = jax.vmap(conditional.sample)(keys)
        index = np.asarray(draws @ jnp.array([4.0, 2.0, 1.0])).astype(int)
        expected = np.exp([float(log_prob(conditional, jnp.asarray(bits))) for bits in patterns(3)])
        np.testing.assert_allclose(expected.sum(), 1.0, atol=1e-10)
        np.testing.assert_allclose(
            np.bincount(index, minlength=8) / 40_000, expected, atol=5 * 0.5 / 200
        )

    gaussian = Gaussian(jnp.array([[1.3, 0.0], [0.4, 0.7]]), jnp.array([0.5, -1.0]), 2.0)
    precision = gaussian.cholesky @ gaussian.cholesky.T
    grid = np.linspace(-20, 20, 2001)
    axes = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    density = -0.5 * np.sum((axes @ precision) * axes, axis=1) + axes @ np.array([0.5, -1.0]) + 2.0
    np.testing.assert_allclose(gaussian.log_density(jnp.asarray(axes[7])), density[7])
    total = (
        np.log(np.sum(np.exp(density - density.max())))
        + density.max()
        + 2 * np.log(grid[1] - grid[0])
    )
    np.testing.assert_allclose(gaussian.log_normalizer, total, atol=1e-8)
