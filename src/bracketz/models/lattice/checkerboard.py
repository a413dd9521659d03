"""Gibbs on a checkerboard: all sites of one colour at once, since no bond joins two of them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import ScoredKernel, Visit
from bracketz.models.lattice.grid import around
from bracketz.models.lattice.state import LatticeState
from bracketz.numerics.conditionals import Categorical


@dataclasses.dataclass(frozen=True, eq=False)
class Checkerboard(ScoredKernel):
    """Each site from its conditional given its neighbours, colour by colour.

    p(x_i = c | rest) is proportional to exp(logits_i(c) + sum over bonds ij of K_ij [x_j = c]).
    Sites of one colour are independent given the others, so a colour is one block of a Gibbs scan,
    and the reversal takes the colours in the opposite order. With two states the draw is monotone:
    the same noise, with more neighbours in state 1, never gives 0 where it gave 1. Coupling from
    the past rests on that (``past``). One sweep costs O(N D q).
    """

    bonds: jax.Array  # (2, N, D), powers included, 0 where there is none
    logits: jax.Array  # (N, D, q), powers included
    colours: np.ndarray  # (N, D)
    order: tuple[int, ...]

    def local(self, sites):
        """Logits of every site's conditional, (N, D, q)."""
        states = self.logits.shape[2]
        return self.logits + around(self.bonds, jax.nn.one_hot(sites, states))

    def draw(self, sites, noise):
        """New sites, a function of noise in [0, 1) of the same shape."""
        for colour in self.order:
            drawn = jax.vmap(jax.vmap(lambda a, u: Categorical(a).from_noise(u)))(
                self.local(sites), noise
            )
            sites = jnp.where(self.colours == colour, drawn.astype(sites.dtype), sites)
        return sites

    def step(self, key, state):
        return LatticeState(self.draw(state.sites, jax.random.uniform(key, state.sites.shape)))

    def log_prob(self, new_state, state):
        total, sites = jnp.zeros(()), state.sites
        for colour in self.order:
            here = self.colours == colour
            scores = jax.nn.log_softmax(self.local(sites))
            chosen = jnp.take_along_axis(
                scores, new_state.sites[:, :, None].astype(jnp.int32), axis=2
            )
            total += jnp.sum(jnp.where(here, chosen[:, :, 0], 0.0))
            sites = jnp.where(here, new_state.sites, sites)
        return total

    def reversed(self):
        return dataclasses.replace(self, order=self.order[::-1])

    def visits(self, state, parameters):
        def visit(i, j):
            return Visit(
                f"site ({i + 1}, {j + 1})",
                lambda: Categorical(self.local(state.sites)[i, j]),
                state.sites[i, j].astype(jnp.int32),
                lambda value: (
                    LatticeState(state.sites.at[i, j].set(value.astype(state.sites.dtype))),
                    None,
                ),
            )

        return tuple(
            visit(int(i), int(j))
            for colour in self.order
            for i, j in np.argwhere(self.colours == colour)
        )
