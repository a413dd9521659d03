"""What clustering and binary attributes share, because their parameters are integrated out of one
scan over the rows."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.capabilities import Constrained, ScoredChain
from bracketz.core.pytree import pytree_dataclass
from bracketz.kernels.gibbs import GibbsScan


class Row(NamedTuple):
    y: jax.Array  # (D,)
    square: jax.Array  # |y|^2
    c: jax.Array  # b_i / noise_variance


@pytree_dataclass
class CollapsedChain(ScoredChain):
    """The model's own Gibbs scan on its collapsed state (clustering, binary attributes)."""

    model: Any
    y: jax.Array

    @property
    def kernel(self):
        return self.model.kernel(self.y, jnp.ones(self.y.shape[0]))

    def begin(self, key, state):
        return state

    def log_joint(self, state):
        return self.model.log_annealed(state, self.y, jnp.ones(self.y.shape[0]))


class CollapsedConstrained(Constrained):
    """Centres or features are integrated out, so L(z) = p(y | z) = f(z; 1) / f(z; 0)."""

    model: Any
    y: jax.Array

    @abstractmethod
    def _gibbs(self) -> GibbsScan:
        """The scan whose cache the moves use."""

    @abstractmethod
    def _redraw(self, gibbs, cache, row, latent, level, cutoff, u) -> tuple[jax.Array, jax.Array]:
        """(new latent of a removed point, log L with it), from noise ``u``."""

    def sample_prior(self, key):
        return self.model.sample_prior(key, self.y.shape)

    def log_likelihood(self, state):
        n = self.y.shape[0]
        powers = jnp.stack([jnp.ones(n), jnp.zeros(n)])
        joint, prior = jax.vmap(lambda b: self.model.log_annealed(state, self.y, b))(powers)
        return joint - prior

    def step(self, key, state, cutoff):
        gibbs = self._gibbs()
        latents = gibbs.latents(state)

        def visit(carry, point):
            cache, level = carry
            row, latent, u = point
            cache = gibbs.remove(cache, row, latent)
            new, level = self._redraw(gibbs, cache, row, latent, level, cutoff, u)
            return (gibbs.insert(cache, row, new), level), new

        noise = jax.random.uniform(key, latents.shape)
        start = (gibbs.cache(latents), self.log_likelihood(state))
        _, new = jax.lax.scan(visit, start, (gibbs.rows, latents, noise))
        return gibbs.with_latents(state, new)
