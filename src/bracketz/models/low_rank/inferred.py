"""Low rank with its hyperparameters in the state."""

from typing import Any, NamedTuple

import numpy as np

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.errors import InputError
from bracketz.models.hierarchical import Inferred
from bracketz.models.low_rank.model import LowRank
from bracketz.models.low_rank.state import LowRankState
from bracketz.numerics.conjugate import InverseGamma


class LowRankHyper(NamedTuple):
    left_variance: Any
    right_variance: Any
    noise_variance: Any


@pytree_dataclass
class InferredLowRank(Inferred):
    """Low rank with unknown variances. Only the product of the factors' variances is seen by the
    data; the priors settle the rest.

    Variances have inverse-gamma priors IG(shape, scale). A sweep is ``LowRank``'s own and one
    conjugate draw of all hyperparameters.

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
