"""Hyperparameters in the state: exact evidence, calibration of what is inferred, files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln, logit, logsumexp

import bracketz as bz
from bracketz.core.precision import double_precision
from bracketz.data.identity import hyperparameters
from bracketz.engine.anneal import Forward
from bracketz.engine.recorder import Recorded
from bracketz.engine.run import run_chains
from bracketz.models.hierarchical import InferredState
from bracketz.models.hyper_reference import begun_at
from bracketz.models.low_rank.inferred import Exchange, LowRankHyper, moved
from bracketz.models.low_rank.state import LowRankState
from bracketz.numerics.conjugate import Beta, Dirichlet, InverseGamma
from bracketz.paths import Tempered

MODELS = (bz.InferredClustering, bz.InferredLowRank, bz.InferredBinaryAttributes)


def ids(cls):
    return cls.__name__


@pytest.mark.slow
@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_both_bounds_meet_quadrature_over_the_hyperparameters(cls):
    """Within 0.1 nats on tiny data, from the prior. The error bars are about 0.02, so a right code
    fails with probability below 1e-5."""
    model, shape = cls().tiny()
    data = bz.simulate(model, *shape, seed=3)
    truth = model.exact_evidence(data.y)
    for estimator in (bz.AIS(distributions=400), bz.ReverseAIS(distributions=400)):
        outcome = estimator.run(model, data, 400, seed=0, session=bz.Session())
        log_ml, error = estimator.combine(outcome.log_values)
        assert abs(log_ml - truth) < 0.1, (estimator.name, log_ml, truth)
        assert error < 0.03  # the trials' part of it
    if cls is bz.InferredClustering:  # and with all that ``estimate`` does before a run
        answer = bz.estimate(model, data, estimator, trials=400)
        assert abs(answer.log_ml - truth) < 0.1, (answer.log_ml, truth)


def test_quadrature_agrees_with_an_independent_integral():
    """Clustering: assignments enumerated, the mixture integrated by the Dirichlet-multinomial
    formula, and the two variances by Gauss-Legendre in their logarithms."""
    model, _ = bz.InferredClustering().tiny()
    y = np.array([[0.3, -1.1], [0.7, 0.2], [-0.9, 0.4]])
    nodes, weights = np.polynomial.legendre.leggauss(120)
    low, high = np.log(0.01), np.log(1000.0)
    t = 0.5 * (high - low) * nodes + 0.5 * (high + low)
    log_weight = np.log(0.5 * (high - low) * weights) + t
    center, noise = np.exp(t)[:, None], np.exp(t)[None, :]
    total = (
        stats.invgamma.logpdf(center, model.center_shape, scale=model.center_scale)
        + stats.invgamma.logpdf(noise, model.noise_shape, scale=model.noise_scale)
        + log_weight[:, None]
        + log_weight[None, :]
    )
    a = model.mixture_concentration
    terms = []
    for z in np.ndindex(2, 2, 2):
        counts = np.bincount(z, minlength=2)
        log_z = gammaln(2 * a) - gammaln(2 * a + 3) + np.sum(gammaln(a + counts) - gammaln(a))
        term = np.full((120, 120), log_z)
        for k in range(2):
            rows = y[np.array(z) == k]
            n = len(rows)
            if n == 0:
                continue
            # Rows of one cluster: covariance noise I + center 1 1^T in each column.
            sum_squares, square_sum = np.sum(rows**2), np.sum(np.sum(rows, axis=0) ** 2)
            log_det = (n - 1) * np.log(noise) + np.log(noise + n * center)
            quadratic = sum_squares / noise - square_sum * center / (noise * (noise + n * center))
            term = term - 0.5 * (2 * (n * np.log(2 * np.pi) + log_det) + quadratic)
        terms.append(term)
    independent = logsumexp(np.stack(terms) + total)
    assert abs(independent - model.exact_evidence(y)) < 1e-4


@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_evidence_changes_with_units_as_a_density_must(cls):
    """y -> s y with every prior scale times s^2 (low rank: of one factor and the noise) costs N D
    log s."""
    model, shape = cls().tiny()
    y = bz.simulate(model, *shape, seed=5).y
    s = 1.7
    grown = ("center_scale", "left_scale", "feature_scale", "noise_scale")
    values = hyperparameters(model)
    other = cls(**{k: v * s**2 if k in grown else v for k, v in values.items()})
    assert other.exact_evidence(s * y) == pytest.approx(
        model.exact_evidence(y) - y.size * np.log(s), abs=1e-4
    )


@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_every_variance_has_the_prior_of_its_name(cls):
    """The model's own tiny instance has no two numbers alike."""
    model, _ = cls().tiny()
    laws = {k: law for k, law in model.priors._asdict().items() if isinstance(law, InverseGamma)}
    assert len(laws) >= 2
    for name, law in laws.items():
        word = name.removesuffix("_variance")
        given = getattr(model, f"{word}_shape"), getattr(model, f"{word}_scale")
        assert (float(law.shape), float(law.scale)) == pytest.approx(given)


