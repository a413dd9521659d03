"""Models of a prior and a likelihood: densities, kernels, pilot, reference, and what is refused."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm
from scipy import stats

import bracketz as bz
from bracketz.core.precision import double_precision
from bracketz.core.results import preparation_rows
from bracketz.models.factored.model import Flattening
from bracketz.models.factored.reference import Mixture, Referenced, fit
from bracketz.models.factored.tuned import Tuned


@bz.pytree_dataclass
class Line(bz.Factored):
    """Regression with known noise: conjugate, so its log evidence is known."""

    X: jax.Array
    noise: float = 0.5

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["beta"]))

    def log_likelihood(self, x, y):
        return norm.logpdf(y, self.X @ x["beta"], self.noise)

    def sample_prior(self, key, shape=None):
        return {"beta": jax.random.normal(key, (self.X.shape[1],))}

    def simulate(self, key, x, shape=None):
        return self.X @ x["beta"] + self.noise * jax.random.normal(key, self.X.shape[:1])

    def exact(self, y):
        X = np.asarray(self.X)
        covariance = X @ X.T + self.noise**2 * np.eye(len(y))
        _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
        return -0.5 * (y @ np.linalg.solve(covariance, y) + log_det)


LINE = Line(np.random.default_rng(0).normal(size=(20, 3)))
SHORT = Line(LINE.X[:6, :2])


@bz.pytree_dataclass
class Off(Line):
    """Its prior times a constant."""

    log_constant: float = 0.0

    def log_prior(self, x):
        return super().log_prior(x) + self.log_constant


@bz.pytree_dataclass
class Half(bz.Factored):
    """A uniform whose likelihood is 0 over half the line."""

    def log_prior(self, x):
        return norm.logpdf(x)

    def log_likelihood(self, x, y):
        return jnp.where(x > 0, norm.logpdf(y, x), -jnp.inf)

    def sample_prior(self, key, shape=None):
        return jax.random.normal(key)

    def simulate(self, key, x, shape=None):
        return x + jax.random.normal(key, (3,))


def test_one_likelihood_gives_the_increment_of_two_densities():
    with double_precision():
        data = bz.simulate(LINE, seed=1)
        before, after = jnp.linspace(0, 0.5, 20), jnp.linspace(0, 1, 20)
        given = LINE.log_annealed(data.exact, data.y, after)
        given -= LINE.log_annealed(data.exact, data.y, before)
        told = LINE.log_increment(data.exact, data.y, after, before)
        assert abs(float(told - given)) < 1e-10


def test_a_power_of_zero_leaves_an_impossible_row_out():
    with double_precision():
        y = np.zeros(3)
        assert float(Half().log_annealed(-1.0, y, jnp.zeros(3))) == pytest.approx(norm.logpdf(-1.0))
        assert float(Half().log_increment(-1.0, y, jnp.ones(3), jnp.ones(3))) == 0
        assert float(Half().log_annealed(-1.0, y, jnp.full(3, 0.1))) == -math.inf


@pytest.mark.parametrize("reference", [True, False])
def test_the_sandwich_holds_the_closed_form(reference):
    data = bz.simulate(LINE, seed=2)
    answer = bz.sandwich(LINE, data, gap=0.1, chains=100, seed=1, reference=reference)
    truth = LINE.exact(data.y)
    assert answer.preparation["begins_at"] == ("reference" if reference else "prior")
    assert abs(answer.log_ml - truth) < 5 * answer.standard_error < 0.2
    assert answer.certificate.low < truth < answer.certificate.high


def test_the_shorter_path_is_taken_and_told():
    prepared = bz.prepare(LINE, bz.simulate(LINE, seed=2).y)
    assert prepared.lengths["reference"] < prepared.lengths["prior"]
    assert prepared.begins_at == "reference"
    assert "against" in prepared.because and prepared.mixes
    assert all(0.3 < accepted <= 1 for _, accepted in prepared.acceptance)


@pytest.mark.parametrize("off", [0.0, 1.5, -1.5])
def test_a_prior_that_is_not_normalised_is_doubted(off):
    """The path from the prior never sees the constant, the one from the reference does; false
    alarms: one in two thousand."""
    prepared = bz.prepare(Off(LINE.X, log_constant=off), bz.simulate(LINE, seed=2).y)
    assert (prepared.doubt is None) == (off == 0)
    if off:
        assert f"log evidence {off:+.0f}"[:-1] in prepared.doubt
        assert ("doubt", prepared.doubt) in preparation_rows(prepared.told())


def test_chains_do_not_share_draws_of_a_prior():
    """A prior known by draws: runs begin at the reference, whose draws are independent."""
    X = np.asarray(LINE.X)
    pooled = bz.from_functions(
        lambda x, y: norm.logpdf(y, X @ x["beta"], LINE.noise),
        log_prior=LINE.log_prior,
        prior_draws={"beta": np.random.default_rng(1).normal(size=(1000, 3))},
        simulate=lambda key, x: LINE.simulate(key, x),
    )
    data = bz.simulate(pooled, seed=2)
    answer = bz.sandwich(pooled, data, gap=0.1, chains=100, seed=1)
    assert answer.preparation["begins_at"] == "reference"
    assert abs(answer.log_ml - LINE.exact(data.y)) < 5 * answer.standard_error < 0.2
    for refused in (
        lambda: bz.sandwich(pooled, data, reference=False),
        lambda: bz.sandwich(pooled, data, path=bz.Prefix()),
        lambda: bz.estimate(pooled, data.y, "lw"),
    ):
        with pytest.raises(bz.InputError, match="known by a pool of draws"):
            refused()


def test_what_is_tuned_depends_on_y_and_the_seed_alone():
    data = bz.simulate(LINE, seed=2)
    other = dataclasses.replace(data, exact={"beta": data.exact["beta"] + 1})
    first, again = (bz.prepare(LINE, d.y, seed=3).model for d in (data, other))
    same = jax.tree.map(np.array_equal, first, again)
    assert all(jax.tree.leaves(same))
    another = bz.prepare(LINE, data.y, seed=4).model
    assert not all(jax.tree.leaves(jax.tree.map(np.array_equal, first, another)))


def test_reverse_chains_do_not_begin_at_one_place():
    """They share one exact sample; a few sweeps of the posterior's own kernel spread them over the
    posterior, of which they stay samples."""
    from bracketz.engine.anneal import Reverse

    with double_precision():
        data = bz.simulate(LINE, seed=3)
        prepared = bz.prepare(LINE, data.y)
        path = bz.Tempered().through(4)
        program = Reverse(prepared.model, data.y, path, prepared.adopt(data.exact))
        keys = jax.random.split(jax.random.key(1), 500)
        begun = jax.jit(jax.vmap(program.start))(keys).states.vector[:, 0]
        X = np.asarray(LINE.X)
        precision = np.eye(3) + X.T @ X / LINE.noise**2
        mean = np.linalg.solve(precision, X.T @ data.y / LINE.noise**2)
        reference = prepared.model.model.reference
        x = np.asarray(jax.vmap(reference.place)(begun))
        z = (x - mean) @ np.linalg.cholesky(precision)
        assert np.all(np.abs(z.mean(0)) < 0.3) and np.all(np.abs(z.var(0) - 1) < 0.3)


SETS = 100


@pytest.fixture(scope="module")
def prepared_sets():
    """(data, log evidence, what a pilot makes of them) of many data sets; kernels so short that a
    state remembers where it began."""

    def one(seed):
        data = bz.simulate(SHORT, seed=seed)
        prepared = bz.prepare(SHORT, data.y, seed=seed, reference=True)
        tuning = prepared.model.tuning
        short = dataclasses.replace(tuning, step_sizes=0.02 * tuning.step_sizes)
        tuned = dataclasses.replace(prepared.model, tuning=short)
        return data, SHORT.exact(data.y), tuned, prepared.adopt(data.exact)

    return [one(seed) for seed in range(SETS)]


def _log_values(program, stream, seed):
    """Of a short run: two edges, two chains."""
    from bracketz.engine.run import run_chains

    options = {"chains": 2, "seed": seed, "session": bz.Session()}
    return run_chains(program, 2, stream=stream, **options).log_values


@pytest.mark.slow
def test_weights_average_to_the_evidence_both_ways_with_the_pilot_inside(prepared_sets):
    """Over 100 data sets E[w / p(y)] = 1 forwards and E[p(y) / w] = 1 backwards, where the pilot,
    the reference and the exact sample are new each time. Each side fails with probability 1e-4."""
    from bracketz.engine.anneal import Forward, Reverse

    path = bz.Tempered(bz.Linear()).through(3)
    forward, reverse = [], []
    for seed, (data, truth, tuned, exact) in enumerate(prepared_sets):
        up = _log_values(Forward(tuned, data.y, path), "up", seed)
        down = _log_values(Reverse(tuned, data.y, path, exact), "down", seed)
        forward.append(np.mean(np.exp(up - truth)))
        reverse.append(np.mean(np.exp(truth - down)))
    for ratios in (np.array(forward), np.array(reverse)):
        z = (ratios.mean() - 1) / (ratios.std(ddof=1) / math.sqrt(SETS))
        assert abs(z) < 3.9


@pytest.mark.slow
def test_a_reference_fitted_to_the_exact_sample_voids_the_upper_bound(prepared_sets):
    """The same with q centred at the exact sample: reverse weights are too large on average, so
    their "upper bounds" fall below the truth, the more the less the kernels move. This is why the
    pilot never sees the sample."""
    from bracketz.engine.anneal import Reverse

    path = bz.Tempered(bz.Linear()).through(3)
    reverse = []
    for seed, (data, truth, tuned, _) in enumerate(prepared_sets):
        seen = tuned.model
        near = dataclasses.replace(seen.reference, mean=data.exact["beta"])
        fitted = Tuned(Referenced(seen.model, near), tuned.tuning)
        with double_precision():
            exact = fitted.adopt(fitted.model.adopt(data.exact))
        down = _log_values(Reverse(fitted, data.y, path, exact), "down", seed)
        reverse.append(np.mean(np.exp(truth - down)))
    above = -np.log(reverse)  # of the upper bound, over the truth: at least 0 on average
    assert above.mean() < -3 * above.std(ddof=1) / math.sqrt(SETS)


@pytest.mark.parametrize("kind", ["hmc", "hmc+walk", "walk"])
@pytest.mark.parametrize("backward", [False, True])
def test_kernels_keep_the_annealed_density(kind, backward):
    """Exact draws of the conjugate annealed posterior stay such after some steps: mean and variance
    of each coordinate, 40,000 chains. One of the 36 comparisons fails with probability 1 %."""
    model = SHORT
    with double_precision():
        data = bz.simulate(model, seed=3)
        tuned = bz.prepare(model, data.y, reference=False).model
        tuning = dataclasses.replace(tuned.tuning, kernel=kind)
        tuned = Tuned(model, tuning)

        @jax.jit
        def moved(key, starts, power):
            kernel = tuned.kernel(data.y, jnp.full(6, power))
            kernel = bz.Repeat(kernel.reversed() if backward else kernel, 3)
            keys = jax.random.split(key, len(starts))
            return jax.vmap(lambda k, s: kernel.step(k, tuned.adopt({"beta": s})))(keys, starts)

        for power in (0.0, 0.37, 1.0):
            X = np.asarray(model.X)
            precision = np.eye(2) + power * X.T @ X / model.noise**2
            mean = np.linalg.solve(precision, power * X.T @ data.y / model.noise**2)
            root = np.linalg.cholesky(np.linalg.inv(precision))
            count = 40_000
            noise = np.random.default_rng(1).normal(size=(count, 2))
            ends = np.asarray(moved(jax.random.key(5), mean + noise @ root.T, power).vector)
            z = np.linalg.solve(root, (ends - mean).T).T
            assert np.all(np.abs(z.mean(0)) < 3.8 / math.sqrt(count))
            assert np.all(np.abs(z.var(0) - 1) < 3.8 * math.sqrt(2 / count))


def test_leapfrog_steps_are_undone_by_the_flipped_momentum():
    """The proposal of HMC is an involution of (x, p): volume and energy decide, nothing else."""
    with double_precision():
        root = np.linalg.cholesky([[2.0, 0.3], [0.3, 0.5]])

        def density(x):
            return -0.25 * jnp.sum(x**4) + x[0]

        def run(x, p, size=0.3):
            slope = jax.grad(density)
            for _ in range(4):
                p = p + 0.5 * size * root.T @ slope(x)
                x = x + size * root @ p
                p = p + 0.5 * size * root.T @ slope(x)
            return x, p

        x, p = jnp.array([0.3, -0.7]), jnp.array([0.2, 1.1])
        there = run(x, p)
        back = run(there[0], -there[1])
        assert np.allclose(back[0], x, atol=1e-12) and np.allclose(-back[1], p, atol=1e-12)


@pytest.mark.parametrize("degrees", [0, 7])
def test_a_reference_with_independent_coordinates_is_the_dense_one(degrees):
    """Both are scipy's; a t has the covariance it is asked for."""
    mean, root, z = np.array([0.3, -1.0]), np.array([0.5, 2.0]), np.array([1.1, 0.4])
    exact = stats.multivariate_normal.logpdf(z, mean, np.diag(root**2))
    if degrees:
        shape = np.diag(root**2) * (degrees - 2) / degrees
        exact = stats.multivariate_t.logpdf(z, mean, shape, df=degrees)
    for roots in (root[None], np.diag(root)[None]):
        q = Mixture.of(np.ones(1), mean[None], roots, degrees)
        assert float(q.log_density(jnp.asarray(z))) == pytest.approx(exact, abs=1e-12)


