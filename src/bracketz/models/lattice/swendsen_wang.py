"""Swendsen and Wang's cluster moves.

exp(K [x = x']) = 1 + (exp(K) - 1) [x = x']: a sum over a bond that is closed, or open where both
ends agree. So f is the marginal of a joint density of sites and bonds, and one Gibbs step of it is

    bonds given sites    open with probability 1 - exp(-K) where the ends agree, else closed;
    sites given bonds    a state for each cluster, from the product of its sites' own weights.

As a chain on the sites alone (the bonds are drawn and forgotten) the step is reversible: f(x) T(x'
| x) = sum over bonds w of p(x, w) p(x' | w) = sum of p(x, w) p(x', w) / p(w), which is symmetric.
Hence it is its own reversal. One step costs O(N D q) times the rounds of ``grid.clusters``.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Reversible, ScoredKernel
from bracketz.models.lattice.grid import agree, clusters
from bracketz.models.lattice.state import LatticeState
from bracketz.numerics.conditionals import Categorical

#: Bonds up to which the transition density is summed over all their sets.
MOST_BONDS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class SwendsenWang(Reversible):
    """Bonds from the sites, then a state for each cluster."""

    bonds: jax.Array  # (2, N, D), powers included, 0 where there is none
    logits: jax.Array  # (N, D, q), powers included

    @property
    def opening(self):
        """Probability that a bond between equal sites is open."""
        return -jnp.expm1(-self.bonds)

    def shared(self, labels):
        """Logits of a cluster's state, at the place of its first site, (N D, q)."""
        states = self.logits.shape[2]
        return jax.ops.segment_sum(
            self.logits.reshape(-1, states), jnp.ravel(labels) - 1, num_segments=labels.size
        )

    def step(self, key, state):
        key_bonds, key_sites = jax.random.split(key)
        sites = state.sites
        noise = jax.random.uniform(key_bonds, self.bonds.shape)
        labels = clusters(agree(sites) & (noise < self.opening))
        drawn = jax.vmap(lambda a, u: Categorical(a).from_noise(u))(
            self.shared(labels), jax.random.uniform(key_sites, (sites.size,))
        )
        return LatticeState(drawn[labels - 1].astype(sites.dtype))


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredSwendsenWang(SwendsenWang, ScoredKernel):
    """The same on a grid so small that its transition density can be summed over all sets of
    bonds: what the correctness kit checks exactly."""

    present: np.ndarray  # (2, N, D): which bonds there are

    def reversed(self) -> "ScoredSwendsenWang":
        return self

    def log_prob(self, new_state, state):
        places = np.argwhere(self.present)
        every = np.zeros((2 ** len(places), *self.present.shape), dtype=bool)
        choices = np.indices((2,) * len(places)).reshape(len(places), -1).T.astype(bool)
        every[(slice(None), *places.T)] = choices
        alike = agree(state.sites)

        def through(opened):
            """p(bonds | x) p(x' | bonds)."""
            chance = jnp.where(alike, self.opening, 0.0)
            of_bonds = jnp.prod(jnp.where(opened, chance, 1 - chance))
            labels = clusters(opened)
            new = jnp.ravel(new_state.sites).astype(jnp.int32)
            first = jnp.ravel(labels) - 1
            scores = jnp.take_along_axis(
                jax.nn.log_softmax(self.shared(labels)), new[:, None], axis=1
            )[:, 0]
            begins = first == jnp.arange(new.size)
            log_sites = jnp.sum(jnp.where(begins, scores, 0.0))
            return of_bonds * jnp.all(new == new[first]) * jnp.exp(log_sites)

        return jnp.log(jnp.sum(jax.vmap(through)(jnp.asarray(every))))


def swendsen_wang(bonds, logits, present: np.ndarray) -> SwendsenWang:
    """The kernel, scored where the grid is tiny."""
    if present.sum() <= MOST_BONDS:
        return ScoredSwendsenWang(bonds, logits, present)
    return SwendsenWang(bonds, logits)
