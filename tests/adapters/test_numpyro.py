"""from_numpyro: the densities are exact, and what is no model is refused by a sentence."""

import builtins
import functools
import importlib.metadata

import jax
import jax.numpy as jnp
import numpy as np
import pytest

numpyro = pytest.importorskip("numpyro")
import numpyro.distributions as dist  # noqa: E402
from numpyro import handlers  # noqa: E402
from numpyro.contrib.control_flow import scan  # noqa: E402
from numpyro.infer.reparam import LocScaleReparam, Reparam, TransformReparam  # noqa: E402
from numpyro.infer.util import log_density, potential_energy  # noqa: E402

from bracketz.adapters.numpyro import from_numpyro  # noqa: E402
from bracketz.core.precision import double_precision  # noqa: E402
from bracketz.errors import InputError  # noqa: E402

KEY = jax.random.key(5)
X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.random.default_rng(1).normal(size=12)


@pytest.fixture(autouse=True)
def _double():
    with double_precision():
        yield


def regression(X, y=None):
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("rows", len(X)):
        numpyro.sample("obs", dist.Normal(X @ weights, noise), obs=y)


def one(prior):
    """A model of one latent site and one number of data."""

    def model(y=None):
        numpyro.sample("y", dist.Normal(jnp.sum(numpyro.sample("x", prior)), 1.0), obs=y)

    return model


def refused(*args, **kwargs) -> str:
    with pytest.raises(InputError) as caught:
        from_numpyro(*args, **kwargs)
    sentence = str(caught.value)
    assert "\n" not in sentence and not sentence.endswith(".")
    return sentence


def agrees_with_numpyro(model, function, *args, **kwargs):
    """log_prior + log_likelihood is minus NumPyro's potential energy, at a draw and elsewhere."""
    x = model.sample_prior(KEY)
    y = model.simulate(jax.random.key(6), x)
    for shift in (0.0, 0.37):
        x = jax.tree.map(lambda v, shift=shift: v + shift, x)
        ours = model.log_prior(x) + jnp.sum(model.log_likelihood(x, y))
        theirs = -potential_energy(function, args, {**kwargs, "y": y}, x)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    return x, y


# Exactness.


def test_the_joint_density_is_numpyros():
    agrees_with_numpyro(from_numpyro(regression, X), regression, X)


def test_the_likelihood_is_one_number_per_row():
    model = from_numpyro(regression, X=X)
    x = model.sample_prior(KEY)
    value = model.constrain(x)
    rows = dist.Normal(X @ value["weights"], value["noise"]).log_prob(Y)
    np.testing.assert_allclose(model.log_likelihood(x, Y), rows, rtol=1e-12)


@pytest.mark.parametrize(
    "prior",
    [
        dist.HalfNormal(2.0),
        dist.Beta(2.5, 1.5),
        dist.Uniform(-1.0, 3.0),
        dist.LogNormal(0.3, 0.7),
        dist.StudentT(4.0, 1.0, 2.0),
        dist.TruncatedNormal(0.5, 1.0, low=0.0),
    ],
    ids=lambda d: type(d).__name__,
)
def test_a_prior_integrates_to_one(prior):
    model = from_numpyro(one(prior))
    grid = np.linspace(-60.0, 60.0, 60_001)
    density = jnp.exp(jax.vmap(lambda u: model.log_prior({"x": u}))(grid))
    np.testing.assert_allclose(np.trapezoid(density, grid), 1.0, atol=2e-5)


