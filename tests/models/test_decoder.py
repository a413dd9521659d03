"""Decoders against closed forms and quadrature; many data sets at once against one by one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.precision import double_precision
from bracketz.inference.each import ForwardEach
from bracketz.models.decoder.model import gaussian_evidence
from bracketz.models.factored.many import OneOfMany, Seat, merged
from bracketz.models.factored.pilot import Stage, Survey
from bracketz.models.factored.tuned import Tuned, Tuning


def linear(params, z):
    return params["weights"] @ z + params["offset"]


RNG = np.random.default_rng(3)
LINEAR = {"weights": RNG.normal(size=(4, 2)), "offset": RNG.normal(size=4)}
NODES = np.linspace(-8, 8, 321)


@jax.jit
def log_joint(model, y, z):
    return jax.vmap(lambda x: model.log_prior(x) + jnp.sum(model.log_likelihood(x, y)))(z)


def by_quadrature(model, y) -> float:
    """log p(y) of a decoder with two latents: trapezoids, exact to rounding for smooth tails."""
    z = np.stack(np.meshgrid(NODES, NODES), axis=-1).reshape(-1, 2)
    with double_precision():
        values = np.asarray(log_joint(model, y, z))
    return float(np.log(np.sum(np.exp(values - values.max()))) + values.max()) + 2 * np.log(
        NODES[1] - NODES[0]
    )


def test_a_linear_decoder_with_gaussian_pixels_has_a_closed_form():
    """Density, noise and constants, against log N(y; c, W W' + s^2)."""
    model = bz.Decoder(LINEAR, 0.7, function=linear, observation="gaussian")
    y = bz.simulate(model, seed=2).y
    truth = gaussian_evidence(LINEAR["weights"], LINEAR["offset"], 0.7, y)
    assert by_quadrature(model, y) == pytest.approx(truth, abs=1e-9)


def test_probabilities_of_all_images_sum_to_one():
    params = {name: value[:3] if name != "inner" else value for name, value in _params().items()}
    model = bz.Decoder(params)
    images = (np.arange(8)[:, None] >> np.arange(3)) & 1
    assert np.exp([by_quadrature(model, y) for y in images]).sum() == pytest.approx(1, abs=1e-10)


def _params():
    return bz.Decoder().params


@pytest.fixture(scope="module")
def brackets():
    """(model, simulated data, their bounds, bounds of the same as observed data)."""
    model = bz.Decoder()
    data = bz.simulate_each(model, 12, seed=4)
    known = bz.bracket_each(model, data, distributions=40)
    return model, data, known, bz.bracket_each(model, data.y, distributions=40)


def test_bounds_of_each_image_are_about_the_truth(brackets):
    """Log-means of 16 weights and of 4 reciprocals over 12 images: the mean is off by less than
    four standard errors (1 in 15,000 by chance) and the bias of a log-mean, half the variance."""
    model, data, known, observed = brackets
    truth = np.array([by_quadrature(model, y) for y in data.y])
    assert known.kind == "certified" and known.condition is None
    assert observed.kind == "conditional" and "conditional" in observed.condition
    for found in (known, observed):
        for bound in (found.lower, found.upper):
            off = bound - truth
            error = np.std(off, ddof=1) / np.sqrt(len(off))
            assert abs(off.mean()) < 4 * error + np.var(off), (off.mean(), error)
        assert found.mean_low < truth.mean() < found.mean_high
    # The same program, the same seeds: exact samples change the reverse runs alone.
    np.testing.assert_array_equal(known.forward, observed.forward)


def test_what_the_interval_of_the_mean_pays(brackets):
    _, _, known, observed = brackets
    n, fail = 12, 0.05
    assert known.mean_low == pytest.approx(known.lower.mean() + np.log(0.5 * fail) / n)
    assert known.mean_high == pytest.approx(known.upper.mean() - np.log(0.5 * fail) / n)
    assert observed.mean_low == pytest.approx(observed.lower.mean() + np.log(0.2 * fail) / n)
    assert observed.mean_high == pytest.approx(observed.upper.mean() - np.log(0.3 * fail) / n)
    assert known.total_variation == 0 < observed.total_variation < 0.5 * fail
    told = observed.to_json()
    assert told["kind"] == "conditional" and len(told["lower"]) == 12
    assert "conditional" in observed._repr_html_() and known.gap < 1


def test_chains_too_far_from_the_posterior_give_no_upper_bound(brackets):
    model, data, *_ = brackets
    found = bz.bracket_each(model, data.y, distributions=2, confidence=0.999)
    assert found.upper is None and found.mean_high is None and np.isnan(found.gap)
    assert found.total_variation > 0.5 * 0.001
    shown = dict(found.rows())["99.9% interval of the mean"]
    assert shown.endswith("no bound] (certified, lower side only)")


def test_a_chain_looks_at_its_own_data_set_alone():
    """Densities, increments and sweeps are those of the model on that data set, bit by bit."""
    model = bz.Decoder()
    y = bz.simulate_each(model, 5, seed=1).y
    roots = np.stack([np.eye(2), 0.5 * np.eye(2)])
    tuning = Tuning(np.array([0.0, 1.0]), roots, np.array([0.5, 0.6]), np.array([2, 3]))
    with double_precision():
        many, powers, key = OneOfMany(Tuned(model, tuning)), np.full(6, 0.6), jax.random.key(0)
        position = many.sample_prior(key).position

        @jax.jit
        def ours(which):
            seat, kernel = Seat(position, which), many.kernel(y, powers)
            moved = [k.step(key, seat) for k in (kernel, kernel.reversed())]
            density = many.log_annealed(seat, y, powers)
            return [m.which for m in moved], [m.position.vector for m in moved], density

        @jax.jit
        def theirs(y):
            kernel = many.tuned.kernel(y, powers)
            moved = [k.step(key, position).vector for k in (kernel, kernel.reversed())]
            return moved, many.tuned.log_annealed(position, y, powers)

        for which in (0, 3):
            seats, *found = ours(which)
            assert [int(seat) for seat in seats] == [which, which]
            jax.tree.map(np.testing.assert_array_equal, tuple(found), theirs(y[which]))
        program = ForwardEach(many, y, bz.Tempered().through(3), each=np.int64(3))
        start = jax.jit(jax.vmap(lambda c: program.start_of(key, c).states.which[0]))
        begun = start(np.arange(16, dtype=np.uint32)).tolist()
        assert begun == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3 + [4]
        adopted = many.adopt(jnp.zeros((5, 2)))
        assert adopted.which.tolist() == [0, 1, 2, 3, 4]


def test_pilots_are_merged_by_mean_covariance_and_least_step():
    def survey(scale, size):
        stages = [
            Stage(b, scale * np.eye(2) / (1 + b), size, 2, b, 0.8, 0.0, 0.0) for b in (0, 0.5, 1.0)
        ]
        return Survey(tuple(stages), np.zeros((3, 2)), 0, 1, 0.0, 0.1)

    table = merged([survey(1.0, 0.5), survey(3.0, 0.4)], np.array([0.0, 0.25, 0.5, 1.0]))
    np.testing.assert_allclose(table.step_sizes, 0.4)
    squares = table.roots @ np.swapaxes(table.roots, 1, 2)
    at = [1.0, 0.5 * (1 + 1.5**-2), 1.5**-2, 0.25]
    np.testing.assert_allclose(squares[:, 0, 0], 5 * np.array(at))
    np.testing.assert_allclose(squares[:, 0, 1], 0)


@pytest.mark.parametrize(
    "made, said",
    [
        (lambda: bz.Decoder(observation="poisson"), "unknown observation 'poisson'"),
        (lambda: bz.Decoder(noise=0.0), "noise must be positive, got 0"),
        (lambda: bz.Decoder(latents=0), "latents must be at least 1, got 0"),
        (lambda: bz.Decoder(function=lambda p, z: z[0]), "must give a vector"),
        (lambda: bz.bracket_each(bz.Clustering(), np.zeros((3, 6))), "Clustering is none"),
        (lambda: bz.bracket_each(bz.Decoder(), np.full((3, 6), 2)), "must be 0 or 1"),
        (lambda: bz.bracket_each(bz.Decoder(), np.zeros((3, 5))), "must have shape (6,)"),
        (lambda: bz.bracket_each(bz.Decoder(), np.zeros((0, 6))), "along a leading axis"),
        (
            lambda: bz.bracket_each(bz.Decoder(), np.full((3, 6), np.nan)),
            "holds nan at row 1",
        ),
        (lambda: bz.evidence(bz.Decoder(), np.full(6, 0.7)), "whole numbers, and holds 0.7"),
        (lambda: bz.bracket_each(bz.Decoder(), np.zeros((3, 6)), gap=0), "gap must be positive"),
        (lambda: bz.bracket_each(bz.Decoder(), np.zeros((3, 6)), chains=1), "chains must be"),
    ],
)
def test_what_cannot_be_is_refused(made, said):
    with pytest.raises(bz.InputError) as refused:
        made()
    assert said in str(refused.value)


def test_parameters_are_copied_in_double_precision():
    """An encoder beside it may use the same arrays in single precision; sharing them broke runs."""
    params = {"weights": LINEAR["weights"].astype(np.float32), "offset": LINEAR["offset"]}
    model = bz.Decoder(params, function=linear)
    for name, value in params.items():
        assert model.params[name].dtype == np.float64
        assert not np.shares_memory(model.params[name], value)


def test_another_function_is_another_source():
    """A sample is exact only for the decoder that made it."""
    ours = bz.Decoder(LINEAR, function=linear)
    theirs = dataclasses.replace(ours, function=lambda p, z: 2 * linear(p, z))
    assert ours.source != theirs.source
