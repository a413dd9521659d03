"""Ising and Potts: partition functions known in several ways, kernels as matrices, exact samples.

Statistical tests here use fixed keys; a correct program fails one of them with probability at most
1e-4 (``RATE``), and there are four.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import bracketz as bz
from bracketz.check.statistics import counts_p
from bracketz.check.subject import tally
from bracketz.core.kernel import ScoredKernel
from bracketz.models.lattice import grid, kaufman, onsager
from bracketz.models.lattice.past import from_the_past

RATE = 1e-4
RNG = np.random.default_rng(20)


def energy(sites, couplings, pulls, periodic, ising):
    """log f written out bond by bond, without any array trick."""
    n, d = sites.shape
    spin = 2 * sites - 1
    total = 0.0
    for i, j in itertools.product(range(n), range(d)):
        for way, (a, b) in enumerate(((i, j + 1), (i + 1, j))):
            length = (d, n)[way]
            if (a >= n or b >= d) and not (periodic and length > 1):
                continue
            other = (a % n, b % d)
            alike = spin[i, j] * spin[other] if ising else sites[i, j] == sites[other]
            total += couplings[way, i, j] * alike
        total += pulls[i, j] * (spin[i, j] if ising else sites[i, j] == 0)
    return total


def summed(shape, couplings, pulls, periodic, states, ising):
    values = [
        energy(np.array(x).reshape(shape), couplings, pulls, periodic, ising)
        for x in itertools.product(range(states), repeat=shape[0] * shape[1])
    ]
    return np.logaddexp.reduce(values)


@pytest.mark.parametrize("periodic", [False, True], ids=["free", "periodic"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (1, 4)], ids=str)
def test_the_transfer_matrix_is_the_sum_over_all_states(shape, periodic):
    couplings, y = RNG.uniform(0, 0.7, (2, *shape)), RNG.normal(size=shape)
    ising = bz.Ising(coupling=couplings, field=0.3, periodic=periodic)
    truth = summed(shape, couplings, y + 0.3, periodic, 2, True)
    assert ising.exact_evidence(y) == pytest.approx(truth, abs=1e-10)
    if shape != (3, 3):
        potts = bz.Potts(colours=3, coupling=couplings, field=0.3, periodic=periodic)
        truth = summed(shape, couplings, y + 0.3, periodic, 3, False)
        assert potts.exact_evidence(y) == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize("size", [(3, 4), (4, 3), (2, 5), (6, 8)], ids=str)
@pytest.mark.parametrize("coupling", [(0.3, 0.3), (0.25, 0.6), (0.7, 0.5)], ids=str)
def test_kaufmans_formula_is_the_transfer_matrix_on_the_torus(size, coupling):
    """Below and above the critical coupling, where one of its terms changes sign."""
    torus = bz.Ising(coupling=np.array(coupling), periodic=True)
    truth = torus.exact_evidence(np.zeros(size))
    assert kaufman(*size, *coupling) == pytest.approx(truth, rel=1e-11)


def test_large_tori_tend_to_onsagers_limit():
    for coupling in (0.2, 0.35, 0.6):
        limit = onsager(coupling) + np.log(2) * (coupling > 0.5) / 256**2  # two ordered phases
        assert kaufman(256, 256, coupling) / 256**2 == pytest.approx(limit, abs=1e-10)
    critical = np.log1p(np.sqrt(2)) / 2
    catalan = 0.915965594177219015
    assert onsager(critical) == pytest.approx(np.log(2) / 2 + 2 * catalan / np.pi, abs=1e-9)


def test_two_colours_are_an_ising_model():
    y = RNG.normal(size=(3, 4))
    ising = bz.Ising(coupling=0.3, field=0.2, exact="clusters").exact_evidence(y)
    potts = bz.Potts(colours=2, coupling=0.6, field=0.4).exact_evidence(2 * y)
    assert ising == pytest.approx(potts - 0.3 * 17 - np.sum(y + 0.2), abs=1e-10)


def test_strips_wider_than_the_transfer_matrix_are_refused():
    with pytest.raises(bz.InputError, match="too large"):
        bz.Ising(periodic=True).exact_evidence(np.zeros((16, 16)))
    with pytest.raises(bz.InputError, match="too many to enumerate"):
        bz.Ising().nodes((8, 8))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (5, 4), (1, 5), (2, 2)], ids=str)
@pytest.mark.parametrize("periodic", [False, True], ids=["free", "periodic"])
def test_no_bond_joins_two_sites_of_one_colour(shape, periodic):
    colours, count = grid.colouring(shape, periodic)
    there = grid.present(shape, periodic)
    assert set(colours.ravel()) <= set(range(count))
    assert not np.any(there & np.asarray(grid.agree(jnp.asarray(colours))))


@jax.jit
def labelled(bonds, grounded):
    return jax.vmap(grid.clusters)(bonds, grounded)


def test_clusters_are_connected_components():
    n, d = 6, 5
    index = np.arange(n * d).reshape(n, d)
    ends = np.stack([np.roll(index, -1, 1), np.roll(index, -1, 0)])
    bonds = RNG.uniform(size=(40, 2, n, d)) < np.linspace(0.1, 0.9, 40)[:, None, None, None]
    grounded = RNG.uniform(size=(40, n, d)) < 0.1
    found = np.asarray(labelled(bonds, grounded))
    for opened, out, labels in zip(bonds, grounded, found, strict=True):
        a = np.concatenate([np.broadcast_to(index, ends.shape)[opened], index[out]])
        b = np.concatenate([ends[opened], np.full(out.sum(), n * d)])
        graph = coo_array((np.ones(len(a)), (a, b)), shape=(n * d + 1,) * 2)
        truth = connected_components(graph, directed=False)[1]
        ours = np.append(labels.ravel(), 0)
        same = truth[:, None] == truth
        np.testing.assert_array_equal(ours[:, None] == ours, same)
        least = [0 if s[-1] else 1 + np.flatnonzero(s)[0] for s in same[:-1]]
        np.testing.assert_array_equal(ours[:-1], least)


KERNELS = {
    "ising, checkerboard": (bz.Ising(np.array([0.5, 0.3]), 0.2, moves="checkerboard"), (2, 2)),
    "ising, three colours of sites": (
        bz.Ising(np.array([0.5, 0.3]), 0.2, periodic=True, moves="checkerboard"),
        (2, 3),
    ),
    "ising, clusters": (bz.Ising(np.array([0.5, 0.3]), 0.2, moves="swendsen-wang"), (2, 3)),
    "potts, checkerboard": (bz.Potts(3, 0.7, 0.3, moves="checkerboard"), (2, 2)),
    "potts, clusters": (bz.Potts(3, 0.7, 0.3, moves="swendsen-wang"), (2, 2)),
}


@jax.jit
def tables(model, states, y, powers):
    """(log f of every state, the transition matrix, its reversal's)."""
    kernel = model.kernel(y, powers)

    def table(kernel):
        return jax.lax.map(lambda x: jax.vmap(lambda new: kernel.log_prob(new, x))(states), states)

    log_f = jax.vmap(lambda x: model.log_annealed(x, y, powers))(states)
    return log_f, jnp.exp(table(kernel)), jnp.exp(table(kernel.reversed()))


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_keep_the_density_and_are_reversed_exactly(name):
    """f(x) T(x'|x) = f(x') R(x|x') for every pair, rows of probabilities, at mixed powers."""
    model, shape = KERNELS[name]
    states, _ = model.nodes(shape)
    y = np.linspace(0.1, 0.8, shape[0] * shape[1]).reshape(shape)
    assert isinstance(model.kernel(y, np.ones(2)), ScoredKernel)
    for powers in ([1.0, 1.0], [0.7, 0.25], [0.0, 1.0]):
        log_f, forward, backward = map(np.asarray, tables(model, states, y, np.array(powers)))
        f = np.exp(log_f - np.logaddexp.reduce(log_f))
        np.testing.assert_allclose(forward.sum(1), 1, rtol=1e-12)
        np.testing.assert_allclose(f[:, None] * forward, (f[:, None] * backward).T, atol=1e-15)
    assert log_f.shape == (model.num_states ** (shape[0] * shape[1]),)


def test_the_density_is_the_energy_and_the_base_is_uniform():
    model, shape = bz.Ising(np.array([0.5, 0.3]), 0.2, periodic=True), (2, 3)
    states, _ = model.nodes(shape)
    y = np.linspace(-0.4, 0.8, 6).reshape(shape)
    couplings = np.broadcast_to(np.array([0.5, 0.3])[:, None, None], (2, *shape))
    density = jax.jit(jax.vmap(lambda x, b: model.log_annealed(x, y, b), (0, None)))
    truth = [energy(x.astype(int), couplings, y + 0.2, True, True) for x in states.sites]
    np.testing.assert_allclose(density(states, np.ones(2)), truth, atol=1e-12)
    np.testing.assert_allclose(density(states, np.zeros(2)), -6 * np.log(2), atol=1e-12)
    both = density(states, np.array([0.3, 0.8])), density(states, np.array([0.3, 0.3]))
    step = jax.vmap(lambda x: model.log_increment(x, y, np.array([0.3, 0.8]), np.array([0.3, 0.3])))
    np.testing.assert_allclose(step(states), both[0] - both[1], atol=1e-12)


def test_cluster_moves_draw_what_they_score():
    model, shape = KERNELS["ising, clusters"]
    states, _ = model.nodes(shape)
    y = np.linspace(0.1, 0.8, 6).reshape(shape)
    powers = np.array([0.7, 0.25])
    _, forward, _ = tables(model, states, y, powers)
    keys = jax.random.split(jax.random.key(5), 20_000)
    moves = jax.jit(jax.vmap(lambda k, x: model.kernel(y, powers).step(k, x), (0, None)))
    start = jax.tree.map(lambda a: a[11], states)
    assert counts_p(tally(moves(keys, start), states), np.asarray(forward)[11]) > RATE


EXACT = {
    "ising, sites": (bz.Ising(np.array([0.6, 0.4]), 0.1), (2, 3), -0.6, 10_000),
    "ising, clusters": (bz.Ising(np.array([0.6, 0.4]), 0.1, exact="clusters"), (2, 2), 0.0, 4_000),
    "potts": (bz.Potts(3, np.array([1.0, 0.7]), 0.1, periodic=True), (2, 2), 0.0, 4_000),
}


@pytest.mark.parametrize("name", EXACT)
def test_samples_from_the_past_have_the_right_law(name):
    """Thousands of draws against the probability of every state; ``RATE`` each."""
    model, shape, low, count = EXACT[name]
    states, _ = model.nodes(shape)
    y = np.linspace(low, 0.8, shape[0] * shape[1]).reshape(shape)
    draws = jax.jit(jax.vmap(lambda k: model.sample_exact(k, y)))(
        jax.random.split(jax.random.key(7), count)
    )
    log_f = np.asarray(jax.vmap(lambda x: model.log_annealed(x, y, np.ones(2)))(states))
    assert np.all(draws.done) and np.asarray(draws.steps).max() > 2
    truth = np.exp(log_f - np.logaddexp.reduce(log_f))
    assert counts_p(tally(draws.state, states), truth) > RATE


def test_every_state_begun_in_the_past_ends_in_the_sample():
    """And begun earlier still, with the same randomness, in the same one."""
    model, shape = bz.Ising(coupling=0.5), (2, 3)
    y = np.linspace(-0.5, 0.5, 6).reshape(shape)
    every = model.nodes(shape)[0].sites
    kernel = model._checkerboard(jnp.asarray(y), jnp.ones(2))
    key = jax.random.key(3)
    draw = model.sample_exact(key, y)

    @jax.jit
    def ends(begin):
        def step(index, sites):
            noise = jax.random.uniform(jax.random.fold_in(key, begin - index), shape)
            return jax.vmap(lambda x: kernel.draw(x, noise))(sites)

        return jax.lax.fori_loop(0, begin, step, jnp.asarray(every))

    assert int(draw.steps) > 1
    for begin in (int(draw.steps), 2 * int(draw.steps), 37 * int(draw.steps)):
        assert np.all(np.asarray(ends(begin)) == np.asarray(draw.state.sites))
    assert len(np.unique(np.asarray(ends(int(draw.steps) // 2)), axis=0)) > 1  # T doubles


def test_a_sampler_that_gives_up_says_so():
    _, met, begin = from_the_past(
        jax.random.key(0), jnp.zeros(1), jnp.ones(1), lambda key, x: x, most=8
    )
    assert not met and begin == 8
    assert "lower it" in bz.Ising().not_drawn(8) and "smaller grid" in bz.Potts().not_drawn(8)


def test_the_sandwich_is_certified_on_given_fields():
    y = np.random.default_rng(1).normal(size=(4, 4))
    model = bz.Ising(coupling=0.4)
    truth = model.exact_evidence(y)
    answer = bz.sandwich(model, y, gap=0.3, chains=25, first=256, max_effort=256)
    # Each reverse chain has an exact sample of its own: betting on both sides, where Markov's
    # inequality on one sample alone would give 2.3 nats.
    assert answer.certificate.low <= truth <= answer.certificate.high < answer.upper + 0.8
    assert abs(answer.lower - truth) < 0.25 and abs(answer.upper - truth) < 0.25
    data = bz.simulate(bz.Ising(coupling=0.4, disorder=0.5), 4, 4, seed=1)
    assert data.simulated and data.exact.sites.shape == (4, 4) and data.y.std() > 0.1


def test_values_out_of_range_are_refused():
    for wrong, said in [
        ({"coupling": -0.1}, "must not be negative"),
        ({"coupling": np.ones(3)}, "one number, two"),
        ({"field": np.inf}, "field must be a number"),
        ({"disorder": -1.0}, "at least 0"),
        ({"moves": "checkerbord"}, "did you mean 'checkerboard'"),
        ({"exact": "site"}, "did you mean 'sites'"),
    ]:
        with pytest.raises(bz.InputError, match=said):
            bz.Ising(**wrong)
    with pytest.raises(bz.InputError, match="at least 2"):
        bz.Potts(colours=1)
    with pytest.raises(bz.InputError, match="not negative"):
        bz.sandwich(bz.Potts(), np.full((2, 2), -1.0))
    with pytest.raises(bz.InputError, match="3 x 3 sites, and the grid has 2 x 2"):
        bz.sandwich(bz.Ising(coupling=np.ones((2, 3, 3))), np.zeros((2, 2)))
    with pytest.raises(bz.InputError, match="take bracketz sandwich"):
        bz.evidence(bz.Ising(), np.zeros((2, 2)))
    with pytest.raises(bz.InputError, match="no data follow"):
        bz.Ising().simulate(None, None, (2, 2))
