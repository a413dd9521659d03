"""Hyperparameters that begin at a reference instead of at their priors.

With unknown variances the path from the prior goes through a first-order transition: all noise up
to some power, structure beyond, and chains that stay in the first too long. So anneal, for a law q
of the hyperparameters eta near where they will end, and m the mean of the row of powers b,

    f(eta, x; b) = q(eta)^(1-m) p(eta)^m p(x | eta) prod_i p(y_i | x, eta)^(b_i).

At b = 0 that is q(eta) p(x | eta), which has an exact sampler; at b = 1 it is the model's own joint
density. So the evidence is the same p(y), for any q that is positive wherever p is, and an edge
from b to b' adds to the log-weight

    sum_i (b'_i - b_i) log p(y_i | x, eta) + (m' - m) (log p(eta) - log q(eta)).

q is of the priors' own families, for which q^(1-m) p^m is of the family again
(``conjugate.toward``), so every update stays as it is. The density takes q and p with their own
constants: a normalised geometric mean would change with m, and the evidence with it.

Forwards E[w] = p(y) for any fixed q. Backwards E[w] = 1 / p(y) holds over exact samples, so q may
depend on y and never on the exact sample (``hyper_pilot`` sees y and random numbers of its own).
"""

from typing import Any

import numpy as np

from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass, unchecked
from bracketz.models.hierarchical import Hierarchical, Inferred, log_density
from bracketz.models.missing_data import Incomplete
from bracketz.numerics.conjugate import InverseGamma


@pytree_dataclass
class FromReference(Hierarchical):
    """``model`` with its hyperparameters begun at q; states and evidence are the model's own.

    It is not ``Predictive``: a point that enters moves m, and with it the hyperparameters' factor,
    which predictive masses know nothing of. So a prefix path crosses plain edges.
    """

    model: Inferred
    q: Any  # the hyperparameters' NamedTuple, holding laws of the priors' classes

    @property
    def components(self) -> int:
        """The model's."""
        return self.model.components

    @property
    def priors(self):
        return self.model.priors

    @property
    def typical(self):
        return self.model.typical

    def at(self, hyper):
        return self.model.at(hyper)

    def hyper_law(self, share):
        pairs = zip(self.q, self.priors, strict=True)
        return type(self.priors)(*(q.toward(p, share) for q, p in pairs))

    def log_hyper(self, hyper, share):
        return (1 - share) * log_density(self.q, hyper) + share * log_density(self.priors, hyper)

    def further_moves(self, laws):
        return self.model.further_moves(laws)

    def tiny(self):
        """The model's, with a q that is off in every parameter, and as wide as the priors' grids
        can integrate."""
        model, shape = self.model.tiny()
        assert isinstance(model, Inferred)

        def moved(p):
            factors = (0.9, 1.5) if isinstance(p, InverseGamma) else (1.3, 1.5)
            return type(p)(*(f * np.asarray(v, float) for f, v in zip(factors, p, strict=False)))

        off = [moved(p) for p in model.priors]
        return FromReference(model, type(model.priors)(*off)), shape

    def _latent_nodes(self, shape):
        return self.model._latent_nodes(shape)

    def _scaled(self, state, log_weight):
        return self.model._scaled(state, log_weight)


def at_prior(model: Model) -> Model:
    """The same begun at its prior: whose states, with data simulated from them, are exact samples
    of both."""
    if isinstance(model, FromReference):
        return model.model
    if isinstance(model, Incomplete) and isinstance(model.model, FromReference):
        return unchecked(Incomplete, model=model.model.model, observed=model.observed)
    return model


def inferred(model: Model) -> Inferred | None:
    """The model whose hyperparameters are inferred and begin at their priors, be it wrapped for
    missing entries; None: there is none."""
    inner = model.model if isinstance(model, Incomplete) else model
    return inner if isinstance(inner, Inferred) else None


def begun_at(model: Model, q: Any) -> Model:
    """A model with inferred hyperparameters, perhaps on incomplete data, begun at q."""
    if isinstance(model, Incomplete):
        return Incomplete(begun_at(model.model, q), model.observed)
    assert isinstance(model, Inferred)
    return FromReference(model, q)
