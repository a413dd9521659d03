"""Of several optimisations the best is kept, each run until it stands still."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.core.capabilities import LikelihoodFit
from bracketz.estimators.bic import BestFit
from bracketz.estimators.variational_bayes import BestOptimum

#: Where an optimisation ends, and how far below it begins: every update halves the distance.
LIMITS = np.array([-3.0, 2.0, 0.5, 4.0, 1.0])


@bz.pytree_dataclass
class Hill(LikelihoodFit):
    """A climb from ``limit`` - 8 to ``limit``; which one a restart gets its key tells."""

    num_parameters = 4

    def start(self, key):
        return jnp.stack([jnp.asarray(LIMITS)[key], jnp.asarray(8.0)])

    def start_at(self, state, parameters):
        return jnp.stack([jnp.asarray(state), jnp.asarray(parameters)])

    def update(self, q):
        return q.at[1].multiply(0.5)

    @property
    def updates(self):
        return (self.update,)

    def objective(self, q):
        return q[0] - q[1]

    log_likelihood = objective


@bz.pytree_dataclass
class Hills:
    def variational(self, y):
        return Hill()

    maximum_likelihood = variational


def climbed(tolerance, at_a_time):
    """How far below its limit a climb stops: by the rule, step by step."""
    distance, gain = 8.0, np.inf
    while gain >= tolerance:
        after = distance * 0.5**at_a_time
        gain, distance = distance - after, after
    return distance


@pytest.mark.parametrize(
    ("program", "left"),
    [
        (BestOptimum(Hills(), np.zeros((3, 1)), None, None), 0.0),
        (BestFit(Hills(), np.zeros((3, 1))), None),
    ],
    ids=["vb", "bic"],
)
def test_the_best_restart_is_kept(program, left):
    """After k restarts: the highest of the first k, and no other."""
    left = climbed(1e-4, 1) if left is None else climbed(0.01, 50)
    step = jax.jit(program.step)
    best = program.start(jax.random.key(0))
    assert best == -np.inf
    for k in range(len(LIMITS)):
        best = step(k, best, k)
        assert float(best) == pytest.approx(LIMITS[: k + 1].max() - left, abs=1e-12)
    penalty = 0.5 * 4 * np.log(3) if isinstance(program, BestFit) else 0.0
    assert float(program.log_value(best)) == pytest.approx(float(best) - penalty)


def test_a_hint_is_where_the_climb_begins():
    program = BestOptimum(Hills(), np.zeros((3, 1)), np.float64(7.0), np.float64(1.0), True)
    assert float(program.step(None, -jnp.inf, 0)) == pytest.approx(7.0, abs=1e-9)


def test_trials_of_restarts_are_the_best_of_them():
    values = np.array([-3.0, -1.0, -2.0])
    for estimator in (bz.BIC, bz.VariationalBayes, bz.SymmetricVariationalBayes):
        assert estimator.combined(values)[0] == -1.0


@pytest.mark.parametrize("scores", [(10, 1, 2, 9, 3, 4), (0, 7, 2, 3, 4, 5), (0, 1, 2, 3, 4, 8)])
def test_the_best_reference_is_kept(monkeypatch, scores):
    """Of all but the prior, whenever it was found; a round goes on along the best schedule yet."""
    pilot = importlib.import_module("bracketz.models.hyper_pilot")
    given = iter(scores)
    along = []

    def annealed(self, q, schedule, name):
        along.append(schedule)
        found = pilot.Found(q, float(next(given)), f"after {name}", np.zeros(3), np.zeros(3))
        return found

    monkeypatch.setattr(pilot.Pilot, "annealed", annealed)
    monkeypatch.setattr(pilot.Pilot, "settled", lambda self: "settled")
    monkeypatch.setattr(pilot, "matched", lambda priors, hyper, weights, spread: spread)
    model = bz.InferredClustering(components=2)
    prior, best = pilot.search(model, None, seed=0, chains=20, note=lambda text: None)
    assert prior.score == scores[0] and best.score == max(scores[1:])
    first = "after reference"
    round_one = scores[1:4]
    names = ["after reference", "after reference 1, 1.0", "after reference 1, 0.1"]
    assert along[2:4] == [first, first]
    assert along[4:6] == [names[int(np.argmax(round_one))]] * 2
