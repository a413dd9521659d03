"""Step 1 of the paper's appendix, exact: conditionals against the joint, caches against
rebuilds."""

import functools

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


def latents_of(model, name):
    """Every value one row's latent can take."""
    if name == "clustering":
        return list(range(model.components))
    return list(jnp.asarray(patterns(model.components)))


@functools.partial(jax.jit, static_argnames=("name", "shape"))
def point_densities(name, shape, model, y, powers):
    """Of three states and every row i: log f with each value of its latent, the same without the
    row, what is scored, and its mass."""

    def densities(state, i):
        conditional = model.point_conditional(state, y, powers, i)
        values = latents_of(model, name)
        states = [model.replace_latent(state, i, v) for v in values]
        states = jax.tree.map(lambda *a: jnp.stack(a), *states)
        joint, bare = (
            jax.vmap(lambda s, b=b: model.log_annealed(s, y, b))(states)
            for b in (powers, powers.at[i].set(0.0))
        )
        scored = jnp.stack([conditional.log_density(v) for v in values])
        return joint, bare, scored, conditional.log_normalizer

    def of(seed):
        state = model.sample_prior(jax.random.key(seed), shape)
        return jax.vmap(lambda i: densities(state, i))(jnp.arange(shape[0]))

    return jax.vmap(of)(jnp.arange(3))


@pytest.mark.parametrize("name", ["clustering", "binary-whole"])
@pytest.mark.parametrize("row", range(5))
def test_point_conditional_matches_joint(name, row):
    model, shape = TINY[name]
    y = simulate(model, *shape, seed=3).y
    found = point_densities(name, shape, model, y, np.asarray(power_rows(shape[0])[row]))
    joint, bare, scored, mass = map(np.asarray, found)
    assert joint.shape[:2] == (3, shape[0])
    np.testing.assert_allclose(scored - scored[..., :1], joint - joint[..., :1], atol=1e-10)
    # The mass is the predictive density: marginal over the latent with the point, less without it.
    np.testing.assert_allclose(mass, logsumexp(joint, -1) - logsumexp(bare, -1), atol=1e-10)


