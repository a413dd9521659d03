"""Variational families, maximum-likelihood fits, constrained priors and scored chains, mostly
exact."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.models.binary_attributes.state import BinaryState, Features
from bracketz.models.clustering.state import Centers, ClusteringState
from bracketz.models.low_rank.state import Factors, Left, LowRankState
from bracketz.numerics.conditionals import TruncatedNormal
from tiny_instances import TINY

MODELS = {
    "clustering": (Clustering(components=3), (12, 4)),
    "low-rank": (LowRank(components=2), (12, 4)),
    "binary-attributes": (BinaryAttributes(components=3), (12, 4)),
}


@pytest.fixture(params=MODELS)
def problem(request):
    model, shape = MODELS[request.param]
    return request.param, model, simulate(model, *shape, seed=3)


# Variational Bayes.


def optimum(family, key, rounds=400):
    def iterate(_, q):
        for update in family.updates:
            q = update(q)
        return q

    return jax.lax.fori_loop(0, rounds, iterate, family.start(key))


def test_no_update_lowers_the_objective(problem):
    _, model, data = problem

    @jax.jit
    @jax.vmap
    def objectives(seed):
        """Of the start, and after every update of five rounds."""
        family = model.variational(data.y)
        q = family.start(jax.random.key(seed))

        def updated(q, _):
            found = []
            for update in family.updates:
                q = update(q)
                found.append(family.objective(q))
            return q, jnp.stack(found)

        _, found = jax.lax.scan(updated, q, length=5)
        return jnp.append(family.objective(q), found)

    found = np.asarray(objectives(np.arange(3)))
    assert found.shape[1] >= 11 and np.all(np.diff(found) >= -1e-9)


def perturbations(name, q, key, size):
    """Small changes that stay inside the family."""
    keys = iter(jax.random.split(key, 8))

    def noise(a):
        return size * jax.random.normal(next(keys), a.shape)

    def spd(c):
        n = noise(c)
        return c + 0.5 * (n + n.T) * jnp.min(jnp.diagonal(c))

    if name == "clustering":
        logits = jnp.log(q.responsibilities + 1e-12)
        yield q._replace(responsibilities=jax.nn.softmax(logits + noise(logits), axis=1))
        yield q._replace(means=q.means + noise(q.means))
        yield q._replace(variances=q.variances * jnp.exp(noise(q.variances)))
    elif name == "low-rank":
        yield q._replace(left=q.left + noise(q.left))
        yield q._replace(right=q.right + noise(q.right))
        yield q._replace(left_covariance=spd(q.left_covariance))
        yield q._replace(right_covariance=spd(q.right_covariance))
    else:
        p = jnp.clip(q.probabilities, 1e-12, 1 - 1e-12)
        logits = jnp.log(p) - jnp.log1p(-p)
        yield q._replace(probabilities=jax.nn.sigmoid(logits + noise(logits)))
        yield q._replace(features=q.features + noise(q.features))
        yield q._replace(covariance=spd(q.covariance))


def test_the_optimum_is_a_local_maximum(problem):
    name, model, data = problem

    @jax.jit
    def objectives(seeds):
        """Of the optimum, and of what lies about it."""
        family = model.variational(data.y)
        q = optimum(family, jax.random.key(0))

        @jax.vmap
        def about(seed):
            every = list(perturbations(name, q, jax.random.key(seed), 1e-2))
            return jax.lax.map(family.objective, jax.tree.map(lambda *a: jnp.stack(a), *every))

        return family.objective(q), about(seeds)

    best, others = objectives(np.arange(20))
    assert others.shape[1] >= 3 and np.all(others <= best + 1e-7)


def test_the_objective_is_expected_log_joint_plus_entropy():
    """Monte Carlo from q, 200,000 draws of the uncollapsed joint; 5 standard errors."""
    model, shape = Clustering(components=2), (5, 2)
    data = simulate(model, *shape, seed=1)

    def draw(key, q):
        k1, k2 = jax.random.split(key)
        z = jax.random.categorical(k1, jnp.log(q.responsibilities), axis=1)
        noise = jax.random.normal(k2, q.means.shape)
        centers = q.means + jnp.sqrt(q.variances)[:, None] * noise
        log_q = jnp.sum(jnp.log(q.responsibilities[jnp.arange(5), z])) + jnp.sum(
            jax.scipy.stats.norm.logpdf(centers, q.means, jnp.sqrt(q.variances)[:, None])
        )
        return model.log_joint(ClusteringState(z), Centers(centers), data.y, jnp.ones(5)) - log_q

    agree(lambda: model.variational(data.y), lambda f: f.start(jax.random.key(3)), draw, 200_000)


def agree(family_of, start, draw, count):
    """The objective at ``start`` and a mean of ``draw(key, q)``, within 5 standard errors."""

    @jax.jit
    def both(key):
        family = family_of()
        q = start(family)
        return family.objective(q), jax.vmap(draw, (0, None))(jax.random.split(key, count), q)

    objective, values = map(np.asarray, both(jax.random.key(0)))
    assert abs(values.mean() - objective) < 5 * values.std() / np.sqrt(count)


@pytest.mark.slow
def test_low_rank_and_binary_objectives_match_monte_carlo():
    for name in ("low-rank", "binary-attributes"):
        model, shape = MODELS[name]
        data = simulate(model, *shape, seed=1)

        def gaussian(key, mean, covariance):
            """Rows ~ N(mean_i, covariance): (draws, log density)."""
            root = jnp.linalg.cholesky(covariance)
            noise = jax.random.normal(key, mean.shape)
            log_q = -0.5 * jnp.sum(noise**2) - mean.shape[0] * jnp.sum(jnp.log(jnp.diagonal(root)))
            return mean + noise @ root.T, log_q - 0.5 * mean.size * jnp.log(2 * jnp.pi)

        def draw(key, q, model=model, data=data, name=name, gaussian=gaussian):
            k1, k2 = jax.random.split(key)
            ones = jnp.ones(data.y.shape[0])
            if name == "low-rank":
                left, a = gaussian(k1, q.left, q.left_covariance)
                right, b = gaussian(k2, q.right.T, q.right_covariance)
                return model.log_joint(LowRankState(right.T), Left(left), data.y, ones) - a - b
            bits = (jax.random.uniform(k1, q.probabilities.shape) < q.probabilities) * 1.0
            a = jnp.sum(jnp.log(jnp.where(bits > 0, q.probabilities, 1 - q.probabilities)))
            features, b = gaussian(k2, q.features.T, q.covariance)
            return model.log_joint(BinaryState(bits), Features(features.T), data.y, ones) - a - b

        agree(
            lambda model=model, data=data: model.variational(data.y),
            lambda family: family.updates[-1](family.start(jax.random.key(3))),
            draw,
            100_000,
        )


# Maximum likelihood.


def test_fits_climb_to_a_stationary_point(problem):
    _, model, data = problem

    @jax.jit
    def climb(key):
        """The log likelihood at the start and after every update; its gradient at the end."""
        fit = model.maximum_likelihood(data.y)

        def updated(parameters, _):
            new = fit.update(parameters)
            return new, fit.log_likelihood(new)

        start = fit.start(key)
        end, values = jax.lax.scan(updated, start, length=3000)
        return jnp.append(fit.log_likelihood(start), values), jax.grad(fit.log_likelihood)(end)

    values, gradient = map(np.asarray, climb(jax.random.key(1)))
    assert np.all(np.diff(values) >= -1e-8)
    assert np.abs(gradient).max() < 1e-2


def test_low_rank_fit_is_the_global_optimum_and_counts_rotations_out():
    model, shape = LowRank(components=2), (30, 5)
    data = simulate(model, *shape, seed=2)
    fit = model.maximum_likelihood(data.y)
    assert fit.num_parameters == 2 * 5 - 1

    @jax.vmap
    def ascended(seed):
        def step(_, right):
            return right + 0.005 * jax.grad(fit.log_likelihood)(right)

        start = jax.random.normal(jax.random.key(seed), (2, 5))
        return fit.log_likelihood(jax.lax.fori_loop(0, 2000, step, start))

    @jax.jit
    def both(key, seeds):
        return fit.log_likelihood(fit.start(key)), ascended(seeds)

    # Gradient ascent from random starts does not get above it.
    best, found = map(np.asarray, both(jax.random.key(0), np.arange(5)))
    assert np.all(found <= best + 1e-6) and np.all(found >= best - 1.0)


# Constrained priors.


def constrained_states(name, model, n):
    if name == "clustering":
        every = list(itertools.product(range(model.components), repeat=n))
        return ClusteringState(jnp.asarray(every, dtype=jnp.int32))
    bits = list(itertools.product((0.0, 1.0), repeat=n * model.components))
    return BinaryState(jnp.asarray(bits).reshape(-1, n, model.components))


@pytest.mark.parametrize("name", ["clustering", "binary-bits"])
def test_constrained_sweeps_keep_the_constrained_prior(name):
    """Exact draws from the constrained prior, one sweep: frequencies stay, 5-sigma bands on 100,000
    draws."""
    model, _ = TINY[name]
    n = 3
    y = simulate(model, n, 2, seed=5).y
    prior = model.constrained_prior(y)
    states = constrained_states(name, model, n)
    log_prior = jax.jit(jax.vmap(lambda s: model.log_annealed(s, y, jnp.zeros(n))))(states)
    likelihood = jax.jit(jax.vmap(prior.log_likelihood))
    levels = np.asarray(likelihood(states))
    distinct = np.unique(np.round(levels, 9))  # relabelings tie
    cutoff = distinct[len(distinct) // 2 - 1 : len(distinct) // 2 + 1].mean()
    weights = np.where(levels > cutoff, np.exp(log_prior), 0.0)
    weights /= weights.sum()
    draws = 100_000
    index = np.random.default_rng(0).choice(len(weights), draws, p=weights)
    start = jax.tree.map(lambda a: a[index], states)
    keys = jax.random.split(jax.random.key(1), draws)
    after = jax.jit(jax.vmap(lambda k, s: prior.step(k, s, cutoff)))(keys, start)
    assert float(likelihood(after).min()) > cutoff
    flat, every = (
        np.asarray(after[0]).reshape(draws, -1),
        np.asarray(states[0]).reshape(len(weights), -1),
    )
    codes = {tuple(row): j for j, row in enumerate(every)}
    found = np.array([codes[tuple(row)] for row in flat])
    counts = np.bincount(found, minlength=len(weights))
    assert np.mean(found != index) > 0.2  # it does move
    error = np.sqrt(weights * (1 - weights) / draws) + 1e-12
    np.testing.assert_array_less(np.abs(counts / draws - weights), 5 * error + 1e-9)


@pytest.mark.slow
def test_low_rank_constrained_sweep_keeps_the_constrained_prior():
    """Rejection-sampled exact draws, one sweep: means of four statistics unchanged (|z| < 5)."""
    model, shape = LowRank(components=1, noise_variance=1.0), (2, 2)
    y = simulate(model, *shape, seed=5).y
    prior = model.constrained_prior(y)
    keys = jax.random.split(jax.random.key(0), 400_000)

    @jax.jit
    @jax.vmap
    def sampled(key):
        state = prior.sample_prior(key)
        return state, prior.log_likelihood(state)

    @jax.jit
    @jax.vmap
    def stepped(key, state):
        new = prior.step(key, state, cutoff)
        return new, prior.log_likelihood(new)

    states, levels = jax.tree.map(np.asarray, sampled(keys))
    cutoff = np.quantile(levels, 0.8)
    inside = levels > cutoff
    start = jax.tree.map(lambda a: a[inside], states)
    fresh = jax.random.split(jax.random.key(1), int(inside.sum()))
    after, new_levels = jax.tree.map(np.asarray, stepped(fresh, start))
    assert new_levels.min() > cutoff - 1e-9

    def statistics(s: Factors):
        return np.stack(
            [
                s.left[:, 0, 0] ** 2,
                s.right[:, 0, 1] ** 2,
                np.abs(s.left[:, 1, 0]),
                s.left[:, 0, 0] * s.right[:, 0, 0],
            ]
        )

    difference = statistics(after) - statistics(start)
    z = difference.mean(axis=1) / (difference.std(axis=1) / np.sqrt(difference.shape[1]))
    assert np.abs(z).max() < 5 and np.all(difference.std(axis=1) > 0.05)


@jax.jit
def truncated(low, high, u):
    return jax.vmap(TruncatedNormal(low, high).from_noise)(u)


@pytest.mark.parametrize(
    "low, high", [(-1.0, 2.0), (3.0, 3.5), (-9.0, -8.0), (8.0, 9.0), (20.0, 21.0), (-30.0, 30.0)]
)
def test_truncated_normal_in_the_tails(low, high):
    u = np.linspace(0.001, 0.999, 199)
    got = np.asarray(truncated(low, high, u))
    assert np.all((got >= low) & (got <= high))
    # Compare as probabilities, in the tail where they are small.
    sign = -1 if low + high > 0 else 1
    a, b = sorted((sign * low, sign * high))
    share = (stats.norm.cdf(sign * got) - stats.norm.cdf(a)) / (
        stats.norm.cdf(b) - stats.norm.cdf(a)
    )
    np.testing.assert_allclose(np.sort(share), u, rtol=1e-6, atol=1e-9)


# Scored chains.


def test_factor_chain_satisfies_the_reversal_identity():
    """log f(x) + log T(x'|x) = log f(x') + log R(x|x') for random pairs: exact."""
    model, shape = LowRank(components=2), (5, 3)
    data = simulate(model, *shape, seed=3)

    @jax.jit
    def both_sides(key):
        chain = model.scored_chain(data.y)
        k1, k2, k3 = jax.random.split(key, 3)
        x = chain.begin(k1, model.sample_prior(k2, shape))
        new = chain.kernel.step(k3, x)
        other = chain.begin(k3, model.sample_prior(k1, shape))
        left = [chain.log_joint(x) + chain.kernel.log_prob(target, x) for target in (new, other)]
        right = [chain.log_joint(t) + chain.kernel.reversed().log_prob(x, t) for t in (new, other)]
        return jnp.stack(left), jnp.stack(right)

    for seed in range(5):
        np.testing.assert_allclose(*both_sides(jax.random.key(seed)), rtol=1e-10)
