"""Every registered estimator on every model: contract, exact evidence, refusals."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.cli.parsing import make_estimator
from bracketz.engine.run import Outcome
from bracketz.estimators.registry import ESTIMATORS
from tiny_instances import TINY

pytestmark = pytest.mark.slow
MODELS = ["clustering", "low-rank", "binary-bits"]
#: Of every test that may choose: numbers of chains that differ are programs that differ.
TRIALS = 50
SIDES = {
    "bic": "none",
    "lw": "lower",
    "hme": "upper",
    "ais": "lower",
    "reverse-ais": "upper",
    "smc": "lower",
    "shme": "upper",
    "vb": "lower",
    "vb-sym": "none",
    "chib": "none",
    "cms": "lower",
    "nested": "none",
}


@pytest.fixture(scope="module", params=MODELS)
def known(request):
    """A tiny problem and its exact evidence."""
    with jax.enable_x64(True):
        model, shape = TINY[request.param]
        data = bz.simulate(model, *shape, seed=12)
        return model, data, model.exact_evidence(data.y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_contract(known, name):
    model, data, _ = known
    estimator = make_estimator(name, [])
    small = make_estimator(name, [f"--{estimator.knob}", "2"])
    answer = bz.estimate(model, data, small, trials=TRIALS, seed=1)
    assert answer.estimator == name == small.name and str(answer.side) == SIDES[name]
    assert (
        answer.trials == TRIALS == len(answer.log_ml_trials)
        and np.all(np.isfinite(answer.log_ml_trials))
        and np.isfinite(answer.log_ml)
    )
    assert answer.knobs[small.knob] == 2
    again = bz.estimate(model, data, small, trials=TRIALS, seed=1)
    assert again.log_ml_trials == answer.log_ml_trials
    with pytest.raises(bz.InputError, match="at least"):
        make_estimator(name, [f"--{estimator.knob}", "-1"])


@pytest.mark.parametrize(
    "estimator, tolerance",
    [
        (bz.AIS(distributions=2000), 0.3),
        (bz.SMC(transitions=20, particles=20), 0.3),
        (bz.CMS(samples=2000), 0.3),
        (bz.Chib(samples=2000), 0.3),
        (bz.Nested(transitions=10, particles=50), 1.0),
        (bz.Nested(transitions=20), 1.0),
    ],
    ids=lambda v: getattr(v, "name", v),
)
def test_enough_effort_meets_the_exact_evidence(known, estimator, tolerance):
    model, data, truth = known
    assert abs(bz.estimate(model, data, estimator, trials=TRIALS).log_ml - truth) < tolerance


def test_cms_is_unbiased(known):
    """Mean of p^/p over 3,000 trials is 1 within 4.5 standard errors; short chains and short
    burn-ins."""
    model, data, truth = known
    for estimator in (
        bz.CMS(samples=3, burn_in=3),
        bz.CMS(samples=4, point="exact"),
        bz.CMS(samples=1, burn_in=10),
    ):
        values = np.array(bz.estimate(model, data, estimator, trials=3000, seed=3).log_ml_trials)
        ratios = np.exp(values - truth)
        assert abs(ratios.mean() - 1) < 4.5 * ratios.std() / np.sqrt(len(ratios))


def test_vb_stays_below_the_truth_and_the_hint_does_not_help(known):
    model, data, truth = known
    random = bz.estimate(model, data, bz.VariationalBayes(restarts=5), trials=TRIALS)
    hint = bz.estimate(model, data, bz.VariationalBayes(restarts=1, start="hint"), trials=1)
    assert max(random.log_ml_trials) <= truth and hint.log_ml <= truth
    assert random.log_ml >= hint.log_ml - 0.02
    symmetric = bz.SymmetricVariationalBayes(restarts=5)
    corrected = bz.estimate(model, data, symmetric, trials=TRIALS)
    factorial = {3: 6, 1: 1, 2: 2}[model.components]
    np.testing.assert_allclose(corrected.log_ml, random.log_ml + np.log(factorial))


def test_bic_is_close_where_it_should_be():
    """Many rows and one component: BIC's error is O(1) while the log-ML is in the thousands."""
    model = bz.Clustering(components=1)
    data = bz.simulate(model, 2000, 2, seed=0)
    exact = model.log_annealed(type(data.exact)(jnp.zeros(2000, jnp.int32)), data.y, jnp.ones(2000))
    assert abs(bz.estimate(model, data, bz.BIC(), trials=1).log_ml - float(exact)) < 5


def test_nested_reports_its_steps(known):
    model, data, _ = known
    answer = bz.estimate(model, data, bz.Nested(), trials=TRIALS)
    assert len(answer.details["steps"]) == TRIALS and min(answer.details["steps"]) > 5


