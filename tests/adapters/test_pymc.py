"""PyMC models: densities are PyMC's, draws follow them, and what has no evidence is refused."""

import importlib.util
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bracketz.errors import InputError

pm = pytest.importorskip("pymc")
pytestmark = pytest.mark.filterwarnings("ignore")

import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402

from bracketz.adapters.pymc import from_pymc  # noqa: E402

ROWS = 12
X = np.random.default_rng(0).normal(size=(ROWS, 2))
QUICK = Mode("py", "fast_compile")


def conjugate():
    """Known noise: the log evidence of y is that of Normal(0, 1 + X X')."""
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0.0, 1.0, shape=2)
        pm.Normal("y", X @ slopes, 1.0, observed=np.zeros(ROWS))
    return model


def regression():
    """Transforms, a bound that is random, data containers, coordinates, a deterministic."""
    with pm.Model(coords={"column": ["a", "b"], "group": ["u", "v", "w"]}) as model:
        x = pm.Data("x", X)
        group = pm.Data("which", np.arange(ROWS) % 3)
        y = pm.Data("data", np.linspace(-1, 1, ROWS))
        top = pm.Gamma("top", 2.0, 1.0)
        scale = pm.Uniform("scale", 0.0, top)
        slopes = pm.StudentT("slopes", 4.0, mu=0.0, sigma=1.0, dims="column")
        offset = pm.Normal("offset", 0.0, scale, dims="group")
        weights = pm.Dirichlet("weights", np.array([1.0, 2.0, 3.0]))
        mean = pm.Deterministic("mean", x @ slopes + offset[group] + weights[0])
        pm.Normal("y", mean, scale, observed=y)
    return model


def covariance():
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov(
            "chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=3)
        )
        pm.MvNormal("y", pt.zeros(3), chol=chol, observed=np.ones((ROWS, 3)))
    return model


def two_outcomes():
    with pm.Model() as model:
        rate = pm.HalfCauchy("rate", 1.0)
        chance = pm.Beta("chance", 2.0, 2.0)
        pm.Poisson("count", rate, observed=np.arange(ROWS) % 4)
        pm.Bernoulli("flag", chance, observed=np.arange(5) % 2)
    return model


def series():
    with pm.Model() as model:
        rho = pm.Normal("rho", 0.0, 0.3, shape=2)
        scale = pm.HalfNormal("scale", 1.0)
        level = pm.GaussianRandomWalk(
            "level", mu=0.0, sigma=scale, init_dist=pm.Normal.dist(0.0, 1.0), steps=3
        )
        start = pm.Normal.dist(level[-1], 1.0, shape=2)
        pm.AR("y", rho, sigma=scale, init_dist=start, observed=np.linspace(0, 1, ROWS))
    return model


def mixture():
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(2))
        means = pm.Normal("means", 0.0, 3.0, shape=2)
        pm.NormalMixture("y", weights, means, 1.0, observed=np.linspace(-2, 2, ROWS))
    return model


def censored():
    with pm.Model() as model:
        mean = pm.Normal("mean", 0.0, 1.0)
        latent = pm.Normal.dist(mean, 1.0)
        pm.Censored(
            "y", latent, lower=-1.0, upper=1.0, observed=np.clip(np.linspace(-2, 2, ROWS), -1, 1)
        )
    return model


MODELS = {
    function.__name__: function
    for function in (
        conjugate,
        regression,
        covariance,
        two_outcomes,
        series,
        mixture,
        censored,
    )
}


@pytest.fixture(scope="module")
def built():
    """Each model once: as PyMC has it, and as bracketz does."""
    made = {}

    def build(name):
        if name not in made:
            theirs = MODELS[name]()
            made[name] = theirs, from_pymc(theirs)
        return made[name]

    return build


def point(theirs, x):
    """A state under PyMC's names."""
    return {theirs.rvs_to_values[rv].name: np.asarray(x[rv.name]) for rv in theirs.free_RVs}


