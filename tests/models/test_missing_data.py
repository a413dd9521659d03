"""Missing entries: the density against integration over them, the sweep against the density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import bracketz as bz
from bracketz import check
from bracketz.core.capabilities import log_evidence
from bracketz.core.precision import double_precision
from bracketz.models.missing_data import CompletedSweep
from swept_laws import DRAWS, cells_of, log_densities, swept, worst_z

FIXED = (bz.Clustering, bz.LowRank, bz.BinaryAttributes)
INFERRED = (bz.InferredClustering, bz.InferredLowRank, bz.InferredBinaryAttributes)


def ids(cls):
    return cls.__name__


@pytest.mark.parametrize("cls", FIXED, ids=ids)
def test_evidence_is_the_integral_over_the_missing_entry(cls):
    model, shape = cls().tiny()
    y = bz.simulate(model, *shape, seed=2).y
    observed = np.ones(shape)
    observed[1, 0] = 0
    axis = np.linspace(-25, 25, 1001)
    with double_precision():
        nodes, weight = jax.tree.map(jnp.asarray, model.nodes(shape))
        whole = jax.jit(
            lambda v: log_evidence(model, jnp.asarray(y).at[1, 0].set(v), nodes, weight)
        )
        integral = logsumexp([float(whole(v)) for v in axis]) + np.log(axis[1] - axis[0])
        incomplete = bz.Incomplete(model, observed)
        found = float(log_evidence(incomplete, jnp.asarray(y), nodes, weight))
    assert found == pytest.approx(integral, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("cls", INFERRED, ids=ids)
def test_with_everything_observed_it_is_the_model(cls):
    model = cls(3)
    shape = (5, 4)
    with double_precision():
        state = model.sample_prior(jax.random.key(0), shape)
        y = model.simulate(jax.random.key(1), state, shape)
        powers = jnp.linspace(0, 1, 5)
        ours = bz.Incomplete(model, np.ones(shape)).log_annealed(state, y, powers)
        assert float(ours) == pytest.approx(float(model.log_annealed(state, y, powers)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("cls", FIXED, ids=ids)
def test_bounds_meet_on_incomplete_data(cls):
    """Both directions against enumeration: the completed sweep keeps its density. Error bars are
    below 0.03 nats."""
    model, shape = cls().tiny()
    observed = np.ones(shape)
    observed[0, 0] = observed[2, -1] = 0
    incomplete = bz.Incomplete(model, observed)
    data = bz.simulate(incomplete, *shape, seed=4)
    with double_precision():
        truth = float(
            log_evidence(incomplete, data.y, *jax.tree.map(jnp.asarray, model.nodes(shape)))
        )
    for estimator in (bz.AIS(distributions=300), bz.ReverseAIS(distributions=300)):
        answer = bz.estimate(incomplete, data, estimator, trials=400)
        assert abs(answer.log_ml - truth) < 0.12, (estimator.name, answer.log_ml, truth)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "only"),
    [
        (bz.InferredClustering, "conditionals.ratios"),
        (bz.InferredLowRank, "geweke.exchange"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_kit_passes(cls, only):
    """Exact conditionals of every hyperparameter with entries missing, and Geweke's tests; false
    alarms below 0.2 %."""
    model, shape = cls().tiny()
    observed = np.ones(shape)
    observed[1, 0] = 0
    incomplete = bz.Incomplete(model, observed)
    report = check.run(incomplete, level="quick", shape=shape, only=only)
    assert report.passed, report.failures


def test_a_model_without_the_capability_is_refused():
    held_out = bz.HeldOut(bz.Clustering(2), np.zeros((2, 3)))
    with pytest.raises(
        bz.InputError, match="HeldOut cannot leave out missing entries exactly: it lacks Conjugate"
    ):
        bz.Incomplete(held_out, np.ones((4, 3)))


def test_pattern_must_fit_the_data():
    incomplete = bz.Incomplete(bz.Clustering(2), np.ones((4, 3)))
    with pytest.raises(bz.InputError, match="pattern of missing entries"):
        bz.estimate(incomplete, np.zeros((5, 3)), bz.AIS(distributions=10), trials=2)


# What a sweep keeps, by enumeration, with rows of power 0, between and 1, each with holes.

POWERS = np.array([0.35, 1.0, 0.0, 0.7])
OBSERVED = np.array([[0, 1], [1, 0], [0, 1], [1, 1]])
Y = np.array([[1.4, -0.9], [-1.1, 0.8], [0.6, 2.0], [-1.6, -1.2]])
TINY = {
    "clustering": bz.Clustering(2, 1.6, 0.3, mixture=[0.6, 0.4]),
    "low-rank": bz.LowRank(1, left_variance=1.1, right_variance=0.8, noise_variance=0.6),
    "binary": bz.BinaryAttributes(2, [0.3, 0.6], 1.4, 0.3),
}
ROWS = {"clustering": 4, "low-rank": 4, "binary": 2}
FILLERS = (0.0, 1e200)  # of which the square is infinite, and 0 times that no number


def filled(name, filler):
    """(the model with holes, y with the filler in them, powers)."""
    n = ROWS[name]
    observed = OBSERVED[:n]
    y = np.where(observed > 0, Y[:n], filler)
    return bz.Incomplete(TINY[name], observed), y, POWERS[:n]


def moments(states):
    """Bounded functions of a low-rank V that tell signs, sizes and their coupling apart."""
    v = np.asarray(states.right)[:, 0]
    return np.stack([*np.tanh(v.T), np.tanh(v[:, 0] * v[:, 1]), *np.exp(-(v.T**2))], axis=1)


@pytest.mark.parametrize("name", TINY)
def test_a_sweep_keeps_the_density_and_its_reversal_undoes_it(name):
    """States drawn from f(.; b), swept forwards and back: cells (moments, where they are real) and
    pairs against exact probabilities. False alarms: 1e-6 for each model."""
    model, y, powers = filled(name, 0.0)
    assert not model.kernel(y, powers).reversed().reversed().backward
    nodes, _ = model.model.nodes(y.shape)
    features = moments if name == "low-rank" else cells_of(nodes)
    worst, allowed = worst_z(model, nodes, y, powers, features)
    assert worst < allowed


@pytest.mark.parametrize("name", TINY)
def test_the_density_is_that_of_the_observed_entries(name):
    """Without regressions: N(y; m, s^2)^b is N(y; m, s^2 / b) times sqrt((2 pi s^2)^(1 - b) / b),
    so the observed entries of a column (a row of low rank) are jointly normal given the latents,
    with covariance v X X' + s^2 / b."""
    model, y, b = filled(name, 0.0)
    own = model.model
    nodes, _ = own.nodes(y.shape)
    found = np.asarray(log_densities(model, nodes, jnp.asarray(y), b))
    for at in np.linspace(0, len(found) - 1, 5).astype(int) if len(found) > 16 else range(16):
        state = jax.tree.map(lambda a, at=at: np.asarray(a)[at], nodes)
        expected = np.asarray(prior_density(own, state)) + normal_density(model, state, y, b)
        assert found[at] == pytest.approx(expected, abs=1e-9)