def test_a_reference_is_a_density_and_its_sampler_agrees():
    """A mixture with Student tails: integral 1 over a grid, and the sampler's moments."""
    rng = np.random.default_rng(2)
    sample = np.concatenate([rng.standard_t(5, size=(1500, 1)) * 0.2 + c for c in (-2, 2)])
    with double_precision():
        reference = fit(sample, dense=True, independent=1000)
        assert "mixture" in reference.q.family
        grid = np.linspace(-40, 40, 200_001)[:, None]

        @jax.jit
        def both(grid, key):
            draws = jax.vmap(reference.q.sample)(jax.random.split(key, 40_000))
            return jnp.exp(jax.vmap(reference.q.log_density)(grid)), draws[:, 0]

        density, draws = map(np.asarray, both(grid, jax.random.key(1)))
        assert np.trapezoid(density, grid[:, 0]) == pytest.approx(1, abs=1e-6)
        below = np.trapezoid(np.where(grid[:, 0] < -1.1, density, 0.0), grid[:, 0])
        found = np.mean(draws < -1.1)
        assert abs(found - below) < 4 * math.sqrt(below * (1 - below) / 40_000)


def test_states_go_through_a_vector_and_back():
    @bz.pytree_dataclass
    class Nested(Half):
        def sample_prior(self, key, shape=None):
            return {"a": jnp.zeros((2, 3)), "b": (jnp.ones(()), jnp.arange(3))}

    with double_precision():
        flat = Flattening(Nested())
        state = {"a": jnp.arange(6.0).reshape(2, 3), "b": (jnp.array(7.0), jnp.arange(3))}
        vector, discrete = flat.split(state)
        assert vector.shape == (7,) and flat.has_discrete
        back = flat.join(vector, discrete)
        assert all(jax.tree.leaves(jax.tree.map(np.array_equal, back, state)))
        assert flat.names(Nested())[0] == "a[0, 0]"


