"""Hyperparameters begun at a reference: the same evidence, whatever the reference is."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, log_softmax

import bracketz as bz
from bracketz.check.pairs import both_directions, crooks_p
from bracketz.check.subject import Instance
from bracketz.core.precision import double_precision
from bracketz.core.results import preparation_rows
from bracketz.engine.anneal import Forward
from bracketz.engine.run import run_chains
from bracketz.models import hyper_pilot
from bracketz.models.hierarchical import log_density
from bracketz.models.hyper_reference import FromReference, at_prior
from bracketz.numerics.conjugate import Beta, Dirichlet, InverseGamma
from bracketz.paths import Tempered

MODELS = (bz.InferredClustering, bz.InferredLowRank, bz.InferredBinaryAttributes)
LAWS = (
    (InverseGamma(3.2, 1.7), InverseGamma(0.8, 4.1), 0.6),
    (
        Dirichlet(np.array([0.8, 1.7, 2.4])),
        Dirichlet(np.ones(3)),
        np.log(np.array([0.2, 0.5, 0.3])),
    ),
    (
        Beta(np.array([1.4, 0.3]), np.array([2.2, 5.0])),
        Beta(np.ones(2), np.full(2, 0.5)),
        np.array([0.4, -1.3]),
    ),
)


def ids(value):
    return getattr(value, "__name__", None) or type(value).__name__


def off(priors, far: bool = False):
    """A reference that is wrong in every parameter; far: by factors of five and more."""
    factors = (5.0, 40.0) if far else (1.6, 0.7)
    laws = (
        type(p)(*(f * np.asarray(v, dtype=float) for f, v in zip(factors, p, strict=False)))
        for p in priors
    )
    return type(priors)(*laws)


def tiny(cls, far: bool = False):
    model, shape = cls().tiny()
    return FromReference(model, off(model.priors, far)), model, shape


def incomplete(model, shape):
    observed = np.ones(shape)
    observed[1, 0] = 0.0
    return bz.Incomplete(model, observed)


def drawn(model, shape, seed=0):
    """(state, parameters, y), the state from elsewhere than the data."""
    data = bz.simulate(model, *shape, seed=seed)
    other = bz.simulate(model, *shape, seed=seed + 100)
    return other.exact, other.parameters, data.y


# Laws.


@pytest.mark.parametrize("q, p, value", LAWS, ids=("inverse gamma", "dirichlet", "beta"))
def test_the_geometric_mean_is_of_the_family(q, p, value):
    """log of ``toward`` less (1 - m) log q + m log p is one number, whatever the value."""
    values = [value, 1.7 * value - 0.1 * np.arange(np.size(value)).reshape(np.shape(value))]
    if isinstance(q, Dirichlet):
        values = [log_softmax(v) for v in values]

    @jax.jit
    def constant(value, m):
        mean = q.toward(p, m).log_density(value)
        return mean - (1 - m) * q.log_density(value) - m * p.log_density(value)

    for m in (0.0, 0.3, 1.0):
        constants = [float(constant(v, m)) for v in values]
        assert constants[0] == pytest.approx(constants[1], abs=1e-10)
        assert m not in (0.0, 1.0) or constants[0] == pytest.approx(0, abs=1e-10)


def test_matched_laws_have_the_sample_s_mean_statistics():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(50))
    v = stats.invgamma(6.0, scale=2.0).rvs(50, random_state=1)
    a, s = InverseGamma.matched(v, weights)
    assert a / s == pytest.approx(weights @ (1 / v))
    assert np.log(s) - digamma(a) == pytest.approx(weights @ np.log(v))
    log_p = np.log(rng.dirichlet([5.0, 1.0, 2.0], size=50))
    (c,) = Dirichlet.matched(log_p, weights)
    assert np.ptp(c) == 0
    assert digamma(c[0]) - digamma(3 * c[0]) == pytest.approx(np.mean(weights @ log_p))
    s = rng.normal(0.7, 1.2, size=(50, 4))
    on, off = Beta.matched(s, weights)
    assert np.ptp(on) == np.ptp(off) == 0 and on.shape == (4,)
    for each, sign in ((on[0], -1), (off[0], 1)):
        mean = np.mean(weights @ -np.logaddexp(0, sign * s))
        assert digamma(each) - digamma(on[0] + off[0]) == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("values", (np.full(4, 0.3), np.array([1e-8, 1.0, 1e8, 3.0])))
def test_matched_laws_are_finite_whatever_the_sample(values):
    law = InverseGamma.matched(values, np.full(4, 0.25)).widened(0.1)
    assert np.all(np.isfinite(law)) and min(law) > 0


# Densities and updates.

POWERS = (np.full(4, 0.37), np.array([0.0, 0.4, 1.0, 0.15]), np.ones(4), np.zeros(4))


@pytest.mark.parametrize("wrapped", (False, True), ids=("complete", "incomplete"))
@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_conditionals_are_those_of_the_joint(cls, wrapped):
    """Exactly, at mixed powers, for everything the second half of a sweep draws."""
    model, _, shape = tiny(cls)
    model = incomplete(model, shape) if wrapped else model
    state, parameters, y = drawn(model, shape)
    other, elsewhere, _ = drawn(model, shape, seed=1)

    @jax.jit
    @jax.vmap
    def both(b):
        """(claimed, of the joint) by variable."""
        update = model.kernel(y, b).kernels[1]
        visits = zip(update.visits(state, parameters), update.visits(other, elsewhere), strict=True)
        here, found = model.log_joint(state, parameters, y, b), {}
        for visit, away in visits:
            claimed = visit.conditional.log_density(away.value)
            claimed -= visit.conditional.log_density(visit.value)
            there = model.log_joint(*visit.put(away.value), y, b)
            found[visit.variable] = claimed, there - here
        return found

    found = both(np.stack([powers[: shape[0]] for powers in POWERS]))
    assert len(found) == 1 + len(state.hyper)
    for variable, (claimed, joint) in found.items():
        np.testing.assert_allclose(claimed, joint, rtol=0, atol=1e-8, err_msg=variable)


@pytest.mark.parametrize("wrapped", (False, True), ids=("complete", "incomplete"))
@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_the_path_leads_from_the_reference_to_the_joint(cls, wrapped):
    """Both ends, and an increment in between: the likelihood's part, and m' - m times log p - log q
    of the hyperparameters."""
    model, plain, shape = tiny(cls)
    if wrapped:
        model, plain = incomplete(model, shape), incomplete(plain, shape)
    state, _, y = drawn(plain, shape)
    inner = getattr(model, "model", model) if wrapped else model
    after, before = (b[: shape[0]] for b in POWERS[:2])

    @jax.jit
    def densities():
        """log p - log q; how far the model's density is above the plain one at the ends, and its
        increment above the plain one's."""
        p, q = (log_density(laws, state.hyper) for laws in (inner.priors, inner.q))
        bottom, top = jax.vmap(
            lambda b: model.log_annealed(state, y, b) - plain.log_annealed(state, y, b)
        )(jnp.stack([jnp.zeros(shape[0]), jnp.ones(shape[0])]))
        increment = model.log_increment(state, y, after, before)
        return p - q, bottom, top, increment - plain.log_increment(state, y, after, before)

    difference, bottom, top, increment = map(float, densities())
    assert difference != pytest.approx(0, abs=0.1)
    assert bottom == pytest.approx(-difference, abs=1e-9)
    assert top == pytest.approx(0, abs=1e-9)
    share = np.mean(after) - np.mean(before)
    assert increment == pytest.approx(share * difference, abs=1e-9)


