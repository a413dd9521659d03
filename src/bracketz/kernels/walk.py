"""A random walk on all scales, for targets whose scale changes from place to place."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from bracketz.core.kernel import Reversible
from bracketz.kernels.hamiltonian import pushed


class MultiScaleWalk(Reversible):
    """Random-walk Metropolis whose proposal has a scale drawn anew each time.

    x' = x + s R n with n ~ N(0, 1) and log s uniform between the logs of ``smallest`` and
    ``largest``, drawn whatever x is: given s the proposal is symmetric, so the kernel is in
    detailed balance. Where a step that suits most of the target is too long for a narrow part of
    it, some proposals are short enough. It reports "walk acceptance". Cost: two densities per
    proposal.

    Args:
        log_density: maps a state to a scalar, the log of the density to keep, up to a constant.
        smallest, largest: scale of a proposal, in units of the root.
        root: as in ``HMC``.
        proposals: in one step.

    Example:
        >>> import bracketz as bz, jax
        >>> walk = bz.MultiScaleWalk(lambda x: -0.5 * x @ x, smallest=0.01, largest=3.0)
        >>> walk.step(jax.random.key(0), jax.numpy.zeros(3)).shape
        (3,)
    """

    def __init__(self, log_density: Callable, smallest, largest, root=None, proposals: int = 1):
        self.log_density = log_density
        self.smallest = smallest
        self.largest = largest
        self.root = root
        self.proposals = proposals

    reports = ("walk acceptance",)

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        start, back = ravel_pytree(state)

        def density(x):
            value = self.log_density(back(x))
            return jnp.where(jnp.isnan(value), -jnp.inf, value)

        def propose(number, carry):
            x, here, total = carry
            key_scale, key_move, key_accept = jax.random.split(jax.random.fold_in(key, number), 3)
            low, high = jnp.log(self.smallest), jnp.log(self.largest)
            scale = jnp.exp(low + (high - low) * jax.random.uniform(key_scale))
            move = jax.random.normal(key_move, x.shape, x.dtype)
            new = x + scale * pushed(self.root, move)
            there = density(new)
            log_ratio = jnp.where(jnp.isfinite(there), there - here, -jnp.inf)
            accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
            total = total + jnp.exp(jnp.minimum(log_ratio, 0.0))
            return jnp.where(accept, new, x), jnp.where(accept, there, here), total

        carry = (start, density(start), jnp.zeros(()))
        x, _, total = jax.lax.fori_loop(0, self.proposals, propose, carry)
        return back(x), {"walk acceptance": total / self.proposals}
