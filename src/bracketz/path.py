"""Paths: sequences of rows of powers b_0 = 0, ..., b_E = 1, and what crossing an edge does.

Edge t (1..E) leads from row t-1 to row t. Crossed forwards (``extend``) it yields an increment of
log w; crossed backwards (``retract``) it yields the same expression, to be subtracted.
The number of edges is a traced value, so one compilation serves every length.
"""

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.errors import InputError, unknown
from bracketz.models.base import Model, Predictive
from bracketz.pytree import pytree_dataclass, static
from bracketz.runtime import use_all_cores

SCHEDULES = ("sigmoid", "linear", "adapted")
PROPOSALS = ("posterior", "prior")


class Path(ABC):
    """Rows of powers, and the two ways across an edge."""

    num_edges: Any

    @abstractmethod
    def powers(self, t, num_rows: int) -> jax.Array:
        """Row b_t, (num_rows,); t = 0..num_edges."""

    def log_edge(self, model: Model, y, state, t):
        """log f(x; b_t) - log f(x; b_{t-1}): the only home of the weight increment."""
        rows = jnp.stack([self.powers(t, y.shape[0]), self.powers(t - 1, y.shape[0])])
        after, before = jax.vmap(lambda powers: model.log_annealed(state, y, powers))(rows)
        return after - before

    def extend(self, key, model: Model, y, state, t):
        """Cross edge t forwards: (state, log-weight increment)."""
        return state, self.log_edge(model, y, state, t)

    def retract(self, key, model: Model, y, state, t):
        """Cross edge t backwards: (state, the increment to subtract)."""
        return state, self.log_edge(model, y, state, t)


@pytree_dataclass
class Tempered(Path):
    """All points share one inverse temperature: b_t = beta_t * 1. Two distributions make one edge.

    "sigmoid" is the paper's schedule for T distributions, with beta~_t = sigmoid(delta (2t/T - 1)) and
    beta_t = (beta~_t - beta~_1) / (beta~_T - beta~_1), t = 1..T: denser near both ends. "linear" is
    equally spaced. "adapted" reads beta off a frozen ``table`` (``bracketz.schedule`` makes it from a pilot):
    beta_t is the table at t / E, its entries equally spaced on [0, 1] and joined by straight lines. The table is
    traced, so one compilation serves them all.
    """

    num_edges: Any
    schedule: str = static(default="sigmoid")
    delta: float = 4.0
    table: Any = None  # (knots,), rising from 0 to 1; "adapted" alone has one

    def inverse_temperature(self, t):
        last = jnp.asarray(self.num_edges, dtype=float)
        t = jnp.asarray(t, dtype=float)
        if self.schedule == "linear":
            return t / last
        if self.schedule == "adapted":
            return jnp.interp(t / last, jnp.linspace(0.0, 1.0, self.table.shape[0]), self.table)
        total = last + 1  # distributions

        def sigmoid(s):  # s is the paper's 1-based index
            return jax.nn.sigmoid(self.delta * (2 * s / total - 1))

        raw = (sigmoid(t + 1) - sigmoid(1.0)) / (sigmoid(total) - sigmoid(1.0))
        return jnp.where(t == last, 1.0, raw)  # the posterior itself, not 1 up to rounding

    def powers(self, t, num_rows):
        return jnp.full(num_rows, self.inverse_temperature(t))


def check_tempered(num_distributions: int, schedule: str, delta: float = 4.0) -> None:
    """Refuse what no tempered path can be made of."""
    if schedule not in SCHEDULES:
        raise unknown("schedule", schedule, SCHEDULES)
    if num_distributions < 2:
        raise InputError(
            f"distributions must be at least 2 (the prior and the posterior), got {num_distributions}"
        )
    if not delta > 0:
        raise InputError(f"delta must be positive, got {delta}")


def tempered(num_distributions: int, schedule: str = "sigmoid", delta: float = 4.0, table=None) -> Tempered:
    """A tempered path through ``num_distributions`` distributions, prior and posterior included."""
    check_tempered(num_distributions, schedule, delta)
    if (table is None) == (schedule == "adapted"):
        raise InputError(
            "schedule adapted, and no other, takes a table of inverse temperatures; bracketz.schedule.adapt makes one"
        )
    if table is not None:
        table = np.asarray(table, dtype=float)
        rises = table.ndim == 1 and len(table) > 1 and bool(np.all(np.diff(table) > 0))
        if not rises or table[0] != 0 or table[-1] != 1:
            raise InputError(
                f"a table of inverse temperatures must rise from 0 to 1, got {table.ravel()[:3]}..."
            )
    return Tempered(num_distributions - 1, schedule, delta, table)


@pytree_dataclass
class Prefix(Path):
    """Points enter one at a time: b_t = 1 for the first t points of ``order``, 0 for the others.

    proposal "prior": the entering point's latent comes from the prior and the weight is its
    likelihood. "posterior": the weight is the predictive density, with the latent integrated out,
    and the latent is then drawn from its conditional (the sharper one; needs ``Predictive``).
    Backwards, the leaving point's latent is redrawn from its prior, after the same weight.
    """

    num_edges: Any
    order: jax.Array  # (N,): order[t - 1] enters at edge t
    proposal: str = static(default="posterior")

    def powers(self, t, num_rows):
        rank = jnp.zeros(num_rows, int).at[self.order].set(jnp.arange(num_rows))
        return (rank < t).astype(float)

    def _conditionals(self, model, y, state, t):
        i = self.order[t - 1]
        n = y.shape[0]
        before = model.point_conditional(state, y, self.powers(t - 1, n), i)
        after = model.point_conditional(state, y, self.powers(t, n), i)
        return i, before, after

    def extend(self, key, model, y, state, t):
        if not isinstance(model, Predictive):
            return super().extend(key, model, y, state, t)
        i, before, after = self._conditionals(model, y, state, t)
        if self.proposal == "posterior":
            return model.replace_latent(state, i, after.sample(key)), after.log_normalizer
        latent = before.sample(key)
        increment = after.log_density(latent) - before.log_density(latent)
        return model.replace_latent(state, i, latent), increment

    def retract(self, key, model, y, state, t):
        if not isinstance(model, Predictive):
            return super().retract(key, model, y, state, t)
        i, before, after = self._conditionals(model, y, state, t)
        if self.proposal == "posterior":
            return model.replace_latent(state, i, before.sample(key)), after.log_normalizer
        latent = after.sample(key)
        increment = after.log_density(latent) - before.log_density(latent)
        return model.replace_latent(state, i, latent), increment


def prefix(model: Model, num_rows: int, proposal: str | None = None, shuffle: int | None = None) -> Prefix:
    """Data enter in the given order, or shuffled by the seed ``shuffle``.

    The default proposal is "posterior" where the model can do it. A model without ``Predictive``
    crosses plain edges, which is the prior proposal for whatever latents its state holds.
    """
    best = "posterior" if isinstance(model, Predictive) else "prior"
    proposal = best if proposal is None else proposal
    if proposal not in PROPOSALS:
        raise unknown("proposal", proposal, PROPOSALS)
    if proposal == "posterior" and best == "prior":
        raise InputError(
            f"the posterior proposal cannot run on {type(model).__name__}: it lacks Predictive"
            " (point_conditional, replace_latent); see docs/adding-a-model.md, or use proposal prior"
        )
    order = np.arange(num_rows)
    if shuffle is not None:
        order = np.random.default_rng(shuffle).permutation(num_rows)
    use_all_cores()  # this may be the first array JAX makes, and devices are counted then
    return Prefix(num_rows, jnp.asarray(order), proposal)
