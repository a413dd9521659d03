"""The prefix path: points enter one at a time. Upwards it is SMC, downwards the sequential harmonic
mean."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Predictive
from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.errors import InputError, unknown

PROPOSALS = ("posterior", "prior")


def _same(new, old) -> bool:
    """Whether a state was left as it is: the very same arrays."""
    return all(a is b for a, b in zip(jax.tree.leaves(new), jax.tree.leaves(old), strict=True))


@pytree_dataclass
class Prefix(Path):
    """Points enter one at a time: b_t = 1 for the first t points, 0 for the others.

    Effort counts kernel sweeps per row. Even perfect mixing leaves a gap here (paper, eqn.
    shme-theory-terms), so sweeps alone stop helping; more particles or chains, or the tempered
    path, go further.

    Args:
        proposal: "prior": the entering point's latent comes from the prior and the weight is its
            likelihood. "posterior": the weight is the predictive density, with the latent
            integrated out, and the latent is then drawn from its conditional (the sharper one;
            needs ``Predictive``). Backwards, the weight is the same (the leaving point's likelihood
            at the latent it has, or its predictive density), and the latent is then redrawn from
            its prior. None: "posterior" where the model can do it. A model without ``Predictive``
            crosses plain edges, which is the prior proposal for whatever latents its state holds.
        shuffle: the seed of a random order; None: the order of the data.
        num_edges, order: set by ``over``, when the path is laid: N, and which point enters when.

    Raises:
        InputError: there is no such proposal.

    Example:
        >>> import bracketz as bz
        >>> path, sweeps = bz.Prefix(shuffle=1).at(effort=5, model=bz.Clustering(), num_rows=50)
        >>> path.num_edges, sweeps
        (50, 5)
    """

    proposal: str | None = static(default=None)
    shuffle: int | None = static(default=None)
    num_edges: Any = None
    order: Any = None  # (N,): order[t - 1] enters at edge t

    name = "prefix"
    unit = "sweeps per row"
    first_effort = 1
    last_effort = 1 << 9
    beyond = "raise `max_effort`, or particles, or take the tempered path"

    def __post_init__(self):
        if self.proposal is not None and self.proposal not in PROPOSALS:
            raise unknown("proposal", self.proposal, PROPOSALS)

    def at(self, effort, model, num_rows, sweeps=1):
        return self.over(model, num_rows), effort

    def over(self, model: Model, num_rows: int) -> "Prefix":
        """The path over this many rows, its proposal decided.

        Args:
            model: whose data they are.
            num_rows: data points.

        Returns:
            The path, laid.

        Raises:
            InputError: the posterior proposal, and a model without ``Predictive``.
        """
        best = "posterior" if isinstance(model, Predictive) else "prior"
        proposal = best if self.proposal is None else self.proposal
        if proposal == "posterior" and best == "prior":
            raise InputError(
                f"the posterior proposal cannot run on {type(model).__name__}: it lacks"
                " Predictive (point_conditional, replace_latent); see docs/extending.md, or use"
                " proposal prior"
            )
        order = np.arange(num_rows)
        if self.shuffle is not None:
            order = np.random.default_rng(self.shuffle).permutation(num_rows)
        # The order is traced: the seed behind it would cost a compilation of its own.
        return Prefix(proposal, None, num_rows, order)

    def powers(self, t, num_rows):
        rank = jnp.zeros(num_rows, int).at[self.order].set(jnp.arange(num_rows))
        return (rank < t).astype(float)

    def entering(self, t):
        """The point that enters at edge t."""
        return jnp.asarray(self.order)[t - 1]

    def _conditionals(self, model, y, state, t):
        i = self.entering(t)
        n = y.shape[0]
        before = model.point_conditional(state, y, self.powers(t - 1, n), i)
        after = model.point_conditional(state, y, self.powers(t, n), i)
        return i, before, after

    # Each direction is the other's reversal: f_{t-1}(x) E(x -> x') e^w = f_t(x') R(x' -> x). With
    # l, l' the point's latent before and after and r the rest of the state, f_{t-1}(x) = f(r)
    # before(l) and f_t(x') = f(r) after(l'); the mass of before is 1, that of after Z(r):
    #     posterior    E = after(l') / Z(r),   R = before(l),   w = log Z(r);
    #     prior        E = before(l'),         R = before(l),   w = log after(l') - log before(l').
    # A state that keeps no latents (low rank) has f_t = f_{t-1} Z; there the prior proposal draws l
    # from before upwards and from after / Z downwards, weighs it as above, and forgets it.

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
        left = model.replace_latent(state, i, before.sample(key))
        if _same(left, state):
            latent = after.sample(key)
            return state, after.log_density(latent) - before.log_density(latent)
        assert isinstance(model, Model)
        return left, self.log_edge(model, y, state, t)
