"""Every problem keeps its contract: prior and transform agree, NumPy and JAX, one and many."""

import jax
import numpy as np
import pytest

from bracketz.testbed.league.catalogue import catalogue
from bracketz.testbed.league.datasets import simulate
from bracketz.testbed.league.truth import read

KNOWN = catalogue().problems
NAMES = sorted(KNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_functions_agree(name):
    """NumPy on one point, on many, and JAX compute the same numbers, and they are numbers."""
    problem = simulate(KNOWN[name], seed=0).for_tools()
    rng = np.random.default_rng(1)
    many = problem.sample_prior(rng, 3)
    assert many.shape == (3, problem.dimension)
    likelihoods, priors = problem.log_likelihood(many), problem.log_prior(many)
    assert np.all(np.isfinite(likelihoods)) and np.all(np.isfinite(priors))
    assert problem.calls == 3
    both = (problem.jax.log_likelihood, problem.jax.log_prior)
    compiled = jax.jit(lambda theta: [function(theta) for function in both])
    for k, theta in enumerate(many):
        assert problem.log_likelihood(theta) == pytest.approx(likelihoods[k], rel=1e-9)
        assert problem.log_prior(theta) == pytest.approx(priors[k], rel=1e-9)
        likelihood, prior = compiled(theta)
        assert float(likelihood) == pytest.approx(likelihoods[k], rel=1e-7)
        assert float(prior) == pytest.approx(priors[k], rel=1e-9)


@pytest.mark.parametrize("name", [n for n in NAMES if KNOWN[n].suite == "league"])
def test_density_is_that_of_the_transform(name):
    """p(theta(u)) |d theta / d u| = 1: the density is normalised, and the transform draws from
    it. Exact, by automatic differentiation."""
    problem = simulate(KNOWN[name], seed=0).for_tools()

    @jax.jit
    def density_and_jacobian(u):
        theta = problem.jax.prior_transform(u)
        return problem.jax.log_prior(theta), jax.jacfwd(problem.jax.prior_transform)(u)

    u = np.random.default_rng(2).uniform(0.1, 0.9, size=problem.dimension)
    log_prior, jacobian = density_and_jacobian(u)
    _, log_det = np.linalg.slogdet(jacobian)
    assert float(log_prior + log_det) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_data_are_always_the_same_and_hide_what_made_them(name, tmp_path):
    data = simulate(KNOWN[name], seed=3)
    assert data.fingerprint == simulate(KNOWN[name], seed=3).fingerprint
    data.write(tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as file:
        assert {key.split(".")[0] for key in file.files} <= {"y", "c"}
        for key in file.files:
            assert not np.array_equal(file[key].ravel(), data.theta)


@pytest.mark.parametrize("seed", range(3))
def test_the_quadrature_of_the_hierarchy_is_fine_enough(seed):
    """Twice as many points change nothing, and the kept truths are these."""
    problem = KNOWN["hierarchical-50"]
    data = simulate(problem, seed)
    coarse, fine = (problem.module.exact(data.y, data.c, points) for points in (401, 801))
    assert coarse == pytest.approx(fine, abs=1e-6)
    assert read(problem)[seed].log_z == pytest.approx(coarse, abs=1e-9)


def test_kept_truths_are_what_their_formula_gives():
    for name in NAMES:
        problem = KNOWN[name]
        if problem.exact and problem.suite == "league":
            for seed, truth in read(problem).items():
                assert truth.log_z == pytest.approx(simulate(problem, seed).exact(), abs=1e-6), name