@jax.jit
def prior_density(model, state):
    n = jax.tree.leaves(state)[0].shape[0]
    return model.log_annealed(state, jnp.zeros((n, 2)), jnp.zeros(n))


def normal_density(model, state, y, b):
    own = model.model
    design = np.asarray(own.design(jax.tree.map(jnp.asarray, state)))
    s2, v = float(own.noise_variance), float(own.coefficient_variance)
    seen = (model.observed > 0) & (b > 0)[:, None]
    power = np.broadcast_to(b[:, None], y.shape)
    if own.by_rows:
        seen, power, y = seen.T, power.T, y.T
    total = 0.0
    for there, c, column in zip(seen.T, power.T, y.T, strict=True):
        x, c, column = design[there], c[there], column[there]
        if there.any():
            total += multivariate_normal(cov=v * x @ x.T + np.diag(s2 / c)).logpdf(column)
            total += 0.5 * np.sum((1 - c) * np.log(2 * np.pi * s2) - np.log(c))
    return total


@pytest.mark.parametrize("name", TINY)
def test_nothing_depends_on_what_holes_are_filled_with(name):
    """Density and sweeps, both ways, to the last bit."""
    answers = []
    keys = jax.random.split(jax.random.key(2), DRAWS)
    for filler in FILLERS:
        model, y, powers = filled(name, filler)
        nodes, _ = model.model.nodes(y.shape)
        at = np.arange(DRAWS) % len(jax.tree.leaves(nodes)[0])
        states = jax.tree.map(lambda a, at=at: jnp.asarray(a)[at], nodes)
        moved = swept(model, jnp.asarray(y), powers, keys, states)
        answers.append((moved, log_densities(model, nodes, jnp.asarray(y), powers)))
    jax.tree.map(np.testing.assert_array_equal, *answers)


