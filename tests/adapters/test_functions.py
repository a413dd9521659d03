"""from_functions: priors as functions, as distributions and as draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz.adapters.functions import from_functions
from bracketz.core.precision import double_precision
from bracketz.errors import InputError

KEY = jax.random.key(3)
normal = jax.scipy.stats.norm.logpdf


@pytest.fixture(autouse=True)
def _double():
    with double_precision():
        yield


def likelihood(x, y):
    return normal(y, x)


def slope(x, y, covariate):
    return normal(y, x["slope"] * covariate, x["noise"])


def simulate_slope(key, x, covariate):
    return x["slope"] * covariate + x["noise"] * jax.random.normal(key, covariate.shape)


def standard(**changes):
    return from_functions(
        **{
            "log_likelihood": likelihood,
            "log_prior": normal,
            "sample_prior": jax.random.normal,
            **changes,
        }
    )


def refused(make, **kwargs) -> str:
    with pytest.raises(InputError) as caught:
        make(**kwargs)
    sentence = str(caught.value)
    assert "\n" not in sentence and not sentence.endswith(".")
    return sentence


def test_functions_are_used_as_they_are():
    model = standard(simulate=lambda key, x: x + jax.random.normal(key, (5,)), name="mean")
    assert repr(model) == "FunctionModel(mean)" and model.label == "mean"
    x = model.sample_prior(KEY)
    y = model.simulate(KEY, x)
    assert model.log_prior(x) == normal(x) and model.constrain(x) is x
    np.testing.assert_array_equal(model.log_likelihood(x, y), normal(y, x))


def test_without_a_simulator_there_is_no_sandwich():
    with pytest.raises(InputError, match="no simulator"):
        standard().simulate(KEY, 0.0)


def test_covariates_are_traced():
    dist = pytest.importorskip("numpyro.distributions")
    prior = {"slope": dist.Normal(0, 1), "noise": dist.HalfNormal(1.0)}

    def make(covariate):
        return from_functions(slope, prior=prior, simulate=simulate_slope, data=(covariate,))

    models = make(np.ones(4)), make(np.full(4, 2.0))
    traced = []

    @jax.jit
    def density(model, x):
        traced.append(1)
        return jnp.sum(model.log_likelihood(x, np.ones(4)))

    x = models[0].sample_prior(KEY)
    assert density(models[0], x) != density(models[1], x) and len(traced) == 1
    assert models[0].simulate(KEY, x).shape == (4,)


def test_distributions_have_exact_densities_in_unconstrained_coordinates():
    dist = pytest.importorskip("numpyro.distributions")
    prior = {"slope": dist.Normal(0, 2), "noise": dist.HalfNormal(1.5)}
    model = from_functions(slope, prior=prior, simulate=simulate_slope, data=(np.arange(4.0),))
    x = model.unconstrain({"slope": 0.3, "noise": 0.7})
    by_hand = prior["slope"].log_prob(0.3) + prior["noise"].log_prob(0.7) + np.log(0.7)
    np.testing.assert_allclose(model.log_prior(x), by_hand, rtol=1e-12)
    value = model.constrain(x)
    np.testing.assert_allclose([value["slope"], value["noise"]], [0.3, 0.7], rtol=1e-12)
    y = np.ones(4)
    np.testing.assert_allclose(model.log_likelihood(x, y), slope(value, y, np.arange(4.0)))
    with pytest.raises(InputError, match="no `noise`"):
        model.unconstrain({"slope": 1.0})


@pytest.mark.parametrize("name", ["Beta", "Dirichlet", "MultivariateNormal", "LKJCholesky"])
def test_distributions_survive_compilation(name):
    dist = pytest.importorskip("numpyro.distributions")
    fn = {
        "Beta": lambda: dist.Beta(2.0, 3.0).expand([3]).to_event(1),
        "Dirichlet": lambda: dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
        "MultivariateNormal": lambda: dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
        "LKJCholesky": lambda: dist.LKJCholesky(3, 1.0),
    }[name]()
    model = from_functions(lambda x, y: normal(y, jnp.sum(x["v"])), prior={"v": fn})
    x = jax.jit(lambda model: model.sample_prior(KEY))(model)
    value = model.constrain(x)["v"]
    np.testing.assert_allclose(model.unconstrain({"v": value})["v"], x["v"], atol=1e-8)
    # The density of a change of variables, by its Jacobian; for supports of full dimension.
    if value.shape == x["v"].shape and value.ndim == 1:
        jacobian = jax.jacobian(lambda u: model.constrain({"v": u})["v"])(x["v"])
        expected = fn.log_prob(value) + np.linalg.slogdet(jacobian)[1]
        np.testing.assert_allclose(model.log_prior(x), expected, rtol=1e-10)
    compiled = jax.jit(lambda model, x: model.log_prior(x))(model, x)
    np.testing.assert_allclose(compiled, model.log_prior(x), rtol=1e-10)


def test_draws_instead_of_a_sampler():
    draws = np.random.default_rng(0).normal(size=(1000, 2))
    model = from_functions(
        lambda x, y: normal(y, x["a"]),
        log_prior=lambda x: jnp.sum(normal(x["a"])),
        prior_draws={"a": draws},
    )
    picked = jax.vmap(model.sample_prior)(jax.random.split(KEY, 500))["a"]
    rows = {tuple(row) for row in draws}
    assert all(tuple(row) in rows for row in np.asarray(picked))
    assert len({tuple(row) for row in np.asarray(picked)}) > 300
    assert model.pooled and not standard().pooled
    # What tunes the runs never sees a draw that data were made from.
    others = jax.vmap(model.sample_pilot)(jax.random.split(KEY, 500))["a"]
    assert not np.isin(others, picked).any()
    few = {"sample_prior": None, "prior_draws": draws[:999]}
    assert "999 draws" in refused(standard, **few)
    uneven = {"sample_prior": None, "prior_draws": (draws, draws[:5])}
    assert "one leading axis" in refused(standard, **uneven)
    broken = {"sample_prior": None, "prior_draws": np.full(1000, np.nan)}
    assert "not finite" in refused(standard, **broken)


def test_a_prior_must_be_said_once():
    assert "a model needs a prior" in refused(standard, log_prior=None, sample_prior=None)
    assert "one of `sample_prior` and `prior_draws`" in refused(standard, sample_prior=None)
    assert "one of" in refused(standard, prior_draws=np.zeros(1000))
    assert "says everything" in refused(standard, prior={})
    assert "`simulate` must be a function, got int" in refused(standard, simulate=3)
    assert "`log_likelihood` must be a function" in refused(standard, log_likelihood=None)


def test_what_is_no_prior_is_refused():
    dist = pytest.importorskip("numpyro.distributions")

    def sentence(fn):
        return refused(from_functions, log_likelihood=likelihood, prior={"v": fn})

    flat = dist.ImproperUniform(dist.constraints.real, (), ())
    assert "improper" in sentence(flat) and "improper" in sentence(flat.expand([2]))
    assert "discrete" in sentence(dist.Poisson(1.0))
    assert "masked" in sentence(dist.Normal(0, 1).mask(False))
    assert "point mass" in sentence(dist.Delta(1.0))
    assert "got float" in sentence(1.0)
    assert "edge of its support" in sentence(dist.Gamma(1e-3, 1e-3))
    assert "by name" in refused(from_functions, log_likelihood=likelihood, prior=[])


def test_functions_that_do_not_fit_are_refused():
    assert "it must give one number" in refused(standard, log_prior=lambda x: normal(x)[None])
    assert "int64 numbers" in refused(standard, sample_prior=lambda key: jnp.array(1))
    grid = {"simulate": lambda key, x: jnp.zeros((2, 3))}
    assert "one number per data point" in refused(standard, **grid)
    assert "write data=(X,)" in refused(standard, data=np.ones(3))

    def branch(x):
        return 0.0 if x > 0 else 1.0

    sentence = refused(standard, log_prior=branch)
    assert sentence.startswith("branch (test_functions.py, line ") and "in Python" in sentence
