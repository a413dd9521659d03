"""Gibbs scans over the data points, with a cache that every visit brings up to date."""

import dataclasses
from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.conditional import Conditional, log_prob
from bracketz.core.kernel import ScoredKernel, Visit

#: At most twice as many points of a sweep are compared with a rebuild (``Kernel.drift``).
AUDITED_POINTS = 32


@dataclasses.dataclass(frozen=True, eq=False)
class GibbsScan(ScoredKernel):
    """Visit the data points in order, redrawing the latent of each given all the others.

    A subclass says how its cache (the statistics of all points) loses a point, which conditional
    the point's latent then has, and how the cache takes the point back. One scan serves ``step``
    (draw from the conditional) and ``log_prob`` (score a given value), so what is sampled and what
    is scored cannot drift apart. The reversal visits the points from last to first.

    Args:
        rows: a pytree with data points along the leading axis: what a conditional needs to know of
            its point.
        backward: visit from last to first.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> model = bz.Clustering(components=2)
        >>> kernel = model.kernel(bz.simulate(model, rows=6, columns=2).y, jnp.ones(6))
        >>> isinstance(kernel, bz.GibbsScan) and kernel.reversed().backward
        True
    """

    rows: Any  # pytree, leading axis = data points: what a conditional needs to know of its point
    backward: bool = False

    @abstractmethod
    def noise(self, key, latents) -> jax.Array:
        """Noise for a whole sweep, leading axis = data points."""

    @abstractmethod
    def latents(self, state) -> jax.Array:
        """The latents, leading axis = data points."""

    @abstractmethod
    def with_latents(self, state, latents):
        """``state`` with its latents replaced."""

    @abstractmethod
    def cache(self, latents):
        """Statistics of all points, from scratch."""

    @abstractmethod
    def remove(self, cache, row, latent):
        """The cache without one point."""

    @abstractmethod
    def insert(self, cache, row, latent):
        """The cache with the point back in."""

    @abstractmethod
    def conditional(self, cache, row, latent) -> Conditional:
        """Distribution of a removed point's new latent. ``latent`` is its value before the visit,
        which matters only when the visit itself is a sub-scan (bit by bit)."""

    def _sweep(self, latents, choose, inputs):
        """Scan the points; ``choose(conditional, input)`` gives (new latent, output)."""

        def visit(cache, point):
            row, latent, given = point
            cache = self.remove(cache, row, latent)
            new, output = choose(self.conditional(cache, row, latent), given)
            return self.insert(cache, row, new), (new, output)

        cache, (new, outputs) = jax.lax.scan(
            visit, self.cache(latents), (self.rows, latents, inputs), reverse=self.backward
        )
        return cache, new, outputs

    def draw(self, latents, noise):
        """New latents, a function of the noise."""
        _, new, _ = self._sweep(
            latents, lambda conditional, u: (conditional.from_noise(u), ()), noise
        )
        return new

    def step(self, key, state):
        latents = self.latents(state)
        return self.with_latents(state, self.draw(latents, self.noise(key, latents)))

    def log_prob(self, new_state, state):
        _, _, scores = self._sweep(
            self.latents(state),
            lambda conditional, value: (value, log_prob(conditional, value)),
            self.latents(new_state),
        )
        return jnp.sum(scores)

    def drift(self, state, without):
        """Along a sweep in which every point takes its neighbour's latent, so that what can be
        emptied is."""
        latents = self.latents(state)
        n = latents.shape[0]

        def error(cache, row, i, latents):
            other = without(i)
            faint = jax.tree.map(lambda a: a[i], other.rows)
            right = other.remove(other.cache(latents), faint, latents[i])
            both = [self.conditional(given, row, latents[i]) for given in (cache, right)]
            errors = []
            for value in (latents[i], latents[i - 1]):
                usual, right = (log_prob(conditional, value) for conditional in both)
                errors.append(jnp.abs(usual - right) / (1 + jnp.abs(right)))
            return jnp.max(jnp.stack(errors))

        def visit(i, carry):
            cache, latents, worst = carry
            row = jax.tree.map(lambda a: a[i], self.rows)
            cache = self.remove(cache, row, latents[i])
            # A rebuild for each of many points takes long: look at some.
            looked_at = i % (1 + n // AUDITED_POINTS) == 0
            worst = jnp.maximum(
                worst, jax.lax.cond(looked_at, error, lambda *_: 0.0, cache, row, i, latents)
            )
            other = latents[i - 1]
            return self.insert(cache, row, other), latents.at[i].set(other), worst

        return jax.lax.fori_loop(0, n, visit, (self.cache(latents), latents, 0.0))[2]

    def reversed(self) -> ScoredKernel:
        return dataclasses.replace(self, backward=not self.backward)

    def visits(self, state, parameters):
        latents = self.latents(state)

        def visit(i):
            def conditional():
                row = jax.tree.map(lambda a: a[i], self.rows)
                return self.conditional(
                    self.remove(self.cache(latents), row, latents[i]), row, latents[i]
                )

            return Visit(
                f"latent of row {i + 1}",
                conditional,
                latents[i],
                lambda value: (self.with_latents(state, latents.at[i].set(value)), None),
            )

        return tuple(visit(i) for i in range(latents.shape[0]))