def test_several_arrays_of_data_are_saved_and_read_back(tmp_path):
    @bz.pytree_dataclass
    class Two(Half):
        def log_likelihood(self, x, y):
            return norm.logpdf(y["u"], x) + norm.logpdf(y["v"], x)

        def simulate(self, key, x, shape=None):
            return {"u": x + jax.random.normal(key, (4,)), "v": jnp.full(4, x)}

    data = bz.simulate(Two(), seed=1)
    bz.save(data, tmp_path / "two.npz")
    again = bz.load(tmp_path / "two.npz", Two())
    assert np.array_equal(again.y["u"], data.y["u"]) and np.array_equal(again.exact, data.exact)
    with pytest.raises(bz.InputError, match="Half"):
        bz.load(tmp_path / "two.npz", Half())


# What is refused.


def test_a_likelihood_of_zero_is_a_value():
    """Half the prior draws are impossible; log p(y) by quadrature."""
    y = np.array([0.3, 1.0, -0.2])
    grid = np.linspace(0, 12, 100_001)
    density = norm.pdf(grid) * np.prod(norm.pdf(y[:, None], grid), axis=0)
    truth = math.log(np.trapezoid(density, grid))
    answer = bz.estimate(Half(), y, bz.AIS(distributions=60), trials=200)
    assert abs(answer.log_ml - truth) < 5 * answer.standard_error < 0.5


