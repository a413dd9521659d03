"""A model whose likelihood is raised to fixed powers: what training data say on their own.

With powers r the evidence is Z(r) = integral of p(x) prod_i p(y_i | x)^(r_i): with one power b the
denominator of a fractional Bayes factor, with zeros and ones that of an intrinsic one. Its path of
powers is that of the model, ended at r.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.core.undirected import Undirected
from bracketz.errors import InputError
from bracketz.models.factored import Factored


def raised(model: Model, powers) -> Model:
    """The model with every likelihood term p(y_i | x) raised to a fixed power.

    Its evidence is Z(r) = integral of p(x) prod_i p(y_i | x)^(r_i) dx, x with the latent variables
    of every row. An exact sample of the
    model is one of it only where every power is 0 or 1, and then given the rows of power 1 alone.

    Args:
        model: any but an undirected one.
        powers: one number, or one per data point; each from 0 to 1.

    Returns:
        A model; it simulates nothing.

    Raises:
        InputError: an undirected model, or a power outside [0, 1].

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> y = bz.simulate(model, rows=6, columns=2).y
        >>> bz.evidence(bz.raised(model, 0.2), y, gap=2.0).kind
        'conditional'
    """
    if isinstance(model, Undirected):
        raise InputError("an undirected model has no data, and no part of them to train on")
    row = np.asarray(powers, dtype=float)
    if row.ndim > 1 or not np.all((row >= 0) & (row <= 1)):
        raise InputError(f"`powers` must be numbers from 0 to 1, got {powers}")
    if isinstance(model, Factored):
        return (RaisedOwn if model.has_own_kernel else RaisedFactored)(model, row)
    return Raised(model, row)


@pytree_dataclass
class Raised(Model):
    """``model`` at powers times ``row``."""

    model: Model
    row: Any

    @property
    def settling(self):  # type: ignore[override]
        return self.model.settling

    @property
    def default_shape(self):  # type: ignore[override]
        return self.model.default_shape

    def sample_prior(self, key, shape):
        return self.model.sample_prior(key, shape)

    def simulate(self, key, state, shape):
        raise InputError("a likelihood raised to a power is no density of data: nothing to draw")

    def log_annealed(self, state, y, powers):
        return self.model.log_annealed(state, y, powers * self.row)

    def log_increment(self, state, y, after, before):
        return self.model.log_increment(state, y, after * self.row, before * self.row)

    def kernel(self, y, powers) -> Kernel:
        return self.model.kernel(y, powers * self.row)

    def num_rows(self, y):
        return self.model.num_rows(y)

    def data_shape(self, y):
        return self.model.data_shape(y)

    def check_shape(self, shape):
        self.model.check_shape(shape)
        if np.ndim(self.row) and len(self.row) != shape[0]:
            raise InputError(f"there are {len(self.row)} powers and {shape[0]} rows of data")

    def check_state(self, state):
        self.model.check_state(state)

    def check_data(self, y):
        self.model.check_data(y)

    def suited_to(self, y):
        # Not by what is left out: the samples of what is let in depend on it.
        used = np.broadcast_to(self.row, (self.num_rows(y),)) > 0
        own = self.model.suited_to(np.where(used[:, None], y, 0.0))
        return self if own is self.model else Raised(own, self.row)

    def doubtful(self, y, states):
        return self.model.doubtful(y, states)


@pytree_dataclass
class RaisedFactored(Factored):
    """The same of a prior and a likelihood."""

    model: Factored
    row: Any

    def log_prior(self, x):
        return self.model.log_prior(x)

    def log_likelihood(self, x, y):
        terms = self.model.log_likelihood(x, y)
        return jnp.where(self.row > 0, self.row * terms, 0.0)

    def sample_prior(self, key, shape=None):
        return self.model.sample_prior(key)

    def sample_pilot(self, key):
        return self.model.sample_pilot(key)

    @property
    def pooled(self):
        return self.model.pooled

    def constrain(self, x):
        return self.model.constrain(x)

    def unconstrain(self, values):
        return self.model.unconstrain(values)

    def gibbs(self, y, powers):
        return self.model.gibbs(y, powers * self.row)

    @property
    def label(self):
        return self.model.label

    @property
    def source(self):
        return self.model.source

    @property
    def own_data(self):
        return self.model.own_data

    def check_data(self, y):
        rows = self.model.num_rows(y)
        if np.ndim(self.row) and len(self.row) != rows:
            raise InputError(f"there are {len(self.row)} powers and {rows} rows of data")

    def observations(self, y):
        return self.model.observations(y)


@pytree_dataclass
class RaisedOwn(RaisedFactored):
    """And with a kernel that somebody wrote."""

    def kernel(self, y, powers):
        return self.model.kernel(y, powers * self.row)