def test_variances_score_and_sample_what_scipy_says():
    """Kolmogorov-Smirnov on 20,000 draws; false alarms 1e-4."""
    ours, theirs = InverseGamma(3.2, 1.7), stats.invgamma(3.2, scale=1.7)
    with double_precision():
        x = theirs.rvs(size=5, random_state=0)
        np.testing.assert_allclose(
            [float(ours.log_density(v)) for v in x], theirs.logpdf(x), atol=1e-10
        )
        draws = np.asarray(jax.vmap(ours.sample)(jax.random.split(jax.random.key(0), 20_000)))
    assert stats.kstest(draws, theirs.cdf).pvalue > 1e-4
    values, log_weights = ours.grid()
    assert logsumexp(theirs.logpdf(values) + log_weights) == pytest.approx(0, abs=1e-6)


def test_probabilities_score_and_sample_what_scipy_says():
    """As log-odds s, whose density is scipy's times dp/ds = p (1 - p). False alarms 1e-4."""
    ours, theirs = Beta(1.4, 2.2), stats.beta(1.4, 2.2)
    with double_precision():
        p = theirs.rvs(size=5, random_state=0)
        np.testing.assert_allclose(
            [float(ours.log_density(v)) for v in logit(p)],
            theirs.logpdf(p) + np.log(p * (1 - p)),
            atol=1e-10,
        )
        draws = np.asarray(jax.vmap(ours.sample)(jax.random.split(jax.random.key(0), 20_000)))
        values, log_weights = ours.grid()
        total = logsumexp(jax.vmap(ours.log_density)(values) + log_weights)
    assert stats.kstest(expit(draws), theirs.cdf).pvalue > 1e-4
    assert total == pytest.approx(0, abs=1e-6)


def test_dirichlet_scores_what_scipy_says():
    """With respect to the log-ratios: times the product of the probabilities."""
    with double_precision():
        prior = Dirichlet(jnp.array([0.8, 1.7, 2.4]))
        x = np.array([0.2, 0.5, 0.3])
        assert float(prior.log_density(np.log(x))) == pytest.approx(
            stats.dirichlet([0.8, 1.7, 2.4]).logpdf(x) + np.sum(np.log(x))
        )
        posterior = prior.given(jnp.array([2.0, 0.0, 1.0]))
        assert posterior.concentration.tolist() == pytest.approx([2.8, 1.7, 3.4])


# Sparse priors. Probabilities were numbers, and 0 among them: 7 % of AIS trials at a concentration
# of 0.01 were NaN, and all at 0.003.

SPARSE = (0.01, 0.003, 0.001)


@pytest.mark.parametrize("a", SPARSE)
def test_sparse_priors_are_drawn_from_to_their_ends(a):
    """|s| of Be(a, a): where p = e^-t is tiny, Pr(p < e^-t) = e^(-a t) / (a B(a, a)) up to a factor
    1 + O(e^-t). Kolmogorov-Smirnov beyond t = 30 on 20,000 draws; false alarms 1e-4 each."""
    with double_precision():
        keys = jax.random.split(jax.random.key(4), 20_000)
        s = np.abs(np.asarray(jax.vmap(Beta(a, a).sample)(keys)))
        log_p = np.asarray(jax.vmap(Dirichlet(jnp.full(3, a)).sample)(keys[:500]))
    far = s[s > 30] - 30
    expected = np.exp(-30 * a + gammaln(2 * a) - 2 * gammaln(a)) * 2 / a
    assert stats.binomtest(len(far), len(s), expected).pvalue > 1e-4
    assert stats.kstest(far, stats.expon(scale=1 / a).cdf).pvalue > 1e-4
    assert np.all(np.isfinite(log_p)) and np.allclose(logsumexp(log_p, axis=1), 0)


