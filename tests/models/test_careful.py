"""Noise far below the data: the careful arithmetic against exact fractions, and against the usual
one."""

from decimal import Decimal, getcontext
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.pytree import unchecked
from bracketz.models.binary_attributes.careful import CarefulBinaryAttributes
from bracketz.models.clustering.careful import CarefulClustering
from bracketz.models.low_rank.careful import CarefulLowRank
from tiny_instances import TINY, power_rows

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
CAREFUL = {
    bz.Clustering: CarefulClustering,
    bz.LowRank: CarefulLowRank,
    bz.BinaryAttributes: CarefulBinaryAttributes,
}


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def exact_log_density(design, y, prior_variance, noise_variance) -> float:
    """log of prod_j N(y_j | 0, noise I + prior design design^T), columns j, without rounding."""
    n, d = y.shape
    x = [[Fraction(float(v)) for v in row] for row in design]
    prior, noise = Fraction(float(prior_variance)), Fraction(float(noise_variance))
    rows = [
        [
            (noise if i == j else 0) + prior * sum(a * b for a, b in zip(x[i], x[j], strict=True))
            for j in range(n)
        ]
        + [Fraction(float(v)) for v in y[i]]
        for i in range(n)
    ]
    total = -n * d * (2 * PI).ln()
    for i in range(n):
        pivot = rows[i][i]
        total -= d * decimal(pivot).ln() + decimal(sum(v * v for v in rows[i][n:]) / pivot)
        for r in range(i + 1, n):
            factor = rows[r][i] / pivot
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return float(total / 2)


def problem(kind, noise_variance):
    """(the careful model, data, some states, exact log joints of those)."""
    if kind == "low-rank":
        model = bz.LowRank(components=2, noise_variance=noise_variance)
        data = bz.simulate(model, 3, 4, seed=2)
        states = jax.tree.map(lambda a: np.stack([a, 1.01 * a]), data.exact)
        exact = [
            exact_log_density(v.T, data.y.T, model.left_variance, noise_variance)
            - 0.5 * np.sum(v**2 / model.right_variance + np.log(2 * np.pi * model.right_variance))
            for v in np.asarray(states.right)
        ]
        return model.suited_to(data.y), data, states, np.array(exact)
    if kind == "clustering":
        model = bz.Clustering(components=2, noise_variance=noise_variance)
        variance, shape = model.center_variance, (4, 2)
        states, _ = model.nodes(shape)
        designs = np.eye(2)[states.assignments]
        log_prior = np.full(len(designs), 4 * np.log(0.5))
    else:
        model = bz.BinaryAttributes(components=2, noise_variance=noise_variance, row_update=kind)
        variance, shape = model.feature_variance, (4, 2)
        states, _ = model.nodes(shape)
        designs = states.attributes
        log_prior = np.sum(np.where(designs > 0, np.log(0.3), np.log(0.7)), axis=(1, 2))
    data = bz.simulate(model, *shape, seed=2)
    exact = [exact_log_density(z, data.y, variance, noise_variance) for z in designs]
    return model.suited_to(data.y), data, states, np.array(exact) + log_prior


@pytest.mark.parametrize("noise_variance", [1e-10, 1e-12, 1e-16])
@pytest.mark.parametrize("kind", ["clustering", "low-rank", "bits"])
def test_densities_are_those_of_exact_fractions(kind, noise_variance):
    model, data, states, exact = problem(kind, noise_variance)
    ones = np.ones(len(data.y))
    found = jax.jit(jax.vmap(lambda state: model.log_annealed(state, data.y, ones)))(states)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["clustering", "bits", "whole"])
