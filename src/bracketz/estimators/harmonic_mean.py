"""The harmonic mean estimator (paper, section "The harmonic mean of the likelihood")."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.model import Model, State
from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.run import Program, run_chains
from bracketz.errors import InputError, unknown
from bracketz.estimators.base import NO_VARIANCE, Estimator
from bracketz.paths import Tempered

STARTS = ("exact", "chain")


class PosteriorChain(NamedTuple):
    state: State
    log_sum: jax.Array  # log of the sum of 1 / p(y | x)


@pytree_dataclass
class PosteriorWeights(Program):
    """Average 1 / p(y | x) along a posterior chain: the one-edge path, backwards."""

    model: Model
    y: jax.Array
    path: Path
    proposals: Any
    burn_in: Any
    exact: State | None
    from_exact: bool = static(default=True)

    sign = -1

    def start(self, key):
        shape = self.model.data_shape(self.y)
        state = self.exact if self.from_exact else self.model.sample_prior(key, shape)
        return PosteriorChain(jax.tree.map(jnp.asarray, state), -jnp.inf * jnp.ones(()))

    def step(self, key, carry, index):
        kernel = self.model.kernel(self.y, jnp.ones(self.model.num_rows(self.y)))
        state = kernel.step(key, carry.state)
        increment = -self.path.log_edge(self.model, self.y, state, 1)
        log_sum = jnp.logaddexp(carry.log_sum, jnp.where(index < self.burn_in, -jnp.inf, increment))
        return PosteriorChain(state, log_sum)

    def log_value(self, carry):
        return -(carry.log_sum - jnp.log(self.proposals))


@dataclass(frozen=True)
class HarmonicMean(Estimator):
    """Harmonic mean of the likelihood over a posterior chain; E[1/p^] = 1 / p(y).

    A stochastic upper bound from an exact sample, else no bound. E[1 / p(y | x)^2] is the prior
    average of 1 / p(y | x) over p(y), as a rule astronomical or infinite: no error bar. Cost: one
    sweep and one density per proposal.

    Args:
        proposals: states of the chain (the knob).
        start: "exact": the chain begins at the exact sample of simulated data, every state is an
            exact posterior draw, and the result is a stochastic upper bound (the paper's way).
            "chain": it begins at a prior draw and drops ``burn_in`` sweeps; then nothing is
            guaranteed and the side is none. Default: exact where there is an exact sample.
        burn_in: sweeps dropped; by default none from the exact sample, else as many as proposals.

    Raises:
        InputError: a value out of range; when run, ``start`` "exact" on observed data.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.HarmonicMean(proposals=5), trials=2).side.value
        'upper'
    """

    proposals: int = 1000
    start: str | None = None
    burn_in: int | None = None

    name = "hme"
    full_name = "harmonic mean estimator"
    cost = "one sweep and density per proposal"
    knob = "proposals"
    combine = Combine.HARMONIC
    generous = {"proposals": 500}
    allowance = None  # its weights may have no variance
    no_error_bar = NO_VARIANCE  # from the exact sample the trials share that, too

    def __post_init__(self):
        require_at_least(1, proposals=self.proposals)
        if self.start is not None and self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        if self.burn_in is not None:
            require_at_least(0, burn_in=self.burn_in)

    def _start(self, data):
        return self.start or ("exact" if data.simulated else "chain")

    def side(self, data):
        return Side.UPPER if self._start(data) == "exact" else Side.NONE

    def run(self, model, data, trials, seed, session):
        from_exact = self._start(data) == "exact"
        if from_exact and not data.simulated:
            raise InputError(
                "hme cannot start from the exact sample: observed data have none; use `start=chain`"
            )
        default = 0 if from_exact else self.proposals
        burn_in = default if self.burn_in is None else self.burn_in
        program = PosteriorWeights(
            model, data.y, Tempered().through(2), self.proposals, burn_in, data.exact, from_exact
        )
        return run_chains(
            program,
            burn_in + self.proposals,
            chains=trials,
            seed=seed,
            stream=self.name,
            session=session,
        )
