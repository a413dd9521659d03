"""Kernels made of kernels: one after another, and one again and again."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.kernel import Kernel


@dataclasses.dataclass(frozen=True, eq=False)
class Compose(Kernel):
    """Several kernels, the first one first; the reversal runs the reversed parts in opposite order.

    Args:
        kernels: the parts, a tuple. Reports of a name that several parts use are averaged.

    Example:
        >>> import bracketz as bz
        >>> wide, narrow = (bz.Metropolis(lambda x: -0.5 * x @ x, scale) for scale in (2.0, 0.1))
        >>> bz.Compose((wide, narrow)).reversed().kernels == (narrow, wide)
        True
    """

    kernels: tuple[Kernel, ...]

    def step(self, key, state):
        for part, kernel in zip(
            jax.random.split(key, len(self.kernels)), self.kernels, strict=True
        ):
            state = kernel.step(part, state)
        return state

    @property
    def reports(self):
        return tuple(dict.fromkeys(name for kernel in self.kernels for name in kernel.reports))

    def step_and_report(self, key, state):
        said: dict[str, list] = {}
        for part, kernel in zip(
            jax.random.split(key, len(self.kernels)), self.kernels, strict=True
        ):
            state, report = kernel.step_and_report(part, state)
            for name, value in report.items():
                said.setdefault(name, []).append(value)
        return state, {name: sum(values) / len(values) for name, values in said.items()}

    def reversed(self) -> Kernel:
        return Compose(tuple(kernel.reversed() for kernel in self.kernels[::-1]))

    def drift(self, state, without):
        def part(k):
            return self.kernels[k].drift(state, lambda i: without(i).kernels[k])

        found = [drift for k in range(len(self.kernels)) if (drift := part(k)) is not None]
        return jnp.max(jnp.stack(found)) if found else None

    def visits(self, state, parameters):
        return tuple(visit for kernel in self.kernels for visit in kernel.visits(state, parameters))


@dataclasses.dataclass(frozen=True, eq=False)
class Repeat(Kernel):
    """The same kernel several times.

    Args:
        kernel: what is repeated.
        times: how often; it may be traced, so that it does not cost a compilation.

    Example:
        >>> import bracketz as bz
        >>> bz.Repeat(bz.Metropolis(lambda x: -0.5 * x @ x, scale=0.5), times=3).reversed().times
        3
    """

    kernel: Kernel
    times: Any

    def step(self, key, state):
        def once(s, state):
            return self.kernel.step(jax.random.fold_in(key, s), state)

        return jax.lax.fori_loop(0, self.times, once, state)

    @property
    def reports(self):
        return self.kernel.reports

    def step_and_report(self, key, state):
        """What is reported is the average over the repetitions (0 where there are none)."""

        def once(s, carry):
            state, totals = carry
            state, report = self.kernel.step_and_report(jax.random.fold_in(key, s), state)
            return state, {name: totals[name] + report[name] for name in totals}

        nothing = {name: jnp.zeros(()) for name in self.reports}
        state, totals = jax.lax.fori_loop(0, self.times, once, (state, nothing))
        return state, {name: total / jnp.maximum(self.times, 1) for name, total in totals.items()}

    def reversed(self) -> Kernel:
        return Repeat(self.kernel.reversed(), self.times)

    def drift(self, state, without):
        return self.kernel.drift(state, lambda i: without(i).kernel)