def test_a_prior_whose_bound_is_a_latent_integrates_to_one():
    def model(y=None):
        top = numpyro.sample("top", dist.Gamma(3.0, 1.0))
        x = numpyro.sample("x", dist.Uniform(0.0, top))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    bracketed = from_numpyro(model)
    top = np.linspace(-8.0, 5.0, 301)
    x = np.linspace(-30.0, 30.0, 601)
    at = jax.vmap(
        jax.vmap(lambda a, b: bracketed.log_prior({"top": a, "x": b}), (None, 0)), (0, None)
    )
    density = np.exp(at(top, x))
    np.testing.assert_allclose(np.trapezoid(np.trapezoid(density, x), top), 1.0, atol=1e-5)
    agrees_with_numpyro(bracketed, model)
    values = {"top": jnp.array(2.0), "x": jnp.array(1.9)}
    state = bracketed.unconstrain(values)
    np.testing.assert_allclose(state["x"], np.log(1.9 / 0.1), rtol=1e-9)


@pytest.mark.parametrize(
    ("prior", "size"),
    [
        (dist.Dirichlet(jnp.array([2.0, 1.0, 3.0])), 2),
        (dist.LKJCholesky(3, 2.0), 3),
        (
            dist.TransformedDistribution(
                dist.Normal(0, 1).expand([3]).to_event(1), dist.transforms.OrderedTransform()
            ),
            3,
        ),
    ],
    ids=["simplex", "correlation", "ordered"],
)
def test_structured_supports(prior, size):
    """With q a Gaussian fitted to draws, E_q[p/q] = 1; 4 standard errors, fixed key."""
    model = from_numpyro(one(prior))
    states = jax.vmap(model.sample_prior)(jax.random.split(KEY, 4000))["x"]
    assert states.shape == (4000, size)
    fit = dist.MultivariateStudentT(
        5.0, states.mean(0), 1.2 * np.linalg.cholesky(np.cov(states, rowvar=False))
    )
    draws = fit.sample(jax.random.key(9), (40_000,))
    weights = np.exp(jax.vmap(lambda u: model.log_prior({"x": u}))(draws) - fit.log_prob(draws))
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(weights))
    value = model.constrain({"x": states[0]})
    np.testing.assert_allclose(model.unconstrain(value)["x"], states[0], atol=1e-6)


def test_evidence_of_linear_regression_by_importance_sampling():
    """log mean p(y | x) over prior draws is the closed form; 4 standard errors, fixed key."""

    def linear(X, y=None):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
        with numpyro.plate("rows", len(X)):
            numpyro.sample("y", dist.Normal(X @ w, 1.5), obs=y)

    model = from_numpyro(linear, X)
    terms = jax.jit(jax.vmap(lambda key: jnp.sum(model.log_likelihood(model.sample_prior(key), Y))))
    log_weights = np.asarray(terms(jax.random.split(KEY, 20_000)))
    exact = dist.MultivariateNormal(0.0, X @ X.T + 2.25 * np.eye(12)).log_prob(Y)
    weights = np.exp(log_weights - exact)
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(weights))


def test_constrain_and_unconstrain_are_inverse():
    model = from_numpyro(regression, X)
    values = {"weights": jnp.array([0.3, -2.0]), "noise": jnp.array(0.25)}
    back = model.constrain(model.unconstrain(values))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), back, values)
    with pytest.raises(InputError, match="no `noise`"):
        model.unconstrain({"weights": jnp.zeros(2)})


# Arguments and data.


def test_arrays_are_traced_and_the_rest_is_static():
    model, other = from_numpyro(regression, X), from_numpyro(regression, X + 1)
    assert jax.tree.structure(model) == jax.tree.structure(other)
    hash(jax.tree.structure(model))
    traced = []

    @jax.jit
    def density(model, x):
        traced.append(1)
        return jnp.sum(model.log_likelihood(x, Y))

    x = model.sample_prior(KEY)
    assert density(model, x) != density(other, x) and len(traced) == 1


def test_a_constant_counts_with_its_type():
    def model(n, y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(x, 2.0 if isinstance(n, bool) else 1.0), obs=y)

    a, b = from_numpyro(model, 1), from_numpyro(model, True)
    assert jax.tree.structure(a) != jax.tree.structure(b)