@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_the_evidence_is_the_model_s(cls):
    model, plain, shape = tiny(cls, far=True)
    y = bz.simulate(plain, *shape, seed=5).y
    assert model.exact_evidence(y) == pytest.approx(plain.exact_evidence(y), abs=1e-12)


def test_simulated_data_come_from_the_prior():
    """From q they would have no exact sample."""
    model, plain, shape = tiny(bz.InferredClustering)
    np.testing.assert_array_equal(
        bz.simulate(model, *shape, seed=1).y, bz.simulate(plain, *shape, seed=1).y
    )
    assert at_prior(incomplete(model, shape)).model is plain


# Weights.


@pytest.mark.parametrize("far", (False, True), ids=("near", "far"))
@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_forward_weights_average_to_the_evidence(cls, far):
    """On one data set, however bad the reference is: 4,000 chains (20,000 and more distributions
    where it is bad), five standard errors of the mean weight; false alarms below 1e-5 a case."""
    model, plain, shape = tiny(cls, far)
    y = bz.simulate(plain, *shape, seed=2).y
    truth = plain.exact_evidence(y)
    path = Tempered().through(60 if far else 12)
    outcome = run_chains(
        Forward(model, y, path),
        path.num_edges,
        chains=4000,
        seed=0,
        stream="weights",
        session=bz.Session(),
    )
    weights = np.exp(outcome.log_values - truth)
    assert abs(weights.mean() - 1) < 5 * weights.std() / np.sqrt(len(weights))
    assert weights.std() / np.sqrt(len(weights)) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("far", (False, True), ids=("near", "far"))