@dataclasses.dataclass(frozen=True)
class Case:
    change: dict
    says: str


NAN = {"log_likelihood": lambda self, x, y: jnp.where(x["beta"][0] > 0, jnp.nan, 0.0) * y}
CASES = {
    "nan": Case(NAN, r"`log_likelihood` of Changed is nan at a draw of its own prior, beta = \["),
    "nowhere": Case(
        {"log_likelihood": lambda self, x, y: jnp.full(20, -jnp.inf)}, "is 0 at all of 256"
    ),
    "prior": Case(
        {"log_prior": lambda self, x: jnp.where(x["beta"][0] > 0, 0.0, -jnp.inf)},
        "`sample_prior` and `log_prior` do not belong together",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_densities_that_are_no_numbers_are_named(name):
    Changed = bz.pytree_dataclass(type("Changed", (Line,), CASES[name].change))
    model = Changed(LINE.X)
    with pytest.raises(bz.InputError, match=CASES[name].says):
        bz.estimate(model, np.zeros(20), "ais")


def test_a_posterior_that_collapses_is_refused_in_a_sentence():
    """Data that fit exactly, and a noise that may go to 0: the evidence has no upper bound."""
    numpyro = pytest.importorskip("numpyro")
    dist = pytest.importorskip("numpyro.distributions")

    def regression(X, y=None):
        beta = numpyro.sample("beta", dist.Normal(0, 1).expand([3]).to_event(1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)

    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises((bz.InputError, bz.NumericalError)):
        bz.estimate(bz.from_numpyro(regression, X), X @ np.array([1.0, -0.5, 0.0]), "ais")


def test_other_refusals():
    data = bz.simulate(LINE, seed=0)
    with pytest.raises(bz.InputError, match=r"must have shape \(20,\), got \(19,\)"):
        bz.estimate(LINE, data.y[:19], "ais")
    with pytest.raises(bz.InputError, match=r"must have shape \(20,\), got \(4, 5\)"):
        bz.estimate(LINE, data.y.reshape(4, 5), "ais")
    assert LINE.observations(data.y[:, None]).shape == (20,)
    with pytest.raises(bz.InputError, match="holds nan at row 3"):
        bz.estimate(LINE, np.where(np.arange(20) == 2, np.nan, 0.0), "ais")
    with pytest.raises(bz.InputError, match="knows the size of its data"):
        bz.simulate(LINE, rows=5)
    with pytest.raises(bz.InputError, match="tuned by a pilot first"):
        LINE.kernel(data.y, jnp.ones(20))
    with pytest.raises(bz.InputError, match="was made without observations"):
        bz.estimate(LINE, None, "ais")

    @bz.pytree_dataclass
    class Whole(Line):
        def log_likelihood(self, x, y):
            return jnp.sum(super().log_likelihood(x, y))

    with pytest.raises(bz.InputError, match="one number for all data"):
        bz.estimate(Whole(LINE.X), data.y, "smc")
    with pytest.raises(bz.InputError, match="one number for all data"):
        bz.sandwich(Whole(LINE.X), data, path=bz.Prefix())


def test_points_may_enter_one_at_a_time():
    data = bz.simulate(LINE, seed=2)
    answer = bz.estimate(LINE, data.y, bz.SMC(transitions=3, particles=30), trials=20)
    assert abs(answer.log_ml - LINE.exact(data.y)) < 5 * answer.standard_error < 1


def test_tempered_particles_run_on_observed_data():
    data = bz.simulate(LINE, seed=2)
    answer = bz.estimate(LINE, data.y, bz.AIS(distributions=20, particles=20), trials=10)
    assert answer.knobs["particles"] == 20
    assert abs(answer.log_ml - LINE.exact(data.y)) < 5 * answer.standard_error < 0.5


def test_a_kernel_of_the_users_own_moves_what_is_discrete():
    """A mean with a sign that is summed over by Gibbs: two values, so the truth is a sum."""

    @bz.pytree_dataclass
    class Signed(bz.Factored):
        def log_prior(self, x):
            return norm.logpdf(x["mean"]) + jnp.log(0.5)

        def log_likelihood(self, x, y):
            return norm.logpdf(y, jnp.where(x["sign"] == 1, 1.0, -1.0) * x["mean"] + 0.5)

        def sample_prior(self, key, shape=None):
            a, b = jax.random.split(key)
            return {"mean": jax.random.normal(a), "sign": jax.random.bernoulli(b).astype(int)}

        def simulate(self, key, x, shape=None):
            mean = jnp.where(x["sign"] == 1, 1.0, -1.0) * x["mean"] + 0.5
            return mean + jax.random.normal(key, (6,))

        def gibbs(self, y, powers):
            return Flip(self, y, powers)

    @dataclasses.dataclass(frozen=True, eq=False)
    class Flip(bz.Reversible):
        model: Signed
        y: jax.Array
        powers: jax.Array

        def step(self, key, state):
            both = [state | {"sign": jnp.asarray(s)} for s in (0, 1)]
            logits = jnp.stack([self.model.log_annealed(b, self.y, self.powers) for b in both])
            return state | {"sign": jax.random.categorical(key, logits)}

    data = bz.simulate(Signed(), seed=1)
    grid = np.linspace(-9, 9, 20_001)
    terms = [np.prod(norm.pdf(data.y[:, None], s * grid + 0.5), axis=0) for s in (-1, 1)]
    truth = math.log(np.trapezoid(0.5 * norm.pdf(grid) * sum(terms), grid))
    answer = bz.sandwich(Signed(), data, gap=0.2, chains=400)
    assert abs(answer.log_ml - truth) < 5 * answer.standard_error < 0.6

    class Unmoved(Signed):
        def gibbs(self, y, powers):
            return None

    with pytest.raises(bz.InputError, match="discrete parameters and no `gibbs` kernel"):
        bz.sandwich(bz.pytree_dataclass(Unmoved)(), data)