def test_float32_covariates_do_not_spoil_double_precision():
    with jax.enable_x64(False):
        model = from_numpyro(regression, jnp.asarray(X))
    assert model.arrays[0].dtype == np.float64


def test_data_given_at_construction_are_found_and_are_not_echoed():
    model = from_numpyro(regression, X, Y)
    np.testing.assert_array_equal(model.own_data, Y)
    x = model.sample_prior(KEY)
    drawn = jax.jit(model.simulate)(KEY, x)
    assert drawn.shape == (12,) and not np.any(drawn == Y)
    np.testing.assert_allclose(  # other data through the same model
        model.log_likelihood(x, drawn), from_numpyro(regression, X).log_likelihood(x, drawn)
    )


def test_simulated_data_follow_the_likelihood():
    """The mean and the spread of 4000 draws given one state; 4.5 standard errors."""
    model = from_numpyro(regression, X)
    x = model.sample_prior(KEY)
    value = model.constrain(x)
    draws = jax.vmap(lambda key: model.simulate(key, x))(jax.random.split(KEY, 4000))
    z = (draws - X @ value["weights"]) / value["noise"]
    assert np.max(np.abs(z.mean(0))) < 4.5 / np.sqrt(4000)
    assert np.max(np.abs((z**2).mean(0) - 1)) < 4.5 * np.sqrt(2 / 4000)
    assert abs(np.mean(z[:, 0] * z[:, 1])) < 4.5 / np.sqrt(4000)


def test_prior_draws_follow_the_prior():
    model = from_numpyro(regression, X)
    draws = jax.vmap(lambda k: model.constrain(model.sample_prior(k)))(jax.random.split(KEY, 4000))
    assert np.max(np.abs(draws["weights"].mean(0))) < 4.5 / np.sqrt(4000)
    assert abs((draws["noise"] ** 2).mean() - 1) < 4.5 * np.sqrt(2 / 4000)
    assert abs(np.mean(draws["weights"][:, 0] * draws["weights"][:, 1])) < 4.5 / np.sqrt(4000)


def test_the_argument_may_have_another_name_than_the_site():
    def model(first=None, counts=None, label=None):
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        numpyro.sample("a", dist.Poisson(rate).expand([3]), obs=first)
        numpyro.sample("b", dist.Poisson(2 * rate).expand([4]), obs=counts)

    found = from_numpyro(model)
    assert [site.name for site in found.program.observed] == ["a", "b"]
    x = found.sample_prior(KEY)
    y = found.simulate(KEY, x)
    assert y["a"].shape == (3,) and y["b"].shape == (4,)
    assert found.log_likelihood(x, y).shape == ()  # no leading axis in common
    with pytest.raises(InputError, match="a dict with the arrays `a`, `b`"):
        found.log_likelihood(x, y["a"])


def test_a_site_that_nothing_observes_is_latent_wherever_it_stands():
    def model(y=None):
        m = numpyro.sample("m", dist.Normal(0, 1))
        numpyro.sample("obs", dist.Normal(m, 1.0).expand([5]), obs=y)
        numpyro.sample("next", dist.Normal(m, 1.0))

    found = from_numpyro(model)
    assert found.program.latents == ("m", "next") and found.program.observed[0].shape == (5,)


def test_an_optional_argument_of_a_latents_name_is_not_data():
    def model(noise=None, target=None):
        noise = numpyro.sample("noise", dist.HalfNormal(1.0)) if noise is None else noise
        numpyro.sample("obs", dist.Normal(0, noise).expand([3]), obs=target)

    assert [site.name for site in from_numpyro(model).program.observed] == ["obs"]


def test_sites_that_share_their_leading_axis_are_added_row_by_row():
    def model(y=None, z=None):
        m = numpyro.sample("m", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(m, 1).expand([4]), obs=y)
        numpyro.sample("z", dist.Normal(m, 1).expand([4, 2]), obs=z)

    found = from_numpyro(model)
    x = found.sample_prior(KEY)
    y = found.simulate(KEY, x)
    normal = dist.Normal(x["m"], 1)
    expected = normal.log_prob(y["y"]) + normal.log_prob(y["z"]).sum(1)
    np.testing.assert_allclose(found.log_likelihood(x, y), expected)