def _sparse_models(a):
    """(inferred model, its fixed one at even odds, counts -> log-probability of one arrangement):
    the variances' priors are tight (to 0.1 %, which moves log p(y) by less than 1e-4)."""

    def tight(variance):
        return 1e6, 1e6 * variance

    def log_clusters(z):
        n = np.bincount(z, minlength=2)
        return np.sum(gammaln(a + n) - gammaln(a)) + gammaln(2 * a) - gammaln(2 * a + len(z))

    def log_bits(z):
        return log_clusters(z[:, 0].astype(int))

    yield (
        bz.InferredClustering(2, *tight(2.0), *tight(0.5), a),
        bz.Clustering(2, 2.0, 0.5),
        log_clusters,
    )
    yield (
        bz.InferredBinaryAttributes(1, a, a, *tight(2.0), *tight(0.5)),
        bz.BinaryAttributes(1, 0.5, 2.0, 0.5),
        log_bits,
    )


@pytest.mark.slow
@pytest.mark.parametrize("which", (0, 1), ids=("clustering", "binary attributes"))
def test_sparse_priors_give_the_exact_evidence(which):
    """AIS, from the prior and from the reference a pilot finds, against enumeration with the
    probabilities integrated out in closed form. 1,000 chains (one program of 100, which the pilot
    takes too), four standard errors: false alarms 6e-5 a case, twelve cases."""
    y = np.array([[0.9, -0.2], [0.4, 0.8], [-0.3, 0.5]])
    for a in SPARSE:
        model, even, log_arrangement = list(_sparse_models(a))[which]
        (latents,) = states = even.nodes(y.shape)[0]
        with double_precision():
            joint = jax.vmap(even.log_annealed, (0, None, None))(states, y, jnp.ones(3))
        terms = np.asarray(joint) + 3 * np.log(2.0)  # likelihoods: the prior is even
        truth = logsumexp(terms + [log_arrangement(np.asarray(z)) for z in latents])
        ready = bz.prepare(model, y, reference=True, chains=100)
        at_prior = begun_at(model, jax.tree.map(np.float64, model.priors))
        path = Tempered(ready.schedule).through(10)
        for begun in (at_prior, ready.model):
            program = Recorded(Forward(begun, y, path))
            found = np.concatenate(
                [
                    run_chains(program, 9, chains=100, seed=seed, stream="sparse").log_values
                    for seed in range(10)
                ]
            )
            assert np.all(np.isfinite(found))
            log_ml, error = bz.AIS.combine(found)
            assert abs(log_ml - truth) < 4 * error, a


# Simulation-based calibration: the rank of the hyperparameter that made the data among posterior
# draws is uniform.

DATA_SETS, ANNEALED, DRAWS, THIN = 200, 300, 99, 6
CALIBRATED = (
    bz.InferredClustering(2, 4.0, 4.0, 5.0, 2.0, 2.0),
    bz.InferredLowRank(1, 5.0, 4.0, 5.0, 4.0, 5.0, 2.0),
    bz.InferredBinaryAttributes(2, 2.0, 2.0, 5.0, 4.0, 5.0, 2.0),
)


def _scalars(hyper):
    """Every hyperparameter as numbers that relabeling leaves alone: vectors by their largest
    entry."""
    return jnp.stack([jnp.max(value) for value in hyper])


