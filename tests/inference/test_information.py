"""Entropy and mutual information against exact ones: a channel in closed form, coins by
enumeration."""

import itertools
import json
import runpy
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.inference.information import DATASETS, _average, _certificate, _log_likelihood
from bracketz.inference.over_data_sets import seed_of
from tiny_instances import TINY

CHANNEL = runpy.run_path(Path(__file__).parents[2] / "examples/information/channel.py")["Channel"]()


class Which(NamedTuple):
    coin: jax.Array


class Redraw(bz.Reversible):
    def __init__(self, conditional):
        self.conditional = conditional

    def step(self, key, state):
        return Which(self.conditional.sample(key))


@bz.pytree_dataclass
class Coins(bz.Model):
    """One of three coins, thrown some times: all y can be listed."""

    heads: tuple[float, ...] = (0.1, 0.5, 0.8)

    default_shape = (4, 1)

    def sample_prior(self, key, shape):
        return Which(jax.random.randint(key, (), 0, 3, dtype=jnp.int32))

    def simulate(self, key, state, shape):
        heads = jnp.asarray(self.heads)[state.coin]
        return 1.0 * (jax.random.uniform(key, shape) < heads)

    def each(self, y, powers):
        """log f of every coin."""
        heads = jnp.asarray(self.heads)[:, None]
        rows = jnp.where(y[:, 0] > 0, jnp.log(heads), jnp.log1p(-heads))
        return rows @ powers - jnp.log(3.0)

    def log_annealed(self, state, y, powers):
        return self.each(y, powers)[state.coin]

    def kernel(self, y, powers):
        return Redraw(bz.Categorical(self.each(y, powers)))


def exact_coins() -> tuple[float, float]:
    """(I, H) from all 2^4 data sets."""
    with jax.enable_x64(True):
        y = np.array(list(itertools.product((0.0, 1.0), repeat=4)))[:, :, None]
        joint = np.asarray(jax.vmap(lambda one: Coins().each(one, jnp.ones(4)))(y))
    evidence = np.logaddexp.reduce(joint, axis=1)
    entropy = -np.sum(np.exp(evidence) * evidence)
    return entropy + np.sum(np.exp(joint) * (joint + np.log(3.0))), entropy


@pytest.fixture(scope="module")
def coins():
    with jax.enable_x64(True):
        within = (0.0, -4 * float(np.log(0.1)))
        return bz.mutual_information(Coins(), datasets=60, chains=8, within=within, seed=4)


def test_coins_by_enumeration(coins):
    """Intervals of 95 % with a fixed key, and a certificate."""
    information, entropy = exact_coins()
    assert coins.converged, coins.reason
    assert coins.information.low < information < coins.information.high
    assert coins.entropy.low < entropy < coins.entropy.high
    assert coins.certificate.low < entropy < coins.certificate.high
    assert abs(coins.information.estimate - information) < 4 * coins.information.standard_error


def test_the_certificate_is_wider_and_said_apart(coins):
    told = json.loads(json.dumps(coins.to_json(), allow_nan=False))
    assert told["interval_kind"] == "asymptotic" and told["certificate"]["confidence"] == 0.95
    assert coins.certificate.low < coins.entropy.low
    assert coins.certificate.high > coins.entropy.high
    assert any("if -log p(y) is in" in value for _, value in coins.rows())


def test_bounds_of_every_data_set_against_exact_evidence():
    """The same numbers, by enumeration: bounds average to either side of it, within five standard
    errors of the difference (1e-6)."""
    model, shape = TINY["clustering"]
    answer = bz.mutual_information(model, *shape, datasets=8, chains=25)
    exact = np.array(
        [
            model.exact_evidence(bz.simulate(model, *shape, seed=seed_of(0, DATASETS, number)).y)
            for number in range(1, 9)
        ]
    )
    for sign, bounds in ((1, answer.lowers), (-1, answer.uppers)):
        off = sign * (np.array(bounds) - exact)
        assert np.mean(off) < 5 * np.std(off, ddof=1) / 8**0.5
        assert np.all(np.abs(off) < 2)
    assert answer.entropy.estimate == pytest.approx(-exact.mean(), abs=0.3)


def test_a_channel_in_closed_form():
    answer = bz.mutual_information(CHANNEL, 4, 2, datasets=40, chains=8)
    assert answer.information.low < CHANNEL.exact_information(4, 2) < answer.information.high
    assert answer.entropy.low < CHANNEL.exact_entropy(4, 2) < answer.entropy.high


def test_a_closed_form_agrees_with_the_evidence():
    """E[-log p(y)] by 2,000 exact ones: 4.5 standard errors."""
    rng = np.random.default_rng(0)
    x = 2 * rng.normal(size=(2000, 1, 2))
    y = x + rng.normal(size=(2000, 4, 2))
    minus = np.array([-CHANNEL.exact_evidence(one) for one in y])
    error = np.std(minus) / 2000**0.5
    assert abs(np.mean(minus) - CHANNEL.exact_entropy(4, 2)) < 4.5 * error


def test_what_is_integrated_out_may_count():
    """log p(y | z, theta) is the noise's density at the residuals."""
    model, shape = TINY["clustering"]
    data = bz.simulate(model, *shape, seed=12)
    residual = data.y - data.parameters.centers[data.exact.assignments]
    variance = model.noise_variance
    density = -0.5 * np.sum(residual**2) / variance - 5 * np.log(2 * np.pi * variance)
    assert _log_likelihood(model, data, True) == pytest.approx(density, abs=1e-10)
    assert _log_likelihood(model, data, False) < density


def test_student_interval_of_known_numbers():
    found = _average(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]), np.zeros(3), 0.95)
    half = 4.302652729911275 / 3**0.5  # t with 2 degrees at 97.5 %
    assert (found.lower, found.upper) == (2.0, 3.0)
    assert found.low == pytest.approx(2 - half) and found.high == pytest.approx(3 + half)


def test_certificate_covers_with_cut_bounds():
    """500 repetitions of 30 skewed numbers, many bounds beyond the range: at most 5 % may miss;
    60 or more of 500 would have a chance below 1e-9."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(500):
        h = rng.beta(0.5, 2.0, size=30)  # the truth per data set, mean 0.2
        noise = rng.normal(0.0, 1.0, size=(2, 30))
        c = _certificate(h + noise[0] - 0.5, h + noise[1] + 0.5, (0.0, 1.0), 0.05)
        missed += not c.low < 0.2 < c.high
    assert missed < 60


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"datasets": 1}, "datasets must be at least 2"),
        ({"gap": -1.0}, "positive"),
        ({"within": (1.0, 0.0)}, "rising"),
        ({"parameters": True}, "integrated out"),
    ],
)
def test_refusals(knobs, said):
    with pytest.raises(bz.InputError, match=said):
        bz.mutual_information(Coins(), **knobs)
    with pytest.raises(bz.InputError, match="undirected"):
        bz.mutual_information(bz.Ising())


def test_resumed_and_longer(tmp_path):
    """Data sets are kept as they come: a longer run begins with those of a shorter one."""

    def run(datasets, resume):
        kept = bz.Checkpoint(tmp_path / "kept.npz", {}, resume=resume)
        session = bz.Session(checkpoint=kept)
        return bz.mutual_information(Coins(), datasets=datasets, chains=8, seed=4, session=session)

    short, long = run(3, False), run(5, True)
    assert long.lowers[:3] == short.lowers and long.uppers[:3] == short.uppers
    assert long.datasets == 5 and long.distributions == short.distributions
