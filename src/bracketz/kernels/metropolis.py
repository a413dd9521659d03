"""Random-walk Metropolis, a ready-made kernel for real states."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.kernel import Reversible


class Metropolis(Reversible):
    """Random-walk Metropolis on a state made of real arrays; a ready-made kernel for user models.

    It reports "acceptance", the probability min(1, ratio) of taking the proposal, and "move", the
    distance covered (0 where the proposal was refused).

    Args:
        log_density: maps a state to a scalar, the log of the density to keep, up to a constant.
        scale: the proposal's standard deviation, one number or a pytree like the state. Fix it
            beforehand: a kernel that adapts to the states it is moving voids unbiasedness.

    Example:
        >>> import bracketz as bz, jax
        >>> walk = bz.Metropolis(lambda x: -0.5 * x @ x, scale=0.5)
        >>> walk.step(jax.random.key(0), jax.numpy.zeros(3)).shape
        (3,)
    """

    def __init__(self, log_density: Callable, scale):
        self.log_density = log_density
        self.scale = scale

    reports = ("acceptance", "move")

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        key_move, key_accept = jax.random.split(key)
        treedef: Any  # JAX does not say what can be done with one
        leaves, treedef = jax.tree.flatten(state)
        scales = (
            jax.tree.leaves(self.scale)
            if treedef == jax.tree.structure(self.scale)
            else [self.scale] * len(leaves)
        )
        keys = jax.random.split(key_move, len(leaves))
        proposal = treedef.unflatten(
            leaf + scale * jax.random.normal(k, leaf.shape, leaf.dtype)
            for k, leaf, scale in zip(keys, leaves, scales, strict=True)
        )
        there = self.log_density(proposal)
        # Never to an impossible state, not even from another one (-inf - -inf is no number).
        log_ratio = jnp.where(jnp.isneginf(there), -jnp.inf, there - self.log_density(state))
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        new = jax.tree.map(lambda new, old: jnp.where(accept, new, old), proposal, state)
        squares = (jnp.sum((a - b) ** 2) for a, b in zip(jax.tree.leaves(new), leaves, strict=True))
        return new, {
            "acceptance": jnp.exp(jnp.minimum(log_ratio, 0.0)),
            "move": jnp.sqrt(sum(squares)),
        }
