"""At the end of a run: what a sweep takes from its cache against a rebuild."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.engine import anneal
from bracketz.engine.anneal import Forward
from bracketz.engine.recorder import Recorded
from bracketz.engine.run import MAX_DRIFT
from bracketz.models.clustering.gibbs import ClusteringGibbs
from tiny_instances import TINY

PATH = bz.Tempered().through(3)


def run(model, data, wrap=lambda program: program):
    program = wrap(Forward(model, data.y, PATH))
    return bz.run_chains(program, 2, chains=2, seed=0, stream="audited")


@dataclasses.dataclass(frozen=True, eq=False)
class Forgetful(ClusteringGibbs):
    """Leaves half of a point in the sums when it goes."""

    def insert(self, cache, row, latent):
        kept = super().insert(cache, row, latent)
        return kept._replace(weighted_sum=kept.weighted_sum + 0.5 * row.c * row.y)


@bz.pytree_dataclass
class Own(bz.Clustering):
    def kernel(self, y, powers):
        return Forgetful(super()._gibbs(y, powers).rows, model=self)

    def doubtful(self, y, states=None):
        return True


@pytest.mark.parametrize("wrap", [lambda program: program, Recorded])
def test_a_cache_that_drifts_ends_the_run(wrap):
    model = Own(components=2)
    data = bz.simulate(model, 5, 2, seed=1)
    with pytest.raises(bz.NumericalError, match=r"sweep of 'audited' takes from its cache is off"):
        run(model, data, wrap)


def test_the_usual_arithmetic_is_caught_where_it_does_not_hold():
    """Nobody asked ``suited_to``."""
    model = bz.Clustering(components=2, noise_variance=1e-14)
    data = bz.simulate(model, 6, 2, seed=2)
    assert model.doubtful(data.y)
    with pytest.raises(bz.NumericalError, match=r"rescale the data .* see what bracketz check"):
        run(model, data)
    suited = model.suited_to(data.y)
    assert Forward(suited, data.y, PATH).audit(run(suited, data).carry) is None


@pytest.mark.parametrize("name", ["clustering", "binary-bits"])
def test_a_sound_cache_does_not_drift(name):
    model, shape = TINY[name]
    data = bz.simulate(model, *shape, seed=4)
    y, ones = jnp.asarray(data.y), jnp.ones(shape[0])

    @jax.jit
    def drift(state):
        return bz.Repeat(model.kernel(y, ones), 1).drift(
            state, lambda i: bz.Repeat(model.kernel(y, ones.at[i].set(0.0)), 1)
        )

    assert float(drift(jax.tree.map(jnp.asarray, data.exact))) < 1e-12 < MAX_DRIFT


def test_ordinary_runs_of_shipped_models_do_not_pay_for_it(monkeypatch):
    monkeypatch.setattr(anneal, "_drifts", lambda *_: pytest.fail("compiled for nothing"))
    for name in ("clustering", "low-rank", "binary-bits"):
        model, shape = TINY[name]
        data = bz.simulate(model, *shape, seed=4)
        states = jax.tree.map(lambda a: np.stack([a, a])[:, None], data.exact)
        assert Forward(model, data.y, PATH).audit(anneal.Particles(states, None)) is None


def test_small_variances_in_the_state_raise_a_doubt():
    model = bz.InferredClustering(2)
    data = bz.simulate(model, 6, 2, seed=1)
    states = jax.tree.map(lambda a: np.stack([a, a]), data.exact)
    assert not model.doubtful(data.y, states)
    small = states.hyper._replace(noise_variance=np.array([1.0, 1e-9]))
    assert model.doubtful(data.y, states._replace(hyper=small))
