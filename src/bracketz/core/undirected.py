"""Undirected models: a density known up to its constant, f(x), and no data to simulate.

log Z = log sum_x f(x) is an evidence like any other. With a base p0 that can be sampled, f(x; b) =
p0(x)^(1-b) f(x)^b is the path of powers of a model whose prior is p0 and whose likelihood is
f / p0, so that the engine, its weights and its bounds are the ones of every other model. Where f is
a product of terms, each term is a "data point" with a power of its own.

What plays the part of the data y are the numbers that define f: fields at the sites of a grid, the
weights of a machine. They are given, not drawn. The exact sample that a reverse run begins at is
therefore drawn from f itself (``sample_exact``: coupling from the past, enumeration), whatever y
is: both bounds are certified on any given model, and nothing is simulated. Every reverse chain has
an exact sample of its own, hence independent weights.
"""

from abc import abstractmethod
from typing import NamedTuple

import jax

from bracketz.core.model import Model, Shape, State
from bracketz.errors import InputError


class ExactDraw(NamedTuple):
    """An exact sample, if the sampler came to an end.

    Args:
        state: x ~ f / Z.
        done: whether it is one; otherwise the sampler gave up, and the state means nothing.
        steps: what it took, in the sampler's own unit.

    Example:
        >>> import bracketz as bz, jax, jax.numpy as jnp
        >>> draw = bz.Ising(coupling=0.3).sample_exact(jax.random.key(0), jnp.zeros((4, 4)))
        >>> draw.state.sites.shape, bool(draw.done)
        ((4, 4), True)
    """

    state: State
    done: jax.Array | bool
    steps: jax.Array | int


class Undirected(Model):
    """An unnormalised density with a base that can be sampled, and an exact sampler of its own.

    ``sample_prior`` draws from the base, ``log_annealed`` is log f(x; b), ``y`` are the numbers
    that define f. A sandwich needs no simulated data: ``bracketz.sandwich(model, y)``.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> answer = bz.sandwich(bz.Ising(coupling=0.3), np.zeros((4, 4)), gap=0.5)
        >>> answer.lower < answer.upper + 0.5
        True
    """

    @abstractmethod
    def instance(self, key, shape: Shape):
        """The numbers y that define f where none are given.

        Args:
            key: a JAX random key, for models that draw them.
            shape: (N, D) of y.

        Returns:
            y, (N, D).
        """

    @abstractmethod
    def sample_exact(self, key, y) -> ExactDraw:
        """An exact sample from f / Z. It may be called inside compiled code.

        Args:
            key: a JAX random key.
            y: the numbers that define f, (N, D).

        Returns:
            The sample, and whether it is one.
        """

    def no_exact_sample(self, shape: Shape) -> str | None:
        """Why ``sample_exact`` cannot be used at all on such a y.

        Args:
            shape: (N, D) of y.

        Returns:
            A sentence with a way out; None: it can.
        """
        return None

    def not_drawn(self, steps: int) -> str:
        """What to say where the sampler gave up.

        Args:
            steps: what it had taken.

        Returns:
            A sentence with a way out.
        """
        return f"no exact sample of {type(self).__name__} was found within {steps:,} steps"

    def simulate(self, key, state, shape):
        raise InputError(
            f"{type(self).__name__} is undirected: its y are given, and no data follow from a state"
        )

    def twin(self, key, state, y):
        raise InputError(
            f"{type(self).__name__} is undirected and has no data to simulate, hence no twins: give"
            " `twins=0`"
        )