def _rank(model, key, shape):
    key_state, key_data, key_start, key_walk = jax.random.split(key, 4)
    exact = model.sample_prior(key_state, shape)
    y = model.simulate(key_data, exact, shape)
    path = Tempered().through(ANNEALED)

    def sweep(t, state):
        powers = path.powers(jnp.minimum(t, ANNEALED - 1), shape[0])  # 1 at the end of the path
        return model.kernel(y, powers).step(jax.random.fold_in(key_walk, t), state)

    def draw(state, i):
        """``THIN`` sweeps further, or up from the prior at first: one loop, one program."""
        last = ANNEALED + i * THIN
        first = jnp.where(i == 0, 1, last - THIN)
        state = jax.lax.fori_loop(first, last, sweep, state)
        return state, _scalars(state.hyper)

    _, draws = jax.lax.scan(draw, model.sample_prior(key_start, shape), jnp.arange(1 + DRAWS))
    return jnp.sum(draws[1:] < _scalars(exact.hyper), axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("model", CALIBRATED, ids=lambda m: type(m).__name__)
def test_posterior_intervals_cover(model):
    """200 data sets, hyperparameters from their prior, chains started away from them and annealed.
    Ranks uniform on 0..99 by chi-squared in ten bins and 90 % intervals covering within the
    binomial's limits: false alarms below 0.2 % a model (six p-values at 3e-4)."""
    with double_precision():
        keys = jax.random.split(jax.random.key(1, impl="threefry2x32"), DATA_SETS)
        ranks = np.asarray(jax.jit(jax.vmap(lambda k: _rank(model, k, (20, 4))))(keys))
    for name, rank in zip(model.priors._fields, ranks.T, strict=True):
        counts = np.bincount(rank // 10, minlength=10)
        uniform = stats.chisquare(counts).pvalue
        inside = int(np.sum((rank >= 5) & (rank < 95)))
        covering = stats.binomtest(inside, DATA_SETS, 0.9).pvalue
        assert min(uniform, covering) > 3e-4, (name, counts, inside)


def test_simulation_file_keeps_the_exact_sample(tmp_path):
    model = bz.InferredClustering(3)
    data = bz.simulate(model, 6, 2, seed=1)
    bz.save(data, tmp_path / "sim.npz")
    loaded = bz.load(tmp_path / "sim.npz", model)
    assert isinstance(loaded.exact, InferredState)
    jax.tree.map(np.testing.assert_array_equal, loaded.exact, data.exact)
    assert set(np.load(tmp_path / "sim.npz")) >= {
        "assignments",
        "center_variance",
        "noise_variance",
        "log_mixture",
    }


def test_priors_must_be_positive():
    with pytest.raises(bz.InputError, match="noise_scale must be a positive number, got -1"):
        bz.InferredLowRank(noise_scale=-1.0)


@pytest.mark.parametrize("begun", ["at the priors", "at a reference"])
def test_low_rank_exchanges_scale_as_its_density_says(begun):
    """Along the orbit the density times the Jacobian of V is h(s), exactly, at any powers."""
    prior = bz.InferredLowRank(2, 1.3, 0.7, 2.1, 1.9)
    q = prior.priors._replace(
        left_variance=InverseGamma(5.0, 3.0), right_variance=InverseGamma(4.0, 9.0)
    )
    model = prior if begun == "at the priors" else begun_at(prior, q)
    data = bz.simulate(prior, rows=6, columns=3, seed=2)
    powers = jnp.linspace(0.1, 0.9, 6)
    *_, exchange = model.kernel(data.y, powers).kernels
    shifts = jnp.array([0.0, -3.0, -0.4, 1.1, 5.0])

    def density(shift):
        state = moved(data.exact, shift)
        jacobian = state.latent.right.size * shift / 2  # of V; the variances' cancel
        return model.log_annealed(state, data.y, powers) + jacobian

    @jax.jit
    @jax.vmap
    def both(shift):
        return density(shift), exchange.log_along(data.exact.hyper, shift)

    found, said = both(shifts)
    np.testing.assert_allclose(found - found[0], said - said[0], rtol=1e-10)


def test_low_rank_exchange_keeps_its_law():
    """From exact draws of h, one step later still exact draws of h; Kolmogorov and Smirnov, each
    fails by chance once in 1,000. With equal laws h is even, so e^s and e^-s are alike; here they
    are not."""
    left, right = InverseGamma(3.0, 2.0), InverseGamma(1.5, 4.0)
    exchange = Exchange(left, right)
    hyper = LowRankHyper(jnp.array(1.0), jnp.array(1.0), jnp.array(1.0))
    grid = np.linspace(-9, 9, 20_001)
    weights = np.exp(np.asarray(jax.jit(lambda s: exchange.log_along(hyper, s))(grid)))
    cdf = np.cumsum(weights) / weights.sum()
    start = np.interp(np.random.default_rng(0).uniform(size=4000), cdf, grid)

    def after(key, s):
        state = InferredState(LowRankState(jnp.ones((1, 1))), hyper)
        new = exchange.step(key, moved(state, s))
        return jnp.log(new.hyper.right_variance), 2 * jnp.log(new.latent.right[0, 0])

    keys = jax.random.split(jax.random.key(1), len(start))
    ends, by_factor = map(np.asarray, jax.jit(jax.vmap(after))(keys, start))
    np.testing.assert_allclose(ends, by_factor, atol=1e-10)
    for sample in (start, ends):
        assert stats.kstest(sample, lambda s: np.interp(s, grid, cdf)).pvalue > 1e-3
    assert np.corrcoef(start, ends)[0, 1] < 0.3  # and it moves


def test_low_rank_from_a_reference_closes_where_only_the_product_is_seen():
    """The exact sample's variances lie far from where a pilot's are (158 against 5). Before scale
    was exchanged the bounds were 105 nats apart, and the lower one was 1.4 too low."""
    model = bz.InferredLowRank(2)
    data = bz.simulate(model, rows=20, columns=5, seed=13)
    found = bz.sandwich(model, data, chains=64, first=512, max_effort=512, seed=7)
    assert found.preparation["begins_at"] == "reference"
    assert abs(found.upper - found.lower) < 1.5
