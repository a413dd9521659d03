"""Likelihood weighting (paper, section "Likelihood weighting"): the one-edge path, forwards."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.run import Program, run_chains
from bracketz.estimators.base import Estimator
from bracketz.paths import Tempered

#: Proposals drawn side by side in one step; memory does not grow with their number.
BATCH = 64


class RunningMean(NamedTuple):
    """log of a sum of weights, in constant memory."""

    log_sum: jax.Array


@pytree_dataclass
class PriorWeights(Program):
    """Average p(y | x) over draws from the prior, BATCH at a step."""

    model: Model
    y: jax.Array
    path: Path
    proposals: Any

    def start(self, key):
        return RunningMean(-jnp.inf * jnp.ones(()))

    def step(self, key, carry, index):
        def weight(key):
            state = self.model.sample_prior(key, self.model.data_shape(self.y))
            return self.path.log_edge(self.model, self.y, state, 1)

        log_weights = jax.vmap(weight)(jax.random.split(key, BATCH))
        wanted = index * BATCH + jnp.arange(BATCH) < self.proposals
        log_sum = jax.nn.logsumexp(jnp.where(wanted, log_weights, -jnp.inf))
        return RunningMean(jnp.logaddexp(carry.log_sum, log_sum))

    def log_value(self, carry):
        return carry.log_sum - jnp.log(self.proposals)


@dataclass(frozen=True)
class LikelihoodWeighting(Estimator):
    """Average likelihood of prior draws; unbiased, so a stochastic lower bound.

    Hopeless in high dimension. Cost: one density per proposal.

    Args:
        proposals: draws from the prior (the knob).

    Raises:
        InputError: fewer than one proposal.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.LikelihoodWeighting(proposals=64), trials=2).side.value
        'lower'
    """

    proposals: int = 1000

    name = "lw"
    full_name = "likelihood weighting"
    cost = "one density per proposal"
    knob = "proposals"
    combine = Combine.ARITHMETIC
    certifies = True
    generous = {"proposals": 20_000}

    def __post_init__(self):
        require_at_least(1, proposals=self.proposals)

    def side(self, data):
        return Side.LOWER

    def run(self, model, data, trials, seed, session):
        program = PriorWeights(model, data.y, Tempered().through(2), self.proposals)
        steps = -(-self.proposals // BATCH)
        return run_chains(
            program, steps, chains=trials, seed=seed, stream=self.name, session=session
        )
