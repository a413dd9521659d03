"""What a transition kernel is: a step, and its exact time reversal.

A kernel T leaves a density f invariant. Its reversal R satisfies f(x) T(x'|x) = f(x') R(x|x') for
every pair of states, which is what makes a forward and a reverse annealing run two readings of one
pair of path measures (docs/design.md).

The life of a kernel, in the order of its calls: ``model.kernel(y, powers)`` makes one for a row of
powers, inside the compiled loop; ``step`` (or ``reversed().step``) moves a chain's state; a
recorder asks ``step_and_report`` instead; the correctness kit looks at ``visits`` and, where there
is one, at ``log_prob``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from bracketz.core.conditional import Conditional

#: What a step tells of itself, by name: "acceptance" (a probability), "move" (a distance), ...;
#: scalars.
MoveReport = Mapping[str, jax.Array]


class Visit(NamedTuple):
    """One conditional a sweep draws from, opened up for the correctness kit.

    Args:
        variable: what is drawn, in words.
        make: gives the conditional; called when somebody looks, so that listing the visits costs
            nothing.
        value: the variable's present value.
        put: new value -> (state, parameters) with the variable replaced.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> model.kernel(data.y, jnp.ones(6)).visits(data.exact, None)[0].variable
        'latent of row 1'
    """

    variable: str
    make: Callable[
        [], Conditional
    ]  # called when somebody looks, so that listing the visits costs nothing
    value: Any  # the variable's present value
    put: Callable  # new value -> (state, parameters) with the variable replaced

    @property
    def conditional(self) -> Conditional:
        """The conditional, made now."""
        return self.make()


class Kernel(ABC):
    """A Markov kernel that leaves a density invariant, and knows itself run backwards in time.

    Subclass it and write ``step`` and ``reversed`` (or subclass ``Reversible`` and write ``step``
    alone). A kernel is a plain class or dataclass, made inside compiled code for every row of
    powers, so it holds arrays and makes no choices in Python that depend on them. It must not adapt
    to the states it moves: that voids unbiasedness.

    Example:
        >>> import bracketz as bz
        >>> walk = bz.Metropolis(lambda x: -0.5 * x @ x, scale=0.5)
        >>> isinstance(walk, bz.Kernel) and walk.reversed() is walk
        True
    """

    @abstractmethod
    def step(self, key, state):
        """One transition.

        Args:
            key: a JAX random key, used for this step alone.
            state: the model's state, one chain's.

        Returns:
            The new state.
        """

    @abstractmethod
    def reversed(self) -> "Kernel":
        """The exact time reversal of this kernel."""

    @property
    def reports(self) -> tuple[str, ...]:
        """Names of what ``step_and_report`` tells; none by default."""
        return ()

    def step_and_report(self, key, state) -> tuple[Any, MoveReport]:
        """``step``, and what happened.

        A kernel that has something to say (whether a proposal was accepted, how far the state
        moved) overrides this and ``reports``; the recorder of a run averages it along the path.

        Args:
            key: a JAX random key, used for this step alone.
            state: the model's state, one chain's.

        Returns:
            (the state ``step`` gives, scalars by name).
        """
        return self.step(key, state), {}

    def drift(self, state, without: "Callable[[Any], Kernel]"):
        """How far off visits are that take a point out of what the kernel keeps up to date.

        Asked at the end of a run of the last states, where rounding may matter.

        Args:
            state: the model's state, one chain's.
            without: point -> this kernel for the same powers with 0 at that point, so that a
                rebuild of its cache never held the point. The point may be traced.

        Returns:
            The largest error of a log-probability relative to 1 + its size; None: it keeps nothing.
        """
        return None

    def visits(self, state, parameters) -> tuple[Visit, ...]:
        """The conditionals a sweep draws from, each as it would be at ``state``.

        Optional: a kernel that opens up here is checked variable by variable, exactly.

        Args:
            state: the model's state.
            parameters: values of what the model integrates out (None if nothing), for kernels that
                draw them on the way.

        Returns:
            The visits, in the order of the sweep.
        """
        return ()


class Reversible(Kernel):
    """A kernel in detailed balance: it is its own reversal.

    Example:
        >>> import bracketz as bz
        >>> issubclass(bz.Metropolis, bz.Reversible)
        True
    """

    def reversed(self) -> Kernel:
        return self


class ScoredKernel(Kernel):
    """A kernel whose transition density is known; the Chib-style estimators need it.

    Example:
        >>> import bracketz as bz
        >>> issubclass(bz.GibbsScan, bz.ScoredKernel)
        True
    """

    @abstractmethod
    def reversed(self) -> "ScoredKernel":
        """The exact time reversal, scored too."""

    @abstractmethod
    def log_prob(self, new_state, state):
        """log T(new_state | state), all sub-steps included.

        Args:
            new_state: where the step leads.
            state: where it begins.

        Returns:
            A scalar, normalised.
        """