def test_streaming_estimators_use_constant_memory():
    """The carry of a chain does not grow with the knob."""
    from bracketz.estimators.harmonic_mean import PosteriorWeights
    from bracketz.estimators.likelihood_weighting import PriorWeights
    from bracketz.paths import Tempered

    model, shape = TINY["clustering"]
    data = bz.simulate(model, *shape, seed=12)
    for program in (
        PriorWeights(model, data.y, Tempered().through(2), 10**7),
        PosteriorWeights(model, data.y, Tempered().through(2), 10**6, 0, data.exact),
    ):
        carry = jax.eval_shape(program.start, jax.random.key(0))
        assert sum(leaf.size for leaf in jax.tree.leaves(carry)) < 20


# Capabilities: a user's model is refused in a sentence, and gains an estimator with one method.


@bz.pytree_dataclass
class Plain(bz.Model):
    """y_ij ~ N(x_j, 1), x_j ~ N(0, 1): four methods and nothing else."""

    def sample_prior(self, key, shape):
        return jax.random.normal(key, shape[1:])

    def simulate(self, key, state, shape):
        return state + jax.random.normal(key, shape)

    def log_annealed(self, state, y, powers):
        logpdf = jax.scipy.stats.norm.logpdf
        return jnp.sum(logpdf(state)) + jnp.sum(powers * jnp.sum(logpdf(y, state), axis=1))

    def kernel(self, y, powers):
        from bracketz.kernels.metropolis import Metropolis

        return Metropolis(lambda x: self.log_annealed(x, y, powers), 0.5)


@pytest.mark.parametrize(
    "name, capability",
    [
        ("bic", "PointFit"),
        ("vb", "Variational"),
        ("vb-sym", "Variational"),
        ("chib", "TransitionDensity"),
        ("cms", "TransitionDensity"),
        ("nested", "ConstrainedPrior"),
    ],
)
def test_a_missing_capability_is_refused_before_anything_compiles(name, capability):
    from bracketz.engine import run as loop

    data = bz.simulate(Plain(), 6, 2)
    before = loop.trace_count
    with pytest.raises(bz.InputError, match=f"{name} cannot run on Plain: it lacks {capability}"):
        bz.estimate(Plain(), data, make_estimator(name, []))
    assert loop.trace_count == before


def test_adding_one_capability_gains_the_estimator():
    from bracketz.core.capabilities import LikelihoodFit, PointFit

    @bz.pytree_dataclass
    class MeanFit(LikelihoodFit):
        y: jax.Array

        @property
        def num_parameters(self):
            return self.y.shape[1]

        def start(self, key):
            return jnp.mean(self.y, axis=0)

        def update(self, parameters):
            return parameters

        def log_likelihood(self, parameters):
            return jnp.sum(jax.scipy.stats.norm.logpdf(self.y, parameters))

    @bz.pytree_dataclass
    class Fitted(Plain, PointFit):
        def maximum_likelihood(self, y):
            return MeanFit(y)

    model = Fitted()
    data = bz.simulate(model, 40, 2)
    y = np.asarray(data.y)
    expected = np.sum(-0.5 * np.log(2 * np.pi) - 0.5 * (y - y.mean(0)) ** 2) - np.log(40)
    np.testing.assert_allclose(bz.estimate(model, data, bz.BIC(), trials=2).log_ml, expected)
    # The plain four methods suffice for the annealing estimators.
    answer = bz.sandwich(model, data, gap=1.0, chains=20)
    covariance = np.eye(40) + 1
    exact = sum(
        -0.5 * c @ np.linalg.solve(covariance, c)
        - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        for c in y.T
    )
    assert answer.certificate.low < exact < answer.certificate.high


@pytest.mark.parametrize(
    "estimator",
    [bz.ReverseAIS(distributions=2), bz.VariationalBayes(restarts=1), bz.Nested(transitions=1)],
)
def test_what_is_no_number_is_no_estimate(estimator):
    model = bz.Clustering(components=2, center_variance=5e-324)  # its reciprocal is infinite
    data = bz.simulate(bz.Clustering(components=2), 3, 2, seed=1)
    with pytest.raises(bz.NumericalError, match=r"a log evidence of|says nothing; raise"):
        bz.estimate(model, data, estimator, trials=2)


def test_weights_of_zero_alone_are_no_estimate():
    """A legal value of every chain, and nothing to report."""

    @dataclasses.dataclass(frozen=True)
    class Zero(bz.AIS):
        def run(self, model, data, trials, seed, session):
            return Outcome(np.full(trials, -np.inf), None, True, 0.0, 0.0)

    y = np.zeros((3, 2))
    with pytest.raises(bz.NumericalError, match=r"ais gave -inf, a lower bound that says nothing"):
        bz.estimate(bz.Clustering(components=2), y, Zero(), trials=3)
