"""Distance from the posterior against exact divergences of Gaussians."""

import json
import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.weights import mean_interval
from bracketz.inference.distance import Reading
from bracketz.inference.over_data_sets import seed_of
from bracketz.inference.quality import DATASETS

CHANNEL = runpy.run_path(Path(__file__).parents[2] / "examples/information/channel.py")["Channel"]()
SHAPE = (4, 2)


class Gauss(bz.Approximation):
    """Of the posterior N(m, v): N(m + shift, widened v)."""

    def __init__(self, y, shift=0.0, widened=1.0):
        precision = 1 / CHANNEL.signal_variance + len(y) / CHANNEL.noise_variance
        self.mean = np.sum(y, axis=0) / CHANNEL.noise_variance / precision + shift
        self.scale = (widened / precision) ** 0.5

    def sample(self, key):
        noise = jax.random.normal(key, self.mean.shape)
        return type(bz.simulate(CHANNEL, *SHAPE).exact)(self.mean + self.scale * noise)

    def log_density(self, state):
        return jnp.sum(jax.scipy.stats.norm.logpdf(state.signal, self.mean, self.scale))


def test_an_approximation_has_the_divergence_of_gaussians():
    """J of two normals is (s + 1/s)/2 - 1 + shift^2 (1 + 1/s) / (2 v) per column, on every data
    set: four standard errors of 30 data sets."""
    shift, widened = 0.3, 1.7
    answer = bz.quality(
        CHANNEL,
        *SHAPE,
        approximation=lambda model, y: Gauss(y, shift, widened),
        datasets=30,
        chains=200,
    )
    (reading,) = answer.readings
    v = 1 / (1 / CHANNEL.signal_variance + 4 / CHANNEL.noise_variance)
    exact = 2 * ((widened + 1 / widened) / 2 - 1 + shift**2 * (1 + 1 / widened) / (2 * v))
    assert reading.distributions is None
    assert abs(reading.jeffreys - exact) < 4 * reading.standard_error < 2.5


def test_the_posterior_itself_is_at_distance_zero():
    answer = bz.quality(
        CHANNEL, *SHAPE, approximation=lambda model, y: Gauss(y), datasets=3, chains=4
    )
    (reading,) = answer.readings
    assert np.allclose(reading.each, 0.0, atol=1e-10)


def test_draws_share_no_random_number_with_what_made_the_data():
    """Where q's draw were the data's own noise, it would not follow q given the data."""
    seen = []

    class Watched(Gauss):
        def sample(self, key):
            jax.debug.callback(
                lambda data: seen.append(tuple(np.array(data))), jax.random.key_data(key)
            )
            return super().sample(key)

    bz.quality(
        CHANNEL, *SHAPE, approximation=lambda model, y: Watched(y), datasets=2, chains=16, seed=5
    )
    made = set()
    for number in range(2):
        root = jax.random.key(seed_of(5, DATASETS, number), impl="threefry2x32")
        keys = [root, *jax.random.split(root, 16), *jax.random.split(root, 3)]
        made |= {tuple(np.array(jax.random.key_data(key))) for key in keys}
    assert len(set(seen)) == 32 and not made & set(seen)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_an_infinite_value_leaves_no_interval(bad):
    found = mean_interval(np.array([1.0, 2.0, bad]), 0.95)
    assert (found.mean, found.error, found.low, found.high) == (bad, np.inf, -np.inf, np.inf)


def test_an_interval_below_zero_says_nothing_of_total_variation():
    reading = Reading(16, -1.0, 0.1, -1.2, -0.8, 0.95, (-1.0,))
    assert reading.total_variation == 1.0


def exact_gap(y, length) -> float:
    """Of perfectly mixing chains: sum over edges of (b' - b) (E_b' - E_b)[log-likelihood]."""
    betas = np.asarray(bz.Tempered().through(length).inverse_temperature(np.arange(length)))
    precision = 1 / CHANNEL.signal_variance + betas * len(y) / CHANNEL.noise_variance
    means = betas[:, None] * y.sum(0) / CHANNEL.noise_variance / precision[:, None]
    squares = np.sum((y[None] - means[:, None]) ** 2, axis=(1, 2)) + y.size / precision
    expected = -0.5 * squares / CHANNEL.noise_variance
    return float(np.diff(betas) @ np.diff(expected))


@pytest.fixture(scope="module")
def channel():
    with jax.enable_x64(True):
        return bz.quality(CHANNEL, *SHAPE, distributions=(4, 16), datasets=12, chains=50)


def test_annealed_chains_have_the_gap_of_perfect_mixing(channel):
    """The kernel draws afresh, so J is known for every data set; the mean difference is judged
    by four standard errors over data sets (6e-5, two readings)."""
    from bracketz.inference.quality import DATASETS

    for reading in channel.readings:
        exact = []
        for number in range(12):
            own = int(np.random.default_rng([0, DATASETS, number]).integers(1 << 31))
            exact.append(exact_gap(bz.simulate(CHANNEL, *SHAPE, seed=own).y, reading.distributions))
        off = np.array(reading.each) - exact
        assert abs(off.mean()) < 4 * np.std(off, ddof=1) / 12**0.5
    assert channel.readings[1].jeffreys < channel.readings[0].jeffreys
    assert 0 < channel.readings[1].total_variation < channel.readings[0].total_variation <= 1


def small_steps(model, y, powers):
    """A random walk that mixes slowly."""
    return bz.Metropolis(lambda state: model.log_annealed(state, y, powers), 0.1)


def test_a_kernel_of_ones_own_that_mixes_worse_is_further_away(channel):
    slow = bz.quality(
        CHANNEL, *SHAPE, distributions=(4, 16), kernel=small_steps, datasets=12, chains=50
    )
    assert slow.sampler == "small_steps"
    assert slow.readings[1].low > channel.readings[1].high
    told = json.loads(json.dumps(slow.to_json(), allow_nan=False))
    assert told["interval_kind"] == "asymptotic" and len(told["readings"]) == 2


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"distributions": ()}, "at least 2"),
        ({"distributions": (1, 5)}, "at least 2"),
        ({"kernel": small_steps, "approximation": Gauss}, "not both"),
        ({"datasets": 1}, "at least 2"),
    ],
)
def test_refusals(knobs, said):
    with pytest.raises(bz.InputError, match=said):
        bz.quality(CHANNEL, **knobs)
