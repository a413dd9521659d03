"""Held-out likelihood: new rows under a model whose parameters are known.

With the parameters fixed (centres, V or A), rows are independent and only their latents are
integrated out: log p(y | parameters) = sum_i log sum_l p(l) p(y_i | l, parameters). This is the
paper's second setting, and a model like any other, so the same engine and estimators run on it;
the closed form each shipped model has is its ``exact_evidence``.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import ExactEvidence, Predictive, RowLatents
from bracketz.core.kernel import Kernel, Reversible
from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass
from bracketz.errors import InputError


class HeldOutState(NamedTuple):
    latents: jax.Array  # leading axis: rows


@pytree_dataclass
class HeldOut(Model, Predictive, ExactEvidence):
    """Held-out likelihood: new rows under a model whose parameters are known.

    log p(y | parameters) = sum_i log sum_l p(l) p(y_i | l, parameters); rows are independent and
    only their latents are integrated out. A model like any other, with a closed-form
    ``exact_evidence``.

    Args:
        model: one with ``RowLatents``.
        fixed: its parameters, (K, D): centres, right factor or features.

    Raises:
        InputError: the model lacks ``RowLatents``.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> centers = np.array([[-1.0, 0.0], [1.0, 0.0]])
        >>> held_out = bz.HeldOut(bz.Clustering(components=2), centers)
        >>> held_out.exact_evidence(np.zeros((3, 2))) < 0
        True
    """

    model: RowLatents
    fixed: jax.Array

    def __post_init__(self):
        if not isinstance(self.model, RowLatents):
            raise InputError(
                f"held-out likelihood cannot run on {type(self.model).__name__}: it lacks"
                " RowLatents (row_conditional, sample_row); see docs/extending.md"
            )

    def check_shape(self, shape):
        if shape[1] != self.fixed.shape[1]:
            raise InputError(
                f"the fixed parameters have {self.fixed.shape[1]} columns and the rows have"
                f" {shape[1]}"
            )

    def doubtful(self, y, states):
        return False  # every row is drawn afresh

    def suited_to(self, y):
        own: Any = self.model.suited_to(y) if isinstance(self.model, Model) else self.model
        return self if own is self.model else HeldOut(own, self.fixed)

    def check_data(self, y):
        if isinstance(self.model, Model):
            self.model.check_data(y)

    def sample_prior(self, key, shape):
        def draw(key):
            return self.model.row_conditional(self.fixed, jnp.zeros(shape[1]), 0.0).sample(key)

        return HeldOutState(jax.vmap(draw)(jax.random.split(key, shape[0])))

    def simulate(self, key, state, shape):
        draw = jax.vmap(lambda k, latent: self.model.sample_row(k, self.fixed, latent))
        return draw(jax.random.split(key, shape[0]), state.latents)

    def log_annealed(self, state, y, powers):
        def row(latent, row, power):
            return self.model.row_conditional(self.fixed, row, power).log_density(latent)

        return jnp.sum(jax.vmap(row)(state.latents, y, powers))

    def kernel(self, y, powers) -> Kernel:
        return IndependentRows(self, y, powers)

    def point_conditional(self, state, y, powers, i):
        return self.model.row_conditional(self.fixed, y[i], powers[i])

    def replace_latent(self, state, i, latent):
        return HeldOutState(state.latents.at[i].set(latent))

    def exact_evidence(self, y):
        with double_precision():
            return float(_closed_form(self, y))


@jax.jit
def _closed_form(held_out: HeldOut, y):
    def row(row):
        return held_out.model.row_conditional(held_out.fixed, row, 1.0).log_normalizer

    return jnp.sum(jax.vmap(row)(y))


@dataclasses.dataclass(frozen=True, eq=False)
class IndependentRows(Reversible):
    """Every row's latent from its own conditional: an exact, independent draw."""

    model: HeldOut
    y: jax.Array
    powers: jax.Array

    def step(self, key, state):
        def draw(key, row, power):
            return self.model.model.row_conditional(self.model.fixed, row, power).sample(key)

        keys = jax.random.split(key, self.y.shape[0])
        return HeldOutState(jax.vmap(draw)(keys, self.y, self.powers))
