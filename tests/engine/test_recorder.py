"""What kernels report reaches the recorder, averaged as it should be, and changes no bit."""

import dataclasses
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.kernel import Reversible
from bracketz.engine.anneal import Forward, Reverse
from bracketz.engine.recorder import CELLS, Recorded, mean_reports

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


class Place(NamedTuple):
    place: jax.Array


@dataclasses.dataclass(frozen=True)
class Telling(Reversible):
    """Leaves the state alone and reports the power it was made for."""

    power: jax.Array
    reports = ("power", "one")

    def step(self, key, state):
        return state

    def step_and_report(self, key, state):
        return state, {"power": self.power, "one": jnp.ones(())}


@bz.pytree_dataclass
class Thermometer(bz.Model):
    def sample_prior(self, key, shape):
        return Place(jax.random.uniform(key))

    def simulate(self, key, state, shape):
        return jnp.zeros(shape)

    def log_annealed(self, state, y, powers):
        return jnp.sum(powers) * state.place

    def kernel(self, y, powers):
        return Telling(powers[0])


def recorded(program, edges, chains=3):
    return bz.run_chains(
        Recorded(program), edges, chains=chains, seed=0, stream="s", session=bz.Session()
    )


@pytest.mark.parametrize("sweeps", [1, 3])
def test_reports_lie_along_the_path_in_both_directions(sweeps):
    model, y, edges = Thermometer(), np.zeros((2, 1)), 20
    path = bz.Tempered(bz.Linear()).through(edges + 1)
    exact = Place(jnp.asarray(0.5))
    runs = [
        recorded(Forward(model, y, path, sweeps), edges),
        recorded(Reverse(model, y, path, exact, sweeps), edges),
    ]
    for outcomes in ([runs[0]], [runs[1]], runs):
        found = mean_reports(edges, *outcomes)
        np.testing.assert_allclose(found["power"], np.arange(1, edges + 1) / edges)
        np.testing.assert_allclose(found["one"], 1.0)


def test_compositions_average_what_their_parts_report():
    key, state = jax.random.key(0), jnp.zeros(2)
    quiet = bz.Compose(())
    both = bz.Compose((Telling(jnp.asarray(0.2)), quiet, Telling(jnp.asarray(0.6))))
    assert both.reports == ("power", "one") and quiet.reports == ()
    assert float(both.step_and_report(key, state)[1]["power"]) == pytest.approx(0.4)
    _, report = bz.Repeat(both, 3).step_and_report(key, state)
    assert float(report["power"]) == pytest.approx(0.4)


def test_metropolis_reports_how_often_it_accepts_and_how_far_it_moves():
    walk = bz.Metropolis(lambda x: -0.5 * jnp.sum(x**2), 1.5)
    keys = jax.random.split(jax.random.key(1), 4000)
    starts = jax.random.normal(jax.random.key(2), (4000, 1))
    new, report = jax.vmap(walk.step_and_report)(keys, starts)
    np.testing.assert_array_equal(new, jax.vmap(walk.step)(keys, starts))
    moved = np.asarray(new != starts)[:, 0]
    # The share that moved is the mean acceptance: 4,000 steps know it to 0.008; 4.5 of these.
    assert abs(moved.mean() - np.mean(report["acceptance"])) < 0.035
    np.testing.assert_allclose(report["move"], np.abs(new - starts)[:, 0])


@pytest.mark.slow
def test_the_sandwich_says_what_its_kernels_reported():
    from regression import PolynomialRegression

    model = PolynomialRegression()
    data = bz.simulate(model, seed=3)
    answer = bz.sandwich(model, data, first=600, max_effort=600, chains=5)
    acceptance = np.array(answer.reports["acceptance"])
    assert acceptance.shape == (CELLS,) and np.all((acceptance > 0) & (acceptance <= 1))
    assert answer.to_json()["reports"]["acceptance"] == pytest.approx(acceptance.mean())
    assert "acceptance" in dict(answer.rows())
    quiet = bz.Clustering(components=2)
    assert bz.sandwich(quiet, bz.simulate(quiet, 6, 2), gap=1e9, chains=4).reports == {}