@pytest.mark.parametrize("name", MODELS)
def test_densities_are_those_of_pymc(built, name):
    """At prior draws, and at points that are not."""
    theirs, ours = built(name)
    log_joint = theirs.compile_logp(mode=QUICK)
    prior = theirs.compile_fn(theirs.varlogp, mode=QUICK)
    joint = jax.jit(lambda x, y: (ours.log_prior(x), ours.log_likelihood(x, y)))
    generator = np.random.default_rng(1)
    constant = None
    for i in range(6):
        x = ours.sample_prior(jax.random.key(i))
        if i % 2:
            x = jax.tree.map(lambda a: generator.normal(size=a.shape), x)
        log_prior, terms = joint(x, ours.observed)
        at = point(theirs, x)
        if constant is None:  # PyMC does not normalise LKJ: see the test of prior draws
            constant = log_prior - prior(at) if name == "covariance" else 0.0
        np.testing.assert_allclose(log_prior - constant, prior(at), rtol=1e-9, atol=1e-9)
        joint_found = log_prior + terms.sum() - constant
        np.testing.assert_allclose(joint_found, log_joint(at), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_likelihood_is_by_row_where_it_can_be(built, name):
    _, ours = built(name)
    x = ours.sample_prior(jax.random.key(0))
    terms = ours.log_likelihood(x, ours.observed)
    assert terms.shape == (() if name in ("two_outcomes", "series") else (ROWS,))
    assert terms.dtype == np.float64


@pytest.mark.parametrize("name", MODELS)
def test_constrain_and_back(built, name):
    theirs, ours = built(name)
    x = ours.sample_prior(jax.random.key(3))
    assert list(x) == [rv.name for rv in theirs.free_RVs]
    values = ours.constrain(x)
    for key, again in ours.unconstrain(values).items():
        np.testing.assert_allclose(again, x[key], rtol=1e-9, atol=1e-9)


def test_the_data_are_an_input(built):
    """Also where the same container is a covariate: the covariate stays."""
    _, ours = built("conjugate")
    x = ours.sample_prior(jax.random.key(0))
    y = np.random.default_rng(2).normal(size=ROWS)
    right = stats.norm.logpdf(y, X @ np.asarray(x["slopes"]), 1.0)
    np.testing.assert_allclose(ours.log_likelihood(x, y), right, rtol=1e-12)

    seen = np.linspace(0, 1, ROWS)
    with pm.Model() as model:
        data = pm.Data("data", seen)
        slope = pm.Normal("slope")
        pm.Normal("y", slope * data, 1.0, observed=data)
    found = from_pymc(model).log_likelihood({"slope": 2.0}, y)
    np.testing.assert_allclose(found, stats.norm.logpdf(y, 2.0 * seen, 1.0), rtol=1e-12)


def test_values_of_data_containers_are_traced(built):
    _, ours = built("regression")
    assert set(ours.data) >= {"x"} and "which" not in ours.data
    x = ours.sample_prior(jax.random.key(0))
    double = jax.tree_util.tree_map(lambda a: a, ours)
    object.__setattr__(double, "data", {**ours.data, "x": 2 * X})
    values = ours.constrain(x)
    group = np.arange(ROWS) % 3
    mean = 2 * X @ values["slopes"] + values["offset"][group] + values["weights"][0]
    right = stats.norm.logpdf(ours.observed, mean, values["scale"])
    found = jax.jit(lambda model: model.log_likelihood(x, model.observed))(double)
    np.testing.assert_allclose(found, right, rtol=1e-9)


@pytest.mark.parametrize(
    "prior",
    [
        lambda: pm.HalfCauchy("x", 2.0),
        lambda: pm.Uniform("x", -1.0, 3.0),
        lambda: pm.Beta("x", 2.0, 3.0),
        lambda: pm.InverseGamma("x", 3.0, 2.0),
        lambda: pm.Truncated("x", pm.Normal.dist(0.0, 1.0), lower=0.5, upper=2.0),
        lambda: pm.Dirichlet("x", np.array([2.0, 3.0])),
        lambda: pm.ZeroSumNormal("x", 1.5, shape=2),
    ],
    ids=["half-cauchy", "uniform", "beta", "inverse-gamma", "truncated", "dirichlet", "zero-sum"],
)
def test_the_prior_integrates_to_one(prior):
    """On the unconstrained line: the Jacobian is in it, once."""
    with pm.Model() as model:
        x = prior()
        pm.Normal("y", x.sum(), 1.0, observed=0.0)
    ours = from_pymc(model)
    shape = jax.eval_shape(ours.sample_prior, jax.random.key(0))["x"].shape
    grid = np.linspace(-60.0, 60.0, 120_001)
    values = jax.jit(jax.vmap(lambda u: ours.log_prior({"x": u.reshape(shape)})))(grid)
    np.testing.assert_allclose(np.trapezoid(np.exp(values), grid), 1.0, atol=1e-6)


def test_prior_draws_follow_the_prior(built):
    """E[g(x) / p(x)] = 1 under p, for a density g inside it; false alarms: one in 10,000."""
    _, ours = built("covariance")
    keys = jax.random.split(jax.random.key(0), 4000)
    xs = jax.jit(jax.vmap(ours.sample_prior))(keys)
    log_prior = jax.jit(jax.vmap(ours.log_prior))(xs)
    u = np.asarray(xs["chol"])
    normal = stats.multivariate_normal(u.mean(0), 0.25 * np.cov(u.T))
    ratio = np.exp(normal.logpdf(u) - log_prior)
    error = ratio.std() / np.sqrt(len(ratio))
    assert abs(ratio.mean() - 1) < 3.9 * error and error < 0.1


def test_the_evidence_of_a_conjugate_model(built):
    """By importance sampling from the prior; false alarms: one in 10,000."""
    _, ours = built("conjugate")
    y = ours.simulate(jax.random.key(7), ours.sample_prior(jax.random.key(8)))
    right = stats.multivariate_normal(np.zeros(ROWS), np.eye(ROWS) + X @ X.T).logpdf(y)
    xs = jax.jit(jax.vmap(ours.sample_prior))(jax.random.split(jax.random.key(9), 20_000))
    log_weights = jax.jit(jax.vmap(lambda x: ours.log_likelihood(x, y).sum()))(xs)
    weights = np.exp(log_weights - right)
    error = weights.std() / np.sqrt(len(weights))
    assert abs(weights.mean() - 1) < 3.9 * error and error < 0.1


@pytest.mark.parametrize("name", ["regression", "two_outcomes", "series", "censored"])
def test_simulated_data_are_pymcs_prior_predictive(built, name):
    """Two samples of 600, several summaries; false alarms: one in 1,000 each."""
    theirs, ours = built(name)
    pair = jax.jit(jax.vmap(lambda a, b: ours.simulate(b, ours.sample_prior(a))))(
        *(jax.random.split(jax.random.key(i), 600) for i in (0, 1))
    )
    with theirs:
        drawn = pm.draw(list(theirs.observed_RVs), draws=600, random_seed=5, mode=QUICK)
    found = pair if isinstance(pair, dict) else {theirs.observed_RVs[0].name: pair}
    for rv, right in zip(theirs.observed_RVs, drawn, strict=True):
        left, right = np.asarray(found[rv.name]), np.asarray(right)
        assert left.shape == right.shape
        for summary in (
            lambda a: a.mean(1),
            lambda a: a[:, 0],
            lambda a: a.std(1),
            lambda a: a[:, -1] - a[:, 0],
        ):
            assert stats.ks_2samp(summary(left), summary(right)).pvalue > 1e-3


def test_draws_are_functions_of_the_key(built):
    """Alone, compiled, in a batch, in a batch of batches, on other threads, in any precision."""
    _, ours = built("two_outcomes")
    keys = jax.random.split(jax.random.key(0), 4)
    one = [ours.sample_prior(key) for key in keys]
    batch = jax.jit(jax.vmap(ours.sample_prior))(keys)
    nested = jax.vmap(jax.vmap(ours.sample_prior))(keys.reshape(2, 2))
    old = ours.sample_prior(jax.random.key_data(keys[0]))  # a key of the old kind
    for name in batch:
        alone = np.array([x[name] for x in one])
        np.testing.assert_array_equal(alone, batch[name])
        np.testing.assert_array_equal(alone, np.asarray(nested[name]).reshape(4))
        np.testing.assert_array_equal(alone[0], old[name])
        assert len(set(alone)) == 4
    y = [ours.simulate(keys[0], x) for x in one]
    many = jax.jit(jax.vmap(ours.simulate, in_axes=(None, 0)))(keys[0], batch)
    for name in many:
        assert many[name].dtype == np.int64
        np.testing.assert_array_equal(np.array([v[name] for v in y]), many[name])


def test_draws_in_single_precision_are_refused(built):
    _, ours = built("conjugate")
    with jax.enable_x64(False), pytest.raises(InputError, match="in double precision"):
        ours.sample_prior(jax.random.key(0))


def test_draws_are_exact_on_every_device(built):
    """A thread of another device knows nothing of the caller's precision."""
    _, ours = built("conjugate")
    devices = jax.devices()
    keys = jax.random.split(jax.random.key(0), 2 * len(devices))
    mesh = jax.sharding.Mesh(np.array(devices), ("chain",))
    over = jax.sharding.PartitionSpec("chain")

    def both(key):
        x = ours.sample_prior(key)
        return x["slopes"], ours.simulate(key, x)

    shared = jax.jit(
        jax.shard_map(jax.vmap(both), mesh=mesh, in_specs=over, out_specs=over, check_vma=False)
    )(keys)
    for found, right in zip(shared, jax.vmap(both)(keys), strict=True):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, right)