def test_observed_by_name():
    def model():
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("out", dist.Normal(x, 1.0))

    assert "no site of model is data" in refused(model)
    assert from_numpyro(model, observed="out").simulate(KEY, {"x": 0.0}).shape == ()
    assert "did you mean 'out'?" in refused(model, observed="oit")
    assert "no latent site" in refused(model, observed=("x", "out"))
    assert "leaves out `obs`" in refused(regression, X, Y, observed="weights")


def test_data_of_another_shape_are_refused():
    model = from_numpyro(regression, X)
    x = model.sample_prior(KEY)
    with pytest.raises(InputError, match=r"shape \(12, 1\), and the function draws \(12,\)"):
        model.log_likelihood(x, Y[:, None])
    with pytest.raises(InputError, match="needs data, got None"):
        model.log_likelihood(x, None)
    assert "have shape (12, 1) and its distribution (12,)" in refused(one_row, Y[:, None], X)


def one_row(y, X):
    numpyro.sample(
        "obs", dist.Normal(X @ numpyro.sample("w", dist.Normal(0, 1).expand([2])), 1), obs=y
    )


def test_data_larger_than_the_distribution_are_independent_draws():
    """Without a plate NumPyro's log_prob broadcasts; simulated data must have that shape too."""

    def model(y):
        numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal(0, 1)), 1.0), obs=y)

    found = from_numpyro(model, Y)
    drawn = found.simulate(KEY, {"m": 0.0})
    assert drawn.shape == (12,) and len(set(np.asarray(drawn).tolist())) == 12


def test_data_used_elsewhere_too_are_refused():
    def lagged(y):
        a = numpyro.sample("a", dist.Normal(0, 0.5))
        numpyro.sample("y", dist.Normal(a * y[:-1], 1.0), obs=y[1:])

    assert "uses its argument `y` as data and elsewhere" in refused(lagged, Y)
    assert "lagged does not run where an argument is None" in refused(lagged, y=None)

    def conditioned(y):  # as in NumPyro's own example, which begins with the first of the data
        a = numpyro.sample("a", dist.Normal(0, 0.5))

        def step(before, _):
            now = numpyro.sample("y", dist.Normal(a * before, 1.0))
            return now, None

        with handlers.condition(data={"y": y[1:]}):
            scan(step, y[0], jnp.arange(len(y) - 1))

    assert "first values as arguments of their own" in refused(conditioned, Y)

    def sized(y):  # a shape is no value
        m = numpyro.sample("m", dist.Normal(0, 1))
        with numpyro.plate("rows", y.shape[0]):
            numpyro.sample("y", dist.Normal(m, 1.0), obs=y)

    assert from_numpyro(sized, Y).simulate(KEY, {"m": 0.0}).shape == (12,)


def ar2(length, y=None):
    a = numpyro.sample("a", dist.Normal(0, 0.3).expand([2]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))

    def step(carry, now):
        now = numpyro.sample("y", dist.Normal(a[0] * carry[0] + a[1] * carry[1], noise), obs=now)
        return (now, carry[0]), None

    scan(step, (0.0, 0.0), y, length=length)