def made_up(model, number):
    """(state, parameters) of an inferred model: any that are possible, not random ones, whose
    samplers take long to compile."""
    key, shape = jax.random.key(0), Y.shape
    state = jax.eval_shape(lambda: model.sample_prior(key, shape))
    theta = jax.eval_shape(lambda: model.sample_parameters(key, state, shape))
    rng = np.random.default_rng(number)
    latent, theta = jax.tree.map(lambda a: rng.integers(2, size=a.shape), (state.latent, theta))
    hyper = {name: rng.uniform(0.5, 2, a.shape) for name, a in state.hyper._asdict().items()}
    if "log_mixture" in hyper:
        hyper["log_mixture"] = np.log([0.2 * number, 1 - 0.2 * number])
    theta = jax.tree.map(lambda a: a + rng.normal(size=a.shape), theta)
    latent = jax.tree.map(lambda a, like: a.astype(like.dtype), latent, state.latent)
    return state._replace(latent=latent, hyper=type(state.hyper)(**hyper)), theta


@pytest.mark.parametrize("cls", INFERRED, ids=ids)
def test_hyperparameters_see_the_observed_entries_alone(cls):
    """Every conditional of an update against the joint, at two values of its variable; the density
    and the sweep of the latents are the fixed model's; another filler changes no bit."""
    model, powers = bz.Incomplete(cls(2), OBSERVED), POWERS
    (here, theta), (there, other) = (made_up(model.model, number) for number in (1, 2))

    @jax.jit
    def looked_at(y, here, theta, there, other):
        update = model.kernel(y, powers).kernels[1]
        found = []
        values = [update.visits(here, other)[0].value, *there.hyper]
        for visit, value in zip(update.visits(here, theta), values, strict=True):
            joint = [model.log_joint(*visit.put(v), y, powers) for v in (visit.value, value)]
            scored = [visit.conditional.log_density(v) for v in (visit.value, value)]
            found.append((joint[0] - joint[1], scored[0] - scored[1]))
        fixed, latent = bz.Incomplete(model.model.at(here.hyper), OBSERVED), here.latent
        hyper = model.model.log_hyper(here.hyper, jnp.mean(powers))
        density = model.log_annealed(here, y, powers)
        found.append((density, hyper + fixed.log_annealed(latent, y, powers)))
        if cls is not bz.InferredClustering:
            return found, None
        moved = [
            CompletedSweep(m, y, powers).reversed().step(jax.random.key(7), state)
            for m, state in ((model, here), (fixed, latent))
        ]
        return found, (moved[0], moved[1])

    (zeros, moved), (huge, _) = (
        looked_at(np.where(OBSERVED > 0, Y, filler), here, theta, there, other)
        for filler in FILLERS
    )
    jax.tree.map(np.testing.assert_array_equal, zeros, huge)
    for one, two in zeros:
        assert float(one) == pytest.approx(float(two), abs=1e-8)
    if moved:
        jax.tree.map(np.testing.assert_array_equal, moved[0].latent, moved[1])
        jax.tree.map(np.testing.assert_array_equal, moved[0].hyper, here.hyper)


def test_what_is_decided_on_the_host_does_not_look_into_holes():
    """Refusals, the careful arithmetic and the audit: of a model that would refuse the filler."""
    for cls in FIXED:
        model, y = bz.Incomplete(cls(2), OBSERVED), np.where(OBSERVED > 0, Y, 1e200)
        model.check_data(y)
        assert model.suited_to(y) is model and not model.doubtful(y, None)
        with pytest.raises(bz.InputError):
            model.model.check_data(y)
