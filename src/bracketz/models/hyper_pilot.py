"""The pilot that finds a reference of the hyperparameters (``hyper_reference``).

    1. Chains begin at prior draws and sweep at power 1. Many end in some mode, not in the best; q
       is matched to where the better ones are.
    2. Chains anneal in ``DISTRIBUTIONS`` steps, from q and from the prior.
    3. q is matched again to where all of these ended, by their weights, and chains anneal from it
       along a schedule adapted to the best ones: with the matched variances, and with a tenth of
       them. That is done twice, and the best of all q is taken.

A narrow q is often the better one: it holds the hyperparameters until the latents have found their
places, and lets them go at the end of the path. Which is best is judged by the median of log w:
each chain's log w is below log p(y) on average, whatever q is, so higher is nearer. Where chains
disagree (by log joint after 1, by log w later), those that are far below do not count: weights are
as sharp as leaves a third of a run's chains (effective sample size).

Labels cannot be told apart, and chains do not agree on them, so q has the same law for every
component (``conjugate.matched``). A reference that knew one labelling would be wrong for the
others, and for reverse runs from an exact sample that has another.

All of it depends on y and on the pilot's own random numbers, never on an exact sample. Cost: some
forty chains of ``SWEEPS`` sweeps and of six times ``DISTRIBUTIONS``.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.model import Model
from bracketz.engine.anneal import Forward
from bracketz.engine.recorder import Recorded
from bracketz.engine.run import Outcome, run_chains
from bracketz.engine.schedule import adapt, initial_table
from bracketz.engine.session import Session
from bracketz.models.hyper_reference import begun_at, inferred
from bracketz.paths import Tempered
from bracketz.paths.schedules import Adapted

#: Chains altogether, at the least; and of one batch, where the caller's are too few or too many.
CHAINS, BATCH = 40, 20
FEWEST, MOST = 10, 128
#: Sweeps at power 1, and distributions of an annealing run.
SWEEPS, DISTRIBUTIONS = 200, 256
#: How often q is matched again, and what its variances are multiplied by.
ROUNDS, SPREADS = 2, (1.0, 0.1)
#: Effective chains that weights leave.
KEPT = CHAINS / 3


class Found(NamedTuple):
    """Where chains may begin, how well that went, and where they ended."""

    q: Any  # the hyperparameters' NamedTuple of laws
    score: float  # median of log w
    schedule: Adapted
    hyper: Any  # at the end, leading axis chains
    log_values: np.ndarray


class Pilot:
    """Runs forward chains of a model with inferred hyperparameters, from any q."""

    def __init__(self, model: Model, y, seed: int, chains: int | None):
        self.model, self.y, self.seed = model, y, seed
        self.chains = chains if chains and FEWEST <= chains <= MOST else BATCH
        inner = inferred(model)
        assert inner is not None
        self.priors = _arrays(inner.priors)

    def _run(self, q, path: Tempered, sweeps: int, name: str) -> tuple[list[Outcome], Any]:
        """(outcomes by batch, states at the end). Paths of one structure and the caller's number
        of chains: one compiled program serves all, and the caller's runs."""
        program = Recorded(Forward(begun_at(self.model, q), self.y, path, sweeps))
        outcomes = [
            run_chains(
                program,
                path.num_edges,
                chains=self.chains,
                seed=self.seed,
                stream=f"hyperparameters: {name}, batch {batch}",
                session=Session(),
            )
            for batch in range(1, math.ceil(CHAINS / self.chains) + 1)
        ]
        ends = [outcome.carry.particles.states for outcome in outcomes]
        states = jax.tree.map(lambda *a: np.concatenate([np.asarray(b)[:, 0] for b in a]), *ends)
        return outcomes, states

    def settled(self) -> Any:
        """q matched to where sweeps at power 1 lead from prior draws."""
        path = Tempered(Adapted().frozen(initial_table())).through(2)
        _, states = self._run(self.priors, path, SWEEPS, "sweeps")
        joint = np.asarray(_log_joint(self.model, self.y, states))
        return matched(self.priors, states.hyper, joint)

    def annealed(self, q, schedule: Adapted, name: str) -> Found:
        """Chains from q, along a schedule, which is then adapted to them."""
        path = Tempered(schedule).through(DISTRIBUTIONS)
        outcomes, states = self._run(q, path, 1, name)
        log_values = np.concatenate([outcome.log_values for outcome in outcomes])
        table = adapt(np.asarray(schedule.table), path.num_edges, *outcomes)
        score = float(np.median(log_values))
        return Found(q, score, Adapted().frozen(table), states.hyper, log_values)


def search(model: Model, y, *, seed: int, chains: int | None, note) -> tuple[Found, Found]:
    """(from the prior, from the best reference found); see the module docstring."""
    pilot = Pilot(model, y, seed, chains)
    first = Adapted().frozen(initial_table())
    prior = pilot.annealed(pilot.priors, first, "prior")
    best = pilot.annealed(pilot.settled(), first, "reference")
    runs = [prior, best]
    for number in range(1, ROUNDS + 1):
        note(f"pilot: {best.score:.1f} from a reference, {prior.score:.1f} from the prior")
        hyper = jax.tree.map(lambda *a: np.concatenate(a), *(run.hyper for run in runs))
        log_values = np.concatenate([run.log_values for run in runs])
        for spread in SPREADS:
            q = matched(pilot.priors, hyper, log_values, spread)
            runs.append(pilot.annealed(q, best.schedule, f"reference {number}, {spread}"))
        best = max(runs[1:], key=lambda found: found.score)
    return prior, best


def matched(priors, hyper, log_weights: np.ndarray, spread: float = 1.0):
    """Laws of the priors' classes, matched to hyperparameters (leading axis chains)."""
    weights = tempered_weights(log_weights, KEPT)
    laws = (
        type(prior).matched(np.asarray(values), weights).widened(spread)
        for prior, values in zip(priors, hyper, strict=True)
    )
    return _arrays(type(priors)(*laws))


def tempered_weights(log_weights: np.ndarray, least: float) -> np.ndarray:
    """Proportional to w^c, c the largest power up to 1 that leaves this effective sample size."""

    def at(c):
        w = np.exp(c * (log_weights - log_weights.max()))
        return w / w.sum()

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        enough = 1 / np.sum(at(middle) ** 2) >= least
        low, high = (middle, high) if enough else (low, middle)
    return at(low)


def _arrays(laws):
    """Laws of arrays of one type, so that all compile alike."""
    return jax.tree.map(lambda a: np.asarray(a, dtype=float), laws)


@jax.jit
def _log_joint(model: Model, y, states):
    ones = jnp.ones(model.num_rows(y))
    return jax.vmap(lambda state: model.log_annealed(state, y, ones))(states)