@pytest.mark.parametrize(
    "y", [None, np.random.default_rng(2).normal(size=9)], ids=["none", "given"]
)
def test_an_autoregression_by_scan(y):
    model = from_numpyro(ar2, 9, y)
    x, drawn = agrees_with_numpyro(from_numpyro(ar2, 9), ar2, 9)
    a, noise = model.constrain(x)["a"], model.constrain(x)["noise"]
    before = np.concatenate([[0.0, 0.0], drawn])
    mean = a[0] * before[1:-1] + a[1] * before[:-2]
    rows = dist.Normal(mean, noise).log_prob(drawn)
    np.testing.assert_allclose(model.log_likelihood(x, drawn), rows, rtol=1e-10)
    if y is not None:  # inside a scan, un-conditioning would echo
        assert not np.any(model.simulate(KEY, x) == y)
    path = np.concatenate([[0.0, 0.0], model.simulate(KEY, x)])
    # Each step goes on from the step drawn before, with a draw of its own.
    noises = (path[2:] - a[0] * path[1:-1] - a[1] * path[:-2]) / noise
    assert np.min(np.diff(np.sort(noises))) > 1e-6 and np.max(np.abs(noises)) < 5


def test_latent_sites_inside_a_scan():
    def walk(y=None):
        def step(level, now):
            level = numpyro.sample("level", dist.Normal(level, 1.0))
            rate = numpyro.sample("rate", dist.Uniform(0.0, 1.0 + level**2))
            numpyro.sample("y", dist.Normal(level, 1.0 + rate), obs=now)
            return level, None

        scan(step, 0.0, y, length=5)

    model = from_numpyro(walk)
    x, _ = agrees_with_numpyro(model, walk)
    assert x["level"].shape == x["rate"].shape == (5,)
    values = model.constrain(x)
    back = model.unconstrain(values)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), back, x)


def test_a_function_that_is_seeded_already_still_draws():
    model = from_numpyro(handlers.seed(regression, 0), X)
    a, b = (model.sample_prior(jax.random.key(i)) for i in (0, 1))
    assert not np.any(a["weights"] == b["weights"])


# What belongs to the prior.


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def test_reparameterised_sites_are_latent():
    function = handlers.reparam(schools, config={"theta": LocScaleReparam(0)})
    model = from_numpyro(function, np.ones(4))
    assert model.program.latents == ("mu", "tau", "theta_decentered")
    agrees_with_numpyro(model, function, np.ones(4))

    def scaled(y=None):
        with handlers.reparam(config={"x": TransformReparam()}):
            affine = dist.transforms.AffineTransform(2.0, 3.0)
            x = numpyro.sample("x", dist.TransformedDistribution(dist.Normal(0, 1), affine))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert from_numpyro(scaled).program.latents == ("x_base",)