@pytest.mark.parametrize("cls", MODELS, ids=ids)
def test_both_directions_are_two_readings_of_one_path(cls, far):
    """Crooks' relation over 500 data sets, with the exact evidence where that is affordable (not
    for low rank); false alarms 1e-4. It has E[w] = p(y) upwards and E[1 / w] = p(y) downwards in
    it, by bounded statistics."""
    model, _, shape = tiny(cls, far)
    key = jax.random.key(3, impl="threefry2x32")
    with double_precision():
        # A bad reference needs more steps before the two directions overlap.
        path = Tempered().through(40 if far else 5)
        runs = both_directions(Instance("tiny", model, shape), path, 500, key)
    assert crooks_p(runs) > 1e-4


@pytest.mark.slow
def test_the_kit_passes_on_a_model_begun_at_a_reference():
    """One model, and the families that look at sweeps and their reversal: what differs between
    models, and the rest of the kit's questions, are tested exactly above."""
    few = bz.InferredClustering(components=2)
    model = FromReference(few, few.priors)
    for family in ("transitions", "geweke"):
        report = bz.check.run(model, level="quick", only=family, keep_going=True)
        assert report.passed, str(report)


# The pilot.


def test_weights_are_as_sharp_as_leaves_a_number_of_chains():
    log_w = np.random.default_rng(1).normal(0, 30, size=40)
    weights = hyper_pilot.tempered_weights(log_w, 10.0)
    assert 1 / np.sum(weights**2) == pytest.approx(10.0, abs=1e-3)
    assert np.all(np.diff(weights[np.argsort(log_w)]) >= 0)
    even = hyper_pilot.tempered_weights(np.zeros(40), 10.0)
    np.testing.assert_allclose(even, 1 / 40)


def test_the_reference_does_not_depend_on_the_exact_sample(short_pilots):
    """Another exact sample, the same y: the same reference, and the same forward chains."""
    model = bz.InferredClustering(2)
    data = bz.simulate(model, 12, 2, seed=4)
    other = dataclasses.replace(data, exact=bz.simulate(model, 12, 2, seed=9).exact)
    options = dict(chains=10, first=16, max_effort=16, reference=True)
    one, two = (bz.sandwich(model, d, **options) for d in (data, other))
    assert one.preparation["reference"] == two.preparation["reference"]
    assert one.preparation["begins_at"] == "reference"
    assert one.looks[0].forward == two.looks[0].forward
    assert one.looks[0].reverse != two.looks[0].reverse
    rows = dict(preparation_rows(one.preparation))
    assert rows["begins at"] == "the reference: it was asked for"
    assert "noise variance IG(" in rows["reference"] and "mixture Dirichlet(" in rows["reference"]


def test_without_a_reference_nothing_changes(short_pilots):
    model = bz.InferredLowRank(1)
    data = bz.simulate(model, 8, 2, seed=1)
    plain = bz.prepare(model, data.y, reference=False)
    assert plain.model is model and plain.schedule is None and plain.told() is None
    with pytest.raises(bz.InputError, match="a reference is fitted for models of a prior"):
        bz.prepare(bz.LowRank(1), data.y, reference=True)
    with pytest.raises(bz.InputError, match="a reference is fitted for models of a prior"):
        bz.sandwich(bz.LowRank(1), bz.simulate(bz.LowRank(1), 8, 2), reference=True)


def test_missing_entries_and_a_reference_go_together(short_pilots):
    y = np.array(bz.simulate(bz.InferredClustering(2), 12, 2, seed=4).y)
    y[3, 1] = np.nan
    models = [bz.InferredClustering(2)]
    answer = bz.compare(models, y, twins=0, first=16, max_effort=16, reference=True)
    assert answer.best.evidence.reference == "fitted" and np.isfinite(answer.best.log_ml)
    seen = bz.Incomplete(models[0], ~np.isnan(y))
    ready = bz.prepare(seen, np.nan_to_num(y), reference=True)
    assert isinstance(ready.model, bz.Incomplete) and isinstance(ready.model.model, FromReference)


@pytest.mark.slow
def test_the_transition_is_gone():
    """Inferred clustering, 25 x 12 with six clusters: tens of nats from the prior, one or two from
    the reference, both ways."""
    model = bz.InferredClustering(6)
    data = bz.simulate(model, 25, 12, seed=1)
    options = dict(chains=20, first=256, max_effort=256)
    prior = bz.sandwich(model, data, reference=False, **options)
    answer = bz.sandwich(model, data, **options)
    assert answer.preparation["begins_at"] == "reference"
    assert answer.lower > prior.lower + 10
    assert answer.gap < 0.2 * prior.gap
    assert answer.upper < prior.upper
