"""Transition kernels with exact time reversal.

A kernel T leaves a density f invariant. Its reversal R satisfies f(x) T(x'|x) = f(x') R(x|x') for
every pair of states, which is what makes a forward and a reverse annealing run two readings of one
pair of path measures (docs/design.md, section 1).
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.conditional import Conditional, log_prob


class Visit(NamedTuple):
    """One conditional a sweep draws from, opened up for the correctness kit."""

    variable: str
    make: Callable[[], Conditional]  # called when somebody looks, so that listing the visits costs nothing
    value: Any  # the variable's present value
    put: Callable  # new value -> (state, parameters) with the variable replaced

    @property
    def conditional(self) -> Conditional:
        return self.make()


class Kernel(ABC):
    """``step`` moves a state; ``reversed`` is the kernel of the same chain run backwards in time."""

    @abstractmethod
    def step(self, key, state):
        """One transition."""

    @abstractmethod
    def reversed(self) -> "Kernel":
        """The exact time reversal of this kernel."""

    def visits(self, state, parameters) -> tuple[Visit, ...]:
        """The conditionals a sweep draws from, each as it would be at ``state``.

        ``parameters`` are values of what the model integrates out (None if nothing), for kernels that draw
        them on the way. Optional: a kernel that opens up here is checked variable by variable, exactly.
        """
        return ()


class Reversible(Kernel):
    """A kernel in detailed balance: it is its own reversal."""

    def reversed(self) -> Kernel:
        return self


class ScoredKernel(Kernel):
    """A kernel whose transition density is known; the Chib-style estimators need it."""

    @abstractmethod
    def reversed(self) -> "ScoredKernel":
        """The exact time reversal, scored too."""

    @abstractmethod
    def log_prob(self, new_state, state):
        """log T(new_state | state), all sub-steps included."""


@dataclasses.dataclass(frozen=True, eq=False)
class Compose(Kernel):
    """First kernel first. The reversal applies the reversed parts in the opposite order."""

    kernels: tuple[Kernel, ...]

    def step(self, key, state):
        for part, kernel in zip(jax.random.split(key, len(self.kernels)), self.kernels, strict=True):
            state = kernel.step(part, state)
        return state

    def reversed(self) -> Kernel:
        return Compose(tuple(kernel.reversed() for kernel in self.kernels[::-1]))

    def visits(self, state, parameters):
        return tuple(visit for kernel in self.kernels for visit in kernel.visits(state, parameters))


@dataclasses.dataclass(frozen=True, eq=False)
class Repeat(Kernel):
    """The same kernel ``times`` times; ``times`` may be traced, so it does not cost a compilation."""

    kernel: Kernel
    times: Any

    def step(self, key, state):
        def once(s, state):
            return self.kernel.step(jax.random.fold_in(key, s), state)

        return jax.lax.fori_loop(0, self.times, once, state)

    def reversed(self) -> Kernel:
        return Repeat(self.kernel.reversed(), self.times)


class Metropolis(Reversible):
    """Random-walk Metropolis on a state made of real arrays; a ready-made kernel for user models.

    ``log_density`` maps a state to a scalar and ``scale`` is the proposal's standard deviation
    (one number, or a pytree like the state). Fix the scale beforehand: a kernel that adapts to the
    states it is moving voids unbiasedness.
    """

    def __init__(self, log_density: Callable, scale):
        self.log_density = log_density
        self.scale = scale

    def step(self, key, state):
        key_move, key_accept = jax.random.split(key)
        leaves, treedef = jax.tree.flatten(state)
        scales = (
            jax.tree.leaves(self.scale)
            if jax.tree.structure(self.scale) == treedef
            else [self.scale] * len(leaves)
        )
        keys = jax.random.split(key_move, len(leaves))
        proposal = treedef.unflatten(
            leaf + scale * jax.random.normal(k, leaf.shape, leaf.dtype)
            for k, leaf, scale in zip(keys, leaves, scales, strict=True)
        )
        log_ratio = self.log_density(proposal) - self.log_density(state)
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        return jax.tree.map(lambda new, old: jnp.where(accept, new, old), proposal, state)


@dataclasses.dataclass(frozen=True, eq=False)
class GibbsScan(ScoredKernel):
    """Visit the data points in order, redrawing the latent of each given all the others.

    A subclass says how its cache (the statistics of all points) loses a point, which conditional
    the point's latent then has, and how the cache takes the point back. One scan serves ``step``
    (draw from the conditional) and ``log_prob`` (score a given value), so what is sampled and what
    is scored cannot drift apart. The reversal visits the points from last to first.
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
        _, new, _ = self._sweep(latents, lambda conditional, u: (conditional.from_noise(u), ()), noise)
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

    def reversed(self) -> ScoredKernel:
        return dataclasses.replace(self, backward=not self.backward)

    def visits(self, state, parameters):
        latents = self.latents(state)

        def visit(i):
            def conditional():
                row = jax.tree.map(lambda a: a[i], self.rows)
                return self.conditional(self.remove(self.cache(latents), row, latents[i]), row, latents[i])

            return Visit(
                f"latent of row {i + 1}",
                conditional,
                latents[i],
                lambda value: (self.with_latents(state, latents.at[i].set(value)), None),
            )

        return tuple(visit(i) for i in range(latents.shape[0]))
