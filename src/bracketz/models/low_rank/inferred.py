"""Low rank with its hyperparameters in the state."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Reversible
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.errors import InputError
from bracketz.models.hierarchical import Inferred
from bracketz.models.low_rank.model import LowRank
from bracketz.models.low_rank.state import LowRankState
from bracketz.numerics.conjugate import InverseGamma

#: Of ``Exchange``: points of its grid, and the range of their spacing in log variance, drawn evenly
#: in logarithm.
POINTS, SPACINGS = 16, (0.1, 1.5)


class LowRankHyper(NamedTuple):
    left_variance: Any
    right_variance: Any
    noise_variance: Any


@pytree_dataclass
class InferredLowRank(Inferred):
    """Low rank with unknown variances. Only the product of the factors' variances is seen by the
    data; the priors settle the rest.

    Variances have inverse-gamma priors IG(shape, scale). A sweep is ``LowRank``'s own, one
    conjugate draw of all hyperparameters, and a draw of how the product of the factors' variances
    is shared out (``Exchange``).

    Args:
        components: K, the rank.
        left_shape, left_scale: of the prior on ``left_variance``.
        right_shape, right_scale: of the prior on ``right_variance``.
        noise_shape, noise_scale: of the prior on ``noise_variance``.

    Raises:
        InputError: a value that is not positive.

    Example:
        >>> import bracketz as bz
        >>> model = bz.InferredLowRank(components=2)
        >>> bool(bz.simulate(model, rows=6, columns=2).exact.hyper.noise_variance > 0)
        True
    """

    components: int = static(default=5)
    left_shape: float = 1.0
    left_scale: float = 1.0
    right_shape: float = 1.0
    right_scale: float = 1.0
    noise_shape: float = 1.0
    noise_scale: float = 1.0

    name = "inferred-low-rank"
    fixed_model = LowRank

    @property
    def priors(self):
        return LowRankHyper(
            InverseGamma(self.left_shape, self.left_scale),
            InverseGamma(self.right_shape, self.right_scale),
            InverseGamma(self.noise_shape, self.noise_scale),
        )

    def further_moves(self, laws):
        return (Exchange(laws.left_variance, laws.right_variance),)

    def tiny(self):
        return self.with_values(1, 4.2, 3.3, 3.4, 2.1, 3.8, 5.2), (4, 1)

    def _latent_nodes(self, shape):
        """V in units of its standard deviation, for K = 1 and one column."""
        if self.components != 1 or shape[1] != 1:
            raise InputError(
                f"quadrature needs 1 component and 1 column, got {self.components} and {shape[1]}"
            )
        axis = np.linspace(-8.5, 8.5, 69)
        return LowRankState(axis.reshape(-1, 1, 1)), float(np.log(axis[1] - axis[0]))

    def _scaled(self, state, log_weight):
        scale = np.sqrt(state.hyper.right_variance)
        right = state.latent.right * scale[:, None, None]
        return state._replace(latent=LowRankState(right)), log_weight + np.log(scale)


@dataclasses.dataclass(frozen=True, eq=False)
class Exchange(Reversible):
    """Scale from one factor to the other: V -> e^(s/2) V, right variance -> e^s times it, left
    variance -> e^(-s) times it.

    The data see the left variance times V'V, which stays. So does p(V | right variance) dV: its
    e^(-s K D / 2) meets the Jacobian e^(s K D / 2). Along the orbit, with respect to ds (the
    logarithms of the variances are shifted), what is left is the two variances' laws IG(a, b),

        log h(s) = (a_left - a_right) s - b_right e^(-s) / v_right - b_left e^s / v_left,

    whatever y and the powers are. The conjugate updates take a small step along it per sweep, since
    V holds the right variance and U, instantiated, the left one; the posterior is often wide there.

    The step: a grid of ``POINTS`` shifts of random spacing that has the present state, s = 0, at a
    random place, of which one is drawn in proportion to h. From each of them the same grid is drawn
    with the same probability, so h(s) times the probability of going to t is symmetric in s and t:
    the kernel is its own reversal, for any h and without tuning. Cost: two exponentials per point.
    """

    left: InverseGamma
    right: InverseGamma

    def log_along(self, hyper: LowRankHyper, shift):
        """log h up to a constant."""
        return (
            (self.left.shape - self.right.shape) * shift
            - self.right.scale * jnp.exp(-shift) / hyper.right_variance
            - self.left.scale * jnp.exp(shift) / hyper.left_variance
        )

    def step(self, key, state):
        key_place, key_spacing, key_choice = jax.random.split(key, 3)
        low, high = np.log(SPACINGS)
        spacing = jnp.exp(jax.random.uniform(key_spacing, minval=low, maxval=high))
        shifts = spacing * (jnp.arange(POINTS) - jax.random.randint(key_place, (), 0, POINTS))
        chosen = jax.random.categorical(key_choice, self.log_along(state.hyper, shifts))
        return moved(state, shifts[chosen])


def moved(state, shift):
    """The state so far along the orbit."""
    right = state.latent.right * jnp.exp(shift / 2)
    hyper = state.hyper._replace(
        left_variance=state.hyper.left_variance * jnp.exp(-shift),
        right_variance=state.hyper.right_variance * jnp.exp(shift),
    )
    return state._replace(latent=state.latent._replace(right=right), hyper=hyper)