class ByFactor(Reparam):
    """x = 2 + 3 z with the density of x kept as an observed site and its Jacobian as a factor:
    right as a prior if z's own density is masked."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, name, fn, obs):
        z = numpyro.sample(f"{name}_z", dist.Normal(0, 1).mask(False))
        numpyro.factor(f"{name}_jacobian", jnp.log(3.0))
        return fn, 2.0 + self.scale * z


def injected(scale):
    def model(y=None):
        with handlers.reparam(config={"x": ByFactor(scale)}):
            x = numpyro.sample("x", dist.Normal(2.0, 3.0))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    return model


@pytest.mark.parametrize("wrong", [{"observed": "z"}, {"factors": {"z": "prior"}}], ids=str)
def test_a_site_that_is_not_there(wrong):
    def model(y=None):
        numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal()), 1.0), obs=y)

    assert refused(model, **wrong) == "unknown site 'z'; choose from x, y"


def test_injected_densities_belong_to_the_prior():
    """They are observed, and no data."""
    declared = {"x": "prior", "x_jacobian": "prior"}
    assert "observed at a value other sites give" in refused(
        injected(3.0), factors={"x_jacobian": "prior"}
    )
    model = from_numpyro(injected(3.0), factors=declared)
    assert [site.name for site in model.program.observed] == ["y"]
    expected = dist.Normal(0, 1).log_prob(0.4)
    np.testing.assert_allclose(model.log_prior({"x_z": jnp.array(0.4)}), expected, rtol=1e-12)
    # Draws that do not follow the density they are declared to have.
    assert "do not follow it" in refused(injected(2.0), factors=declared)


def test_draws_without_a_density_are_refused():
    class Halved(dist.Normal):
        def log_prob(self, value):
            return jnp.where(value > 0, super().log_prob(value), -jnp.inf)

    def model(y=None):
        numpyro.sample("y", dist.Normal(numpyro.sample("x", Halved(0, 1)), 1.0), obs=y)

    assert "the prior of model has no finite density at" in refused(model)


def test_factors_are_refused_or_declared():
    def model(y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.factor("penalty", -(x**2))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "the factor `penalty` of model is neither" in refused(model)
    assert "do not follow it" in refused(model, factors={"penalty": "prior"})
    assert "did you mean 'likelihood'?" in refused(model, factors={"penalty": "liklihood"})
    assert "did you mean 'penalty'?" in refused(
        model, factors={"penalty": "likelihood", "penlty": "prior"}
    )
    assert "an ordinary site" in refused(model, factors={"penalty": "likelihood", "x": "prior"})
    assert "`penalty` is a factor of model, not data" in refused(
        model, factors={"penalty": "likelihood"}, observed=("y", "penalty")
    )
    declared = from_numpyro(model, factors={"penalty": "likelihood"})
    x = {"x": jnp.array(0.3)}
    total = declared.log_prior(x) + jnp.sum(declared.log_likelihood(x, 1.0))
    np.testing.assert_allclose(total, log_density(model, (1.0,), {}, x)[0], rtol=1e-12)
    with pytest.raises(InputError, match="its factor `penalty` is a density without draws"):
        declared.simulate(KEY, x)


def test_a_likelihood_that_is_a_factor_alone():
    def model(data):
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.factor("ll", dist.Normal(x, 1.0).log_prob(data))

    found = from_numpyro(model, Y, factors={"ll": "likelihood"})
    assert found.log_likelihood({"x": 0.0}, {}).shape == (12,)


def test_scales():
    def model(y=None, power=1.0):
        x = numpyro.sample("x", dist.Normal(0, 1))
        with handlers.scale(scale=power):
            numpyro.sample("y", dist.Normal(x, 1.0).expand([3]), obs=y)

    assert "a scale is a power of the likelihood" in refused(model, power=0.5)
    declared = from_numpyro(model, power=0.5, factors={"y": "likelihood"})
    plain = from_numpyro(model)
    x, y = {"x": jnp.array(0.3)}, np.ones(3)
    np.testing.assert_allclose(
        declared.log_likelihood(x, y), 0.5 * plain.log_likelihood(x, y), rtol=1e-12
    )
    with pytest.raises(InputError, match="its site `y` is scaled"):
        declared.simulate(KEY, x)

    def prior(y=None):
        with handlers.scale(scale=0.5):
            x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "a power of a prior does not integrate to 1" in refused(prior)


def test_masks():
    keep = np.array([True, False, True])

    def model(y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        with handlers.mask(mask=keep):
            numpyro.sample("y", dist.Normal(x, 1.0).expand([3]), obs=y)

    terms = from_numpyro(model).log_likelihood({"x": 0.5}, np.array([1.0, np.nan, 2.0]))
    expected = np.where(keep, dist.Normal(0.5, 1.0).log_prob(np.array([1.0, 0.0, 2.0])), 0.0)
    np.testing.assert_allclose(terms, expected)

    def prior(y=None):
        with handlers.mask(mask=keep):
            x = numpyro.sample("x", dist.Normal(0, 1).expand([3]))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "the latent site `x` of prior is masked" in refused(prior)


# What is no model.


def test_improper_priors_are_refused():
    flat = dist.ImproperUniform(dist.constraints.positive, (), ())
    assert "the prior of `x` in model is improper" in refused(one(flat))
    assert "improper" in refused(one(flat.expand([2]).to_event(1)))
    assert "is a point mass" in refused(one(dist.Delta(1.0)))
    assert "lie on the edge of its support" in refused(one(dist.Gamma(1e-3, 1e-3)))


def test_params_and_subsampled_plates_are_refused():
    def learnt(y=None):
        scale = numpyro.param("scale", 1.0)
        numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0, scale)), 1.0), obs=y)

    assert "has the parameter `scale`" in refused(learnt)

    def batches(y):
        x = numpyro.sample("x", dist.Normal(0, 1))
        with numpyro.plate("rows", 12, subsample_size=4) as rows:
            numpyro.sample("y", dist.Normal(x, 1.0), obs=y[rows])

    assert "the plate `rows` of batches takes 4 of 12" in refused(batches, Y)


def mixture(n, y=None):
    weight = numpyro.sample("weight", dist.Beta(2.0, 2.0))
    means = numpyro.sample("means", dist.Normal(0, 3).expand([2]).to_event(1))
    with numpyro.plate("rows", n):
        z = numpyro.sample("z", dist.Bernoulli(weight))
        numpyro.sample("y", dist.Normal(means[z], 1.0), obs=y)


def test_discrete_latents():
    assert "the site `z` of mixture is discrete" in refused(mixture, 6)
    kept = from_numpyro(mixture, 6, kernel=lambda model, y, powers: (model, y, powers))
    x = kept.sample_prior(KEY)
    assert jnp.issubdtype(x["z"].dtype, jnp.integer) and kept.kernel(1, 2) == (kept, 1, 2)
    value = kept.constrain(x)
    np.testing.assert_array_equal(value["z"], x["z"])
    y = kept.simulate(KEY, x)
    np.testing.assert_allclose(
        kept.log_likelihood(x, y), dist.Normal(value["means"][x["z"]], 1.0).log_prob(y)
    )


def test_discrete_latents_summed_out():
    pytest.importorskip("funsor")
    model = from_numpyro(mixture, 6, enumerate=True)
    assert model.program.latents == ("weight", "means")
    x = model.sample_prior(KEY)
    y = jax.jit(model.simulate)(KEY, x)
    value = model.constrain(x)
    parts = dist.Normal(value["means"], 1.0).log_prob(y[:, None])
    mixed = jnp.logaddexp(
        jnp.log1p(-value["weight"]) + parts[:, 0], jnp.log(value["weight"]) + parts[:, 1]
    )
    for compute in (model.log_likelihood, jax.jit(model.log_likelihood)):
        np.testing.assert_allclose(compute(x, y), mixed.sum(), rtol=1e-10)

    def endless(y=None):
        n = numpyro.sample("n", dist.Poisson(numpyro.sample("rate", dist.Gamma(2.0, 1.0))))
        numpyro.sample("y", dist.Normal(n, 1.0), obs=y)

    assert "no finite list of values" in refused(endless, enumerate=True)

    def above(y=None):
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        x = numpyro.sample("x", dist.Normal(jnp.where(z == 1, 3.0, -3.0), 1.0))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "depends on the summed out site `z`" in refused(above, enumerate=True)


def test_a_hidden_markov_chain_summed_out():
    """Against the sum over all 2^4 paths."""
    pytest.importorskip("funsor")
    stay = jnp.array([[0.8, 0.2], [0.3, 0.7]])

    def chain(y=None):
        means = numpyro.sample("means", dist.Normal(0, 3).expand([2]).to_event(1))

        def step(z, now):
            z = numpyro.sample("z", dist.Categorical(stay[z]))
            numpyro.sample("y", dist.Normal(means[z], 1.0), obs=now)
            return z, None

        scan(step, 0, y, length=4)

    model = from_numpyro(chain, enumerate=True)
    x = model.sample_prior(KEY)
    y = np.asarray(model.simulate(KEY, x))
    total = 0.0
    for path in np.ndindex(2, 2, 2, 2):
        moves = np.prod([stay[a, b] for a, b in zip((0, *path), path, strict=False)])
        total += moves * np.exp(dist.Normal(x["means"][jnp.array(path)], 1.0).log_prob(y).sum())
    np.testing.assert_allclose(model.log_likelihood(x, y), np.log(total), rtol=1e-8)


def test_a_latent_that_depends_on_data_is_refused():
    def model(y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        now = numpyro.sample("y", dist.Normal(x, 1.0), obs=y)
        numpyro.sample("later", dist.Normal(now, 1.0))

    assert "depends on the observed site `y`" in refused(model)


def test_sites_that_come_and_go_are_refused():
    runs = []

    def model(y=None):
        runs.append(1)
        x = numpyro.sample("x", dist.Normal(0, 1))
        if len(runs) % 2:
            numpyro.sample("sometimes", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "differ from run to run (`sometimes`)" in refused(model)

    def growing(y=None):
        runs.append(1)
        x = numpyro.sample("x", dist.Normal(0, 1).expand([len(runs)]))
        numpyro.sample("y", dist.Normal(jnp.sum(x), 1.0), obs=y)

    assert "differ from run to run (`x`)" in refused(growing)
    steady = []

    def later(y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        if steady:
            numpyro.sample("sometimes", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    found = from_numpyro(later)
    steady.append(1)
    with pytest.raises(InputError, match="differ from run to run"):
        found.log_prior({"x": 0.0})


def test_substituted_values_and_tuples_are_refused():
    fixed = handlers.substitute(regression, data={"noise": 1.0})
    assert "has a value without being observed" in refused(fixed, X)
    assert "one site has one array" in refused(one(dist.Normal(0, 1)), y=(1.0, 2.0))


def test_no_latent_sites():
    def model(y=None):
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y)

    assert "model has no latent site" in refused(model)


# Words for what JAX and Python say.


def test_errors_of_the_function_are_sentences():
    def sized_by_values(group, y=None):
        level = numpyro.sample("level", dist.Normal(0, 1).expand([int(group.max()) + 1]))
        numpyro.sample("y", dist.Normal(level[group], 1.0), obs=y)

    sentence = refused(sized_by_values, np.array([0, 1, 1]))
    assert sentence.startswith("sized_by_values (test_numpyro.py, line ")
    assert "plain whole numbers" in sentence

    def branches(y=None):
        x = numpyro.sample("x", dist.Normal(0, 1))
        scale = 1.0 if x > 0 else 2.0
        numpyro.sample("y", dist.Normal(x, scale), obs=y)

    assert "decides something in Python" in refused(branches)

    def mismatched(X, y=None):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([5]))
        numpyro.sample("y", dist.Normal(X @ w, 1.0), obs=y)

    assert "shapes that do not fit" in refused(mismatched, X)
    assert "mismatched needs `X`" in refused(mismatched)
    assert "cannot be called like this" in refused(mismatched, X, colour=1)

    def twice(y=None):
        numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("x", dist.Normal(0, 1))

    assert "unique names" in refused(twice)
    assert "takes a model function" in refused(3)


def test_arguments_that_cannot_be_kept_are_refused():
    def model(table, y=None):
        numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0, 1)), 1.0), obs=y)

    pandas = pytest.importorskip("pandas")
    assert "is a DataFrame" in refused(model, pandas.DataFrame({"a": [1.0]}))
    assert "code words as whole numbers" in refused(model, np.array(["a", "b"]))

    def clash(kernel, y=None):
        x = numpyro.sample("x", dist.Normal(0, kernel))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y)

    assert "which from_numpyro has too" in refused(clash)
    assert from_numpyro(functools.partial(clash, kernel=2.0)).label == "clash"


def test_numpyro_missing_or_old(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(importlib.metadata, "version", lambda name: "0.20.1")
        assert "0.21 or newer, and 0.20.1 is installed" in refused(regression, X)
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == "numpyro":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", absent)
    assert 'pip install "bracketz[numpyro]"' in refused(regression, X)