def test_a_censored_likelihood_has_mass_at_its_bounds(built):
    _, ours = built("censored")
    y = np.array([-1.0, 1.0, 0.3] * 4)
    found = ours.log_likelihood({"mean": 0.2}, y)[:3]
    right = [stats.norm.logcdf(-1.2), stats.norm.logsf(0.8), stats.norm.logpdf(0.1)]
    # PyMC has the square root of 2 in single precision here.
    np.testing.assert_allclose(found, right, rtol=3e-8)
    drawn = ours.simulate(jax.random.key(0), {"mean": jnp.asarray(0.2)})
    assert np.all(np.abs(drawn) <= 1)


def test_parameters_out_of_range_have_no_density():
    """As in PyMC: -inf, not a number that is none."""
    with pm.Model() as model:
        scale = pm.Normal("scale", 10.0, 1.0)
        pm.Normal("y", 0.0, scale, observed=np.zeros(3))
    found = from_pymc(model).log_likelihood({"scale": -1.0}, np.zeros(3))
    np.testing.assert_array_equal(found, -np.inf)


def test_nobodys_settings_change():
    """Neither JAX's precision nor XLA's flags nor PyTensor's: in a process of its own."""
    import subprocess

    program = (
        "import os; os.environ['XLA_FLAGS'] = ''\n"
        "import jax, numpy as np, pymc as pm, pytensor\n"
        "from bracketz.adapters.pymc import from_pymc\n"
        "before = os.environ['XLA_FLAGS'], pytensor.config.floatX, pytensor.config.linker\n"
        "with pm.Model() as model:\n"
        "    pm.Normal('y', pm.Normal('x'), 1.0, observed=np.zeros(3))\n"
        "from_pymc(model)\n"
        "after = os.environ['XLA_FLAGS'], pytensor.config.floatX, pytensor.config.linker\n"
        "assert before == after, (before, after)\n"
        "assert not jax.config.jax_enable_x64 and len(jax.devices()) < 100\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_scaled_complementary_error_function():
    from scipy.special import erfcx

    from bracketz.adapters import pymc_backend

    x = np.array([-20.0, -1.0, 0.0, 1.0, 10.0, 25.9, 26.1, 100.0, 1e8])
    np.testing.assert_allclose(pymc_backend.erfcx(x), erfcx(x), rtol=2e-13)
    slope = jax.vmap(jax.grad(pymc_backend.erfcx))(x)
    right = 2 * x * erfcx(x) - 2 / np.sqrt(np.pi)
    np.testing.assert_allclose(slope[:5], right[:5], rtol=1e-9)
    assert np.all(np.isfinite(slope))


# Potentials.


def with_potential():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("tilt", -pt.square(x))
        pm.Normal("y", x, 1.0, observed=np.zeros(3))
    return model


def test_a_potential_of_the_likelihood():
    ours = from_pymc(with_potential(), potentials={"tilt": "likelihood"})
    x = {"x": jnp.asarray(0.7)}
    np.testing.assert_allclose(ours.log_prior(x), stats.norm.logpdf(0.7), rtol=1e-12)
    right = 3 * stats.norm.logpdf(0.7) - 0.49
    np.testing.assert_allclose(ours.log_likelihood(x, np.zeros(3)), right, rtol=1e-12)
    with pytest.raises(InputError, match="no simulator, because potential `tilt`"):
        ours.simulate(jax.random.key(0), x)


def test_a_potential_of_the_prior():
    """Normal(0, 1) times exp(-x^2) is Normal(0, 1/3), but for a constant."""
    scale = np.sqrt(1 / 3)
    ours = from_pymc(
        with_potential(),
        potentials={"tilt": "prior"},
        sample_prior=lambda key: {"x": scale * jax.random.normal(key)},
    )
    key = jax.random.key(1)
    x = ours.sample_prior(key)
    np.testing.assert_allclose(x["x"], scale * jax.random.normal(key))
    right = stats.norm.logpdf(0.7) - 0.49
    np.testing.assert_allclose(ours.log_prior({"x": 0.7}), right, rtol=1e-12)
    assert ours.simulate(key, x).shape == (3,)


def test_a_likelihood_that_only_scores():
    """pm.CustomDist without ``random``: a lower bound, and a sandwich if ``simulate`` is given."""
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.CustomDist(
            "y", x, logp=lambda y, x: pm.logp(pm.Normal.dist(x, 1.0), y), observed=np.zeros(3)
        )
    ours = from_pymc(model)
    assert ours.log_likelihood({"x": 0.0}, np.zeros(3)).shape == (3,)
    with pytest.raises(InputError, match=r"pm.CustomDist without `random`"):
        ours.simulate(jax.random.key(0), {"x": jnp.asarray(0.0)})
    own = from_pymc(model, simulate=lambda key, v: v["x"] + jax.random.normal(key, (3,)))
    assert own.simulate(jax.random.key(0), {"x": jnp.asarray(0.0)}).shape == (3,)


# Refusals: each sentence is the only thing between a model and a wrong number.


def plain(x, y=None):
    pm.Normal("y", x, 1.0, observed=np.zeros(3) if y is None else y)


def undeclared_potential():
    pm.Potential("tilt", -pt.square(pm.Normal("x")))
    plain(0.0)


def discrete():
    plain(pm.Poisson("x", 2.0))


def minibatch():
    plain(pm.Normal("x"), pm.Minibatch(np.zeros(30), batch_size=3))


def minibatch_covariate():
    batch, y = pm.Minibatch(np.zeros(30), np.zeros(30), batch_size=3)
    pm.Normal("y", pm.Normal("x") * batch, 1.0, observed=y)


def total_size():
    pm.Normal("y", pm.Normal("x"), 1.0, observed=np.zeros(3), total_size=30)


def missing():
    plain(pm.Normal("x"), np.ma.masked_invalid([0.0, np.nan, 1.0]))


def missing_in_vectors():
    y = np.ma.masked_invalid([[0.0, np.nan], [1.0, 2.0]])
    pm.MvNormal("y", pm.Normal("x") * pt.ones(2), np.eye(2), observed=y)


def flat():
    plain(pm.Flat("x"))


def half_flat():
    plain(pm.HalfFlat("x"))


def no_data():
    pm.Normal("x")


def no_parameters():
    plain(0.0)


def ordered():
    x = pm.Normal("x", 0.0, 1.0, shape=2, transform=pm.distributions.transforms.ordered)
    plain(x.sum())


def narrower_interval():
    """Of the usual kind, but it loses half of the support: found out by drawing."""
    half = pm.distributions.transforms.Interval(0.0, 0.5)
    plain(pm.Uniform("x", 0.0, 1.0, default_transform=None, transform=half))


def wide_interval():
    """No draw will ever show it."""
    wide = pm.distributions.transforms.Interval(-8.0, 8.0)
    plain(pm.Normal("x", 0.0, 1.0, transform=wide))


def angle():
    plain(pm.VonMises("x", 0.0, 1.0))


def data_before_parameters():
    first = pm.Normal("first", 0.0, 1.0, observed=np.array(1.0))
    plain(pm.Normal("x", first, 1.0))


def not_drawable():
    plain(pm.CustomDist("x", 0.0, logp=lambda x, m: pm.logp(pm.Normal.dist(m, 1.0), x)))


def not_in_jax():
    op = pytensor.compile.ops.wrap_py([pt.dscalar], pt.dscalar)(lambda x: np.asarray(x + 1.0))
    plain(op(pm.Normal("x")))


def single_precision():
    with pytensor.config.change_flags(floatX="float32"):
        plain(pm.Normal("x"), np.zeros(3, "float32"))


def named_dimensions():
    dims = pytest.importorskip("pymc.dims")
    pm.modelcontext(None).add_coord("group", ["a", "b"])
    dims.Normal("x", 0.0, 1.0, dims="group")
    pm.Normal("y", 0.0, 1.0, observed=np.zeros(2))


def data_of_another_shape():
    """The density is that of one value, the draws are three."""
    pm.Normal("y", pm.Normal("x"), 1.0, shape=3, observed=np.zeros(1))


def unnamed():
    """A random variable that is not part of the model has no value."""
    plain(pm.Normal("x") + pm.Normal.dist(0.0, 1.0))


def correlations():
    plain(pm.LKJCorr("x", n=2, eta=2.0).sum())


REFUSED = {
    undeclared_potential: "potential `tilt` is a factor that belongs neither",
    discrete: "free variable `x` is discrete",
    minibatch: "observed variable `y` is a minibatch",
    minibatch_covariate: "observed variable `y` is a minibatch",
    total_size: "observed variable `y` is a minibatch",
    missing: "observed variable `y` has missing values",
    missing_in_vectors: "observed variable `y` has missing values",
    flat: "free variable `x` has an improper prior",
    half_flat: "free variable `x` has an improper prior",
    no_data: "the PyMC model has no observed variable",
    no_parameters: "the PyMC model has no free variable",
    ordered: "free variable `x` has a transform that is not the usual one",
    narrower_interval: "free variable `x` has a transform that is not the usual one",
    wide_interval: "free variable `x` has a transform that is not the usual one",
    angle: "free variable `x` is an angle",
    data_before_parameters: "free variable `x` depends on an observed one",
    not_drawable: "a draw from the prior by PyMC failed",
    not_in_jax: "the JAX version of the likelihood failed",
    single_precision: "variable `x` is float32",
    named_dimensions: "variable `x` is not a plain array but a XTensorType",
    data_of_another_shape: "observed variable `y` has data of shape (1,), and PyMC draws (3,)",
    unnamed: "the log density by PyMC failed",
    correlations: "free variable `x` is a pm.LKJCorr",
}


@pytest.mark.parametrize("trap", REFUSED, ids=lambda trap: trap.__name__)
def test_refused_in_one_sentence(trap):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pm.Model() as model:
            trap()
        with pytest.raises(InputError) as refusal:
            from_pymc(model)
    sentence = str(refusal.value)
    assert sentence.startswith(REFUSED[trap]), sentence
    assert "\n" not in sentence and not sentence.endswith(".") and len(sentence) < 300


def test_other_arguments_refused():
    with pytest.raises(InputError, match=r"`model` must be a pm.Model, got int"):
        from_pymc(3)
    with pytest.raises(InputError, match="unknown potential 'tlt'; did you mean 'tilt'"):
        from_pymc(with_potential(), potentials={"tlt": "prior"})
    with pytest.raises(InputError, match="the PyMC model has no potentials"):
        from_pymc(conjugate(), potentials={"tilt": "prior"})
    with pytest.raises(InputError, match="'prior' or 'likelihood' of 'tilt', got 'posterior'"):
        from_pymc(with_potential(), potentials={"tilt": "posterior"})
    with pytest.raises(InputError, match="give `sample_prior`"):
        from_pymc(with_potential(), potentials={"tilt": "prior"})
    with pytest.raises(
        InputError, match=r"`sample_prior` must return a dict .* slopes, got \['b'\]"
    ):
        from_pymc(conjugate(), sample_prior=lambda key: {"b": jnp.zeros(2)})


def test_data_of_another_kind_refused(built):
    _, one = built("conjugate")
    with pytest.raises(InputError, match=r"data of `y` must have shape \(12,\), got \(3,\)"):
        one.check_data(np.zeros(3))
    _, two = built("two_outcomes")
    two.check_data(two.observed)
    with pytest.raises(InputError, match="data must be a dict of count, flag, got ndarray"):
        two.check_data(np.zeros(3))
    with pytest.raises(InputError, match="data of `count` must be whole numbers"):
        two.check_data({**two.observed, "count": np.full(ROWS, 0.5)})


def test_without_pymc_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(InputError, match=r'pip install "bracketz\[pymc\]"'):
        from_pymc(None)


def test_a_conversion_that_computes_something_else_is_seen(monkeypatch):
    from bracketz.adapters import pymc_backend

    right = pymc_backend.jax_function

    def wrong(inputs, outputs, check_bounds):
        function = right(inputs, outputs, check_bounds)
        return lambda *arrays: tuple(r + 1e-6 for r in function(*arrays))

    monkeypatch.setattr(pymc_backend, "jax_function", wrong)
    with pytest.raises(InputError, match="is not what PyTensor itself computes"):
        from_pymc(conjugate())


def test_the_examples_work():
    path = Path(__file__).parents[2] / "examples" / "your_model" / "pymc_models.py"
    spec = importlib.util.spec_from_file_location("pymc_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.MODELS) == 4
    for make in module.MODELS.values():
        model = make()
        x = model.sample_prior(jax.random.key(0))
        y = model.simulate(jax.random.key(1), x)
        model.check_data(y)
        assert np.isfinite(model.log_prior(x) + model.log_likelihood(x, y).sum())
