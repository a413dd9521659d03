"""A forward weight of 0 (log weight -inf) is legal: it counts as 0 and voids nothing."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz


class Place(NamedTuple):
    place: jax.Array


@bz.pytree_dataclass
class Windows(bz.Model):
    """x ~ N(0, 1), y_i uniform on [x, x + 2]: most x make some y_i impossible."""

    def sample_prior(self, key, shape):
        return Place(jax.random.normal(key))

    def simulate(self, key, state, shape):
        return state.place + 2 * jax.random.uniform(key, shape)

    def log_annealed(self, state, y, powers):
        inside = jnp.all((y >= state.place) & (y <= state.place + 2), axis=1)
        rows = jnp.where(inside, y.shape[1] * jnp.log(0.5), -jnp.inf)
        prior = -0.5 * (state.place**2 + jnp.log(2 * jnp.pi))
        return prior + jnp.sum(jnp.where(powers > 0, powers * rows, 0.0))

    def kernel(self, y, powers):
        return bz.Metropolis(lambda state: self.log_annealed(state, y, powers), scale=0.3)


Y = np.array([[0.4], [1.3], [1.7]])
#: x must lie in [1.7 - 2, 0.4].
TRUTH = math.log(0.5 * (math.erf(0.4 / math.sqrt(2)) - math.erf(-0.3 / math.sqrt(2))) / 2**3)


@pytest.mark.parametrize(
    "estimator",
    [
        bz.AIS(distributions=4),
        bz.SMC(transitions=1, particles=4),
        bz.SMC(transitions=1, particles=2, resampling="residual", resample_threshold=1.0),
        bz.LikelihoodWeighting(proposals=2),
    ],
    ids=["ais", "smc", "smc, always", "lw"],
)
def test_weights_of_zero_count_as_zero(estimator):
    """Against the closed form, within four standard errors: false alarms 6e-5 each. AIS crosses
    further edges after a chain's weight is 0, which made it NaN; a trial whose particles are all
    dead stays at 0, and dead particles are replaced by living ones where resampling is due."""
    answer = bz.estimate(Windows(), Y, estimator, trials=4000)
    values = np.array(answer.log_ml_trials)
    assert not np.any(np.isnan(values))
    assert np.any(np.isneginf(values)) and np.any(np.isfinite(values))
    assert abs(answer.log_ml - TRUTH) < 4 * answer.standard_error < 0.3


def test_metropolis_reports_numbers_from_impossible_states():
    walk = Windows().kernel(jnp.asarray(Y), jnp.ones(3))
    state, report = walk.step_and_report(jax.random.key(0), Place(jnp.asarray(90.0)))
    assert state.place == 90.0 and report["acceptance"] == 0.0 and report["move"] == 0.0