def test_conditionals_are_those_of_exact_fractions(kind):
    """Every visit from the exact sample, whose neighbours are e^(10^12) times less likely."""
    model, data, states, exact = problem(kind, 1e-12)
    every = np.asarray(states[0])
    latents = np.asarray(data.exact[0])

    @jax.jit
    def scores(latents, i):
        kernel = model.kernel(jnp.asarray(data.y), jnp.ones(len(data.y)))
        row = jax.tree.map(lambda a: a[i], kernel.rows)
        given = kernel.conditional(
            kernel.remove(kernel.cache(latents), row, latents[i]), row, latents[i]
        )
        # Bit by bit a conditional is of the bits before: its weight is of the row.
        score = given.row.of if kind == "bits" else given.log_density
        return given.support, jax.vmap(score)(given.support)

    for i in range(len(data.y)):
        support, found = map(np.asarray, scores(latents, i))
        wanted = []
        for value in support:
            moved = latents.copy()
            moved[i] = value
            (same,) = np.flatnonzero(np.all(every == moved, axis=tuple(range(1, every.ndim))))
            wanted.append(exact[same])
        np.testing.assert_allclose(
            found - found.max(), np.array(wanted) - max(wanted), rtol=1e-9, atol=1e-9
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_the_careful_model_is_the_same_model(name):
    """At ordinary settings, under all kinds of powers: densities, draws, predictive densities."""
    plain, shape = TINY[name]
    careful = unchecked(CAREFUL[type(plain)], **vars(plain))
    data = bz.simulate(plain, *shape, seed=3)
    state = jax.tree.map(jnp.asarray, data.exact)

    def everything(model, powers, key):
        kernel, joint = model.kernel(data.y, powers), model.log_annealed(state, data.y, powers)
        before = model.point_conditional(state, data.y, powers, 1)
        chain = model.scored_chain(data.y)
        start = chain.begin(key, state)
        moved = kernel.step(key, state), kernel.reversed().step(key, state)
        score = chain.kernel.log_prob(start, start) if name != "low-rank" else 0.0
        found = joint, before.log_normalizer, before.log_density(before.sample(key)), score
        return found, moved

    both = jax.jit(lambda *given: (everything(plain, *given), everything(careful, *given)))
    for number, powers in enumerate(power_rows(shape[0])):
        usual, other = both(np.asarray(powers), jax.random.key(number))
        if name == "low-rank":  # another map from noise to draws
            np.testing.assert_allclose(other[0][:2], usual[0][:2], rtol=1e-10, atol=1e-14)
        else:
            np.testing.assert_allclose(other[0], usual[0], rtol=1e-10)
            jax.tree.map(np.testing.assert_array_equal, other[1], usual[1])


def test_low_rank_conditionals_are_gaussians_of_the_right_mean_and_covariance():
    plain, shape = TINY["low-rank"]
    careful = unchecked(CarefulLowRank, **vars(plain))
    data = bz.simulate(plain, *shape, seed=3)
    powers, eye = jnp.linspace(0.0, 1.0, shape[0]), jnp.eye(shape[0])

    def law(model):
        given = model.kernel(data.y, powers)
        left = given.left_conditional(jnp.asarray(data.exact.right))
        right = given.right_conditional(jnp.asarray(data.parameters.left))
        zero = left.from_noise(jnp.zeros(left.noise_shape))
        steps = [left.from_noise(e[None, :]) - zero for e in eye]
        scores = left.log_density(zero) - left.log_normalizer
        return zero, jnp.abs(jnp.stack(steps)), right.from_noise(jnp.zeros((1, 2))), scores

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12),
        *jax.jit(lambda: (law(careful), law(plain)))(),
    )


def test_care_is_taken_where_it_is_needed():
    for plain, careful in CAREFUL.items():
        ordinary = plain(components=2)
        y = bz.simulate(ordinary, 50, 25).y
        assert ordinary.suited_to(y) is ordinary
        assert type(ordinary.suited_to(1e6 * y)) is careful
        small = plain(components=2, noise_variance=1e-12)
        suited = small.suited_to(bz.simulate(small, 5, 2).y)
        assert type(suited) is careful and suited.suited_to(y) is suited

    @bz.pytree_dataclass
    class Own(bz.Clustering):
        pass

    own = Own(components=2, noise_variance=1e-8)
    assert own.suited_to(np.ones((5, 2))) is own  # whose arithmetic is its own
    held = bz.HeldOut(bz.Clustering(2, noise_variance=1e-8), np.zeros((2, 2)))
    assert type(held.suited_to(np.ones((5, 2))).model) is CarefulClustering


def test_what_floats_cannot_resolve_is_refused():
    model = bz.Clustering(components=2, noise_variance=1e-150)
    with pytest.raises(bz.InputError, match=r"over the noise variance of 1e-150 is beyond what"):
        bz.sandwich(model, bz.simulate(model, 5, 2))


@pytest.mark.slow
@pytest.mark.parametrize("noise_variance", [1e-8, 1e-12])
def test_a_sandwich_holds_the_exact_evidence(noise_variance):
    """The bounds used to come out inverted by millions of nats, and converged."""
    model = bz.BinaryAttributes(components=2, noise_variance=noise_variance)
    data = bz.simulate(model, 5, 2, seed=2)
    exact = model.suited_to(data.y).exact_evidence(data.y)
    answer = bz.sandwich(model, data, seed=2, path=bz.Prefix(), chains=50)
    assert answer.converged and answer.model == "binary-attributes"
    assert abs(answer.log_ml - exact) < 0.1