@functools.partial(jax.jit, static_argnames="shape")
def low_rank_ratios(shape, model, y, powers):
    """(scored, of the joint) for U, for V, and for the mass of every point."""
    kernel = model.kernel(y, powers)
    k_v, k_w, k_u, k_t = jax.random.split(jax.random.key(1), 4)
    right, other_right = (model.sample_prior(k, shape) for k in (k_v, k_w))
    left, other_left = (model.sample_parameters(k, None, shape) for k in (k_u, k_t))

    def joint(state, parameters):
        return model.log_joint(state, parameters, y, powers)

    def without(i):
        return model.log_annealed(right, y, powers.at[i].set(0.0))

    of_left, of_right = kernel.left_conditional(right.right), kernel.right_conditional(left.left)
    rows = jnp.arange(shape[0])
    masses = jax.vmap(lambda i: model.point_conditional(right, y, powers, i).log_normalizer)(rows)
    return (
        (
            log_prob(of_left, left.left) - log_prob(of_left, other_left.left),
            joint(right, left) - joint(right, other_left),
        ),
        (
            log_prob(of_right, right.right) - log_prob(of_right, other_right.right),
            joint(right, left) - joint(other_right, left),
        ),
        # The density ratio with and without the point, U integrated out.
        (masses, model.log_annealed(right, y, powers) - jax.vmap(without)(rows)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("row", range(5))
def test_low_rank_conditionals_match_joint(row):
    model, shape = LowRank(components=3), (6, 4)
    y = simulate(model, *shape, seed=3).y
    powers = np.asarray(power_rows(shape[0])[row])
    for scored, expected in low_rank_ratios(shape, model, y, powers):
        np.testing.assert_allclose(scored, expected, atol=1e-10)


def test_low_rank_left_draws_have_the_scored_law():
    """the left conditional is affine in the noise: its mean and covariance are those of the scored
    Gaussian."""
    model, shape = LowRank(components=3), (4, 5)
    y = simulate(model, *shape, seed=3).y
    powers = power_rows(4)[3]

    @jax.jit
    def laws():
        """(mean, covariance) of every row, as drawn and as scored."""
        right = model.sample_prior(jax.random.key(0), shape).right
        draw = model.kernel(y, powers).left_conditional(right).from_noise
        mean, noise = draw(jnp.zeros((3, 4))), jnp.eye(12).reshape(3, 4, 3, 4)
        moved = jax.vmap(jax.vmap(draw))(noise) - mean  # by noise k of row i: (k, i, row, entry)
        roots = jnp.stack([moved[:, i, i].T for i in range(4)])

        def scored(row, power):
            gaussian = model.row_conditional(right, row, power)
            factor = gaussian.cholesky
            return gaussian.from_noise(jnp.zeros(3)), jnp.linalg.inv(factor @ factor.T)

        return (mean, roots @ roots.transpose(0, 2, 1)), jax.vmap(scored)(y, powers)

    for drawn, scored in zip(*laws(), strict=True):
        np.testing.assert_allclose(drawn, scored, atol=1e-10)


def test_rows_factored_one_by_one_and_in_the_eigenbasis_are_one_law(monkeypatch):
    """Few components factor every row by itself, many share an eigendecomposition: same mean,
    covariance and mass."""
    model, shape = LowRank(components=4), (6, 5)
    y, powers = simulate(model, *shape, seed=3).y, power_rows(6)[3]

    def law():
        right = model.sample_prior(jax.random.key(0), shape).right
        rows = model.kernel(y, powers).left_conditional(right)
        mean = rows.from_noise(jnp.zeros((4, 6)))
        root = jax.vmap(rows.from_noise)(jnp.eye(24).reshape(24, 4, 6)).reshape(24, 24)
        root -= mean.ravel()
        return mean, root, root.T @ root, rows.log_normalizer

    mean, root, covariance, mass = map(np.asarray, jax.jit(lambda: law())())
    monkeypatch.setattr(low_rank, "MAX_WRITTEN_OUT", 0)
    other_mean, other_root, other_covariance, other_mass = jax.jit(lambda: law())()
    assert (
        np.max(np.abs(root - other_root)) > 0.1
    )  # another root of the same covariance: the other way was taken
    np.testing.assert_allclose(mean, other_mean, atol=1e-10)
    np.testing.assert_allclose(covariance, other_covariance, atol=1e-10)
    np.testing.assert_allclose(mass, other_mass, atol=1e-10)


@pytest.mark.slow
def test_many_components_are_consistent_with_the_joint():
    model, shape = LowRank(components=9), (6, 12)
    y, powers = simulate(model, *shape, seed=3).y, power_rows(6)[3]

    @jax.jit
    def both():
        state = model.sample_prior(jax.random.key(0), shape)
        left = Left(jax.random.normal(jax.random.key(1), (6, 9)))
        collapsed = model.log_annealed(state, y, powers)
        conditional = model.kernel(y, powers).left_conditional(state.right)
        joint = model.log_joint(state, left, y, powers)
        return joint - collapsed, log_prob(conditional, left.left)

    np.testing.assert_allclose(*both(), atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 5, 8, 11])
def test_written_out_factors_and_solves_are_lapack_s(k):
    rng = np.random.default_rng(k)
    root, b = rng.normal(size=(k, k)), rng.normal(size=(k, 3))
    a = root @ root.T + np.eye(k)

    @jax.jit
    def written_out(a, b):
        factor = cholesky(a)
        return factor, [
            solve_lower(factor, right, transposed)
            for right in (b, b[:, 0])
            for transposed in (False, True)
        ]

    factor, found = written_out(a, b)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=1e-12)
    factor = np.asarray(factor)
    expected = [np.linalg.solve(f, right) for right in (b, b[:, 0]) for f in (factor, factor.T)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@functools.partial(jax.jit, static_argnames="shape")
def row_weights(shape, model, y, powers):
    """Of all rows: as a table, by the formula, and by the joint."""
    state = model.sample_prior(jax.random.key(4), shape)
    conditional = model.point_conditional(state, y, powers, 1)
    assert isinstance(conditional, WholeRow)
    every = jnp.asarray(patterns(model.components))

    def joint(bits):
        return model.log_annealed(model.replace_latent(state, 1, bits), y, powers)

    table = pattern_table(conditional.row).ravel()
    return table, jax.vmap(conditional.row.of)(every), jax.vmap(joint)(every)


@pytest.mark.parametrize("row", range(5))
def test_row_weight_tables_agree(row):
    """The (2^a, 2^b) table, the single-row formula and the joint say the same, for an odd K too."""
    model, shape = BinaryAttributes(components=5, row_update="whole"), (4, 3)
    y = simulate(model, *shape, seed=2).y
    powers = np.asarray(power_rows(4)[row])
    table, formula, joint = map(np.asarray, row_weights(shape, model, y, powers))
    np.testing.assert_allclose(table, formula, atol=1e-9)
    np.testing.assert_allclose(table - table[0], joint - joint[0], atol=1e-9)


@pytest.mark.parametrize("backward", [False, True])
def test_each_bit_conditional_matches_joint(backward):
    """Bit k's log-odds inside the scan = joint odds with the already visited bits at their new
    values."""
    model, shape = BinaryAttributes(components=4), (5, 3)
    y = simulate(model, *shape, seed=2).y
    i, new = 2, jnp.array([1.0, 0.0, 0.0, 1.0])

    @jax.jit
    @jax.vmap
    def both(powers):
        state = model.sample_prior(jax.random.key(7), shape)
        whole = model.point_conditional(state, y, powers, i)
        scan = BitByBit(whole.row, state.attributes[i], backward)
        _, logits = scan._scan(lambda k, logit: new[k])
        bits, order = state.attributes[i], range(4)[:: -1 if backward else 1]
        rows = []
        for k in order:
            rows += [bits.at[k].set(1.0), bits.at[k].set(0.0)]
            bits = bits.at[k].set(new[k])
        joint = jax.vmap(lambda b: model.log_annealed(model.replace_latent(state, i, b), y, powers))
        on, off = joint(jnp.stack(rows)).reshape(4, 2).T
        return jnp.stack([logits[k] for k in order]), on - off

    np.testing.assert_allclose(*both(np.stack(power_rows(5))), atol=1e-9)


@pytest.mark.parametrize("model", [Clustering(components=7), BinaryAttributes(components=6)])
def test_caches_agree_with_rebuild_after_a_long_walk(model):
    shape = (40, 8)
    y = simulate(model, *shape, seed=5).y
    powers = np.linspace(0.0, 1.0, 40)

    @jax.jit
    def walk():
        """(the cache after a thousand moves without a rebuild, its rebuild): 25 sweeps of 40
        points."""
        kernel = model.kernel(y, powers)
        latents = kernel.latents(model.sample_prior(jax.random.key(0), shape))

        def move(kept, at):
            (cache, latents), (i, noise) = kept, at
            row = jax.tree.map(lambda a: jnp.asarray(a)[i], kernel.rows)
            cache = kernel.remove(cache, row, latents[i])
            value = kernel.conditional(cache, row, latents[i]).from_noise(noise)
            return (kernel.insert(cache, row, value), latents.at[i].set(value)), None

        def sweep(kept, seed):
            noise = kernel.noise(jax.random.key(seed), latents)
            return jax.lax.scan(move, kept, (jnp.arange(40), noise))

        start = kernel.cache(latents), latents
        (cache, latents), _ = jax.lax.scan(sweep, start, jnp.arange(25))
        return cache, kernel.cache(latents)

    for kept, rebuilt in zip(*walk(), strict=True):
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

        @jax.jit
        def both(two, shape=shape, y=y, model=model, variables=variables):
            state = model.sample_prior(jax.random.key(3), shape)
            kind = type(model.sample_parameters(jax.random.key(0), None, shape))

            def joint(v):
                return model.log_joint(state, kind(v.reshape(variables)), y, powers)

            return model.log_annealed(state, y, powers), jax.vmap(joint)(two)

        density, values = map(np.asarray, both(two))
        np.testing.assert_allclose(density, logsumexp(values) + 2 * np.log(step), atol=1e-8)


@pytest.mark.slow
def test_conditionals_sample_what_they_score():
    """Frequencies of 40,000 draws against the scored probabilities; false-positive rate
    below 1e-6."""
    categorical = Categorical(jnp.log(jnp.array([0.1, 0.0, 0.6, 0.3])) + 5.0)
    model, shape = BinaryAttributes(components=3, row_update="whole"), (4, 3)
    y = simulate(model, *shape, seed=2).y

    @jax.jit
    def of_categories():
        u = jax.random.uniform(jax.random.key(0), (40_000,))
        scored = jax.vmap(lambda k: log_prob(categorical, k))(jnp.arange(4))
        return jax.vmap(categorical.from_noise)(u), jnp.exp(scored)

    @jax.jit
    def of_rows():
        state = model.sample_prior(jax.random.key(4), shape)
        whole = model.point_conditional(state, y, jnp.full(4, 0.6), 1)
        keys = jax.random.split(jax.random.key(9), 40_000)
        found = []
        for conditional in (whole, BitByBit(whole.row, state.attributes[1], True)):
            scored = jax.vmap(lambda bits, c=conditional: log_prob(c, bits))(jnp.array(patterns(3)))
            drawn = jax.vmap(conditional.sample)(keys)
            found.append((drawn @ jnp.array([4.0, 2.0, 1.0]), jnp.exp(scored)))
        return found

    for index, expected in (of_categories(), *of_rows()):
        np.testing.assert_allclose(np.sum(expected), 1.0, atol=1e-10)
        counts = np.bincount(np.asarray(index).astype(int), minlength=len(expected))
        np.testing.assert_allclose(counts / 40_000, expected, atol=5 * 0.5 / 200)
        assert len(expected) == 8 or counts[1] == 0

    gaussian = Gaussian(np.array([[1.3, 0.0], [0.4, 0.7]]), np.array([0.5, -1.0]), 2.0)
    precision = gaussian.cholesky @ gaussian.cholesky.T
    grid = np.linspace(-20, 20, 801)
    axes = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    density = -0.5 * np.sum((axes @ precision) * axes, axis=1) + axes @ np.array([0.5, -1.0]) + 2.0
    scored, mass = jax.jit(lambda v: (gaussian.log_density(v), gaussian.log_normalizer))(axes[7])
    np.testing.assert_allclose(scored, density[7])
    total = (
        np.log(np.sum(np.exp(density - density.max())))
        + density.max()
        + 2 * np.log(grid[1] - grid[0])
    )
    np.testing.assert_allclose(mass, total, atol=1e-8)
