"""Variational Bayes (paper, section "Variational Bayes"), with and without the symmetry
correction."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Variational
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.run import Program, run_chains
from bracketz.errors import InputError, unknown
from bracketz.estimators.base import BEST_OF_SEVERAL, Estimator

#: The paper's rule: stop when 50 iterations gain less than 0.01 nats.
ITERATIONS, GAIN = 50, 0.01
MAX_BLOCKS = 400
STARTS = ("random", "hint")


@pytree_dataclass
class BestOptimum(Program):
    """A step is a restart, run to its optimum; the carry is the best objective yet."""

    model: Variational
    y: jax.Array | np.ndarray
    exact: Any
    parameters: Any
    hint: bool = static(default=False)

    def start(self, key):
        return -jnp.inf * jnp.ones(())

    def step(self, key, best, index):
        family = self.model.variational(self.y)

        def iterate(_, q):
            for update in family.updates:
                q = update(q)
            return q

        def block(carry):
            q, value, _, count = carry
            q = jax.lax.fori_loop(0, ITERATIONS, iterate, q)
            return q, family.objective(q), value, count + 1

        def rising(carry):
            _, value, before, count = carry
            return (value - before >= GAIN) & (count < MAX_BLOCKS)

        q = family.start_at(self.exact, self.parameters) if self.hint else family.start(key)
        first = (q, family.objective(q), -jnp.inf * jnp.ones(()), 0)
        return jnp.maximum(best, jax.lax.while_loop(rising, block, first)[1])

    def log_value(self, best):
        return best


@dataclass(frozen=True)
class VariationalBayes(Estimator):
    """The best bound E_q[log p(x, y)] + H[q] over random restarts: log p(y) - KL(q || posterior).

    q factors into latents and parameters. A true lower bound. Cost: ``restarts`` optimisations,
    each until 50 iterations gain less than 0.01 nats.

    Args:
        restarts: optimisations from random starts, of which the best counts (the knob).
        start: "random", or "hint": begin at the sample that generated the data (simulated data
            only).

    Raises:
        InputError: a value out of range; when run, a hint on observed data.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.VariationalBayes(restarts=2), trials=2).side.value
        'lower'
    """

    restarts: int = 10
    start: str = "random"

    name = "vb"
    full_name = "variational Bayes"
    cost = "restarts optimisations"
    knob = "restarts"
    combine = Combine.MAXIMUM
    no_error_bar = BEST_OF_SEVERAL
    generous = {"restarts": 4}
    consistent = False
    requires = (Variational,)

    def __post_init__(self):
        require_at_least(1, restarts=self.restarts)
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)

    def side(self, data):
        return Side.LOWER

    def run(self, model, data, trials, seed, session):
        hint = self.start == "hint"
        if hint and not data.simulated:
            raise InputError("vb has no hint to start from on observed data; use `start=random`")
        program = BestOptimum(
            model, data.y, data.exact if hint else None, data.parameters if hint else None, hint
        )
        return run_chains(
            program, self.restarts, chains=trials, seed=seed, stream="vb", session=session
        )


@dataclass(frozen=True)
class SymmetricVariationalBayes(VariationalBayes):
    """VB plus log K!, for the relabelings of the components. No longer a bound: modes may overlap.

    Same cost and knobs as VB.

    Args:
        restarts: optimisations from random starts, of which the best counts (the knob).
        start: "random", or "hint": begin at the sample that generated the data (simulated data
            only).

    Raises:
        InputError: a value out of range; when run, a hint on observed data.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.SymmetricVariationalBayes(restarts=2), trials=2).side.value
        'none'
    """

    name = "vb-sym"
    full_name = "variational Bayes, symmetry-corrected"

    def side(self, data):
        return Side.NONE

    def run(self, model, data, trials, seed, session):
        outcome = super().run(model, data, trials, seed, session)
        return outcome._replace(
            log_values=outcome.log_values + model.variational(data.y).log_relabelings
        )
