"""The Bayesian information criterion."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import LikelihoodFit, PointFit
from bracketz.core.pytree import pytree_dataclass
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.run import Program, run_chains
from bracketz.estimators.base import BEST_OF_SEVERAL, Estimator

#: Nats gained by one update, below which a climb has arrived.
TOLERANCE = 1e-4
MAX_UPDATES = 1000


@pytree_dataclass
class BestFit(Program):
    """A step is a restart, climbed until the likelihood stands still; the carry is the best value
    yet."""

    model: PointFit
    y: jax.Array | np.ndarray

    def start(self, key):
        return -jnp.inf * jnp.ones(())

    def _fit(self) -> LikelihoodFit:
        return self.model.maximum_likelihood(self.y)

    def step(self, key, best, index):
        fit = self._fit()

        def climb(carry):
            parameters, value, _, count = carry
            parameters = fit.update(parameters)
            return parameters, fit.log_likelihood(parameters), value, count + 1

        def rising(carry):
            _, value, before, count = carry
            return (value - before > TOLERANCE) & (count < MAX_UPDATES)

        parameters = fit.start(key)
        first = (parameters, fit.log_likelihood(parameters), -jnp.inf * jnp.ones(()), 0)
        return jnp.maximum(best, jax.lax.while_loop(rising, climb, first)[1])

    def log_value(self, best):
        return best - 0.5 * self._fit().num_parameters * jnp.log(self.y.shape[0])


@dataclass(frozen=True)
class BIC(Estimator):
    """log-likelihood at the best of several maximum-likelihood fits, less (d / 2) log N. No bound.

    Latent variables are summed or integrated out: EM for clustering, closed-form probabilistic PCA
    for low rank, EM over all 2^K attribute rows for binary. d counts free parameters: K D for
    clustering and binary attributes, K D - K (K - 1) / 2 for low rank, where rotations change
    nothing. Cost: ``restarts`` fits.

    Args:
        restarts: fits from random starts, of which the best counts (the knob).

    Raises:
        InputError: fewer than one restart.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.BIC(restarts=2), trials=2).side.value
        'none'
    """

    restarts: int = 10

    name = "bic"
    full_name = "Bayesian information criterion"
    cost = "restarts fits"
    knob = "restarts"
    combine = Combine.MAXIMUM
    no_error_bar = BEST_OF_SEVERAL
    consistent = False
    requires = (PointFit,)

    def __post_init__(self):
        require_at_least(1, restarts=self.restarts)

    def side(self, data):
        return Side.NONE

    def run(self, model, data, trials, seed, session):
        model.maximum_likelihood(data.y)  # refuses a model too large before anything compiles
        program = BestFit(model, data.y)
        return run_chains(
            program, self.restarts, chains=trials, seed=seed, stream=self.name, session=session
        )
