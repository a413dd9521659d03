"""Clustering with its hyperparameters in the state."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.models.clustering.model import Clustering
from bracketz.models.hierarchical import Inferred
from bracketz.numerics.conjugate import Dirichlet, InverseGamma


class ClusteringHyper(NamedTuple):
    center_variance: Any
    noise_variance: Any
    log_mixture: Any  # (K,), normalised

    @property
    def mixture(self):
        """The probabilities; one below 1e-308 is 0."""
        return np.exp(self.log_mixture)


@pytree_dataclass
class ClusteringInLogs(Clustering):
    """``Clustering`` around logs of the mixture's probabilities, which may be any."""

    log_mixture: Any = None  # type: ignore[assignment]


@pytree_dataclass
class InferredClustering(Inferred):
    """Clustering with unknown variances and mixture probabilities.

    Variances have inverse-gamma priors IG(shape, scale), the mixture a symmetric Dirichlet. A sweep
    is ``Clustering``'s own and one conjugate draw of all hyperparameters.

    Args:
        components: K.
        center_shape, center_scale: of the prior on ``center_variance``.
        noise_shape, noise_scale: of the prior on ``noise_variance``.
        mixture_concentration: of the Dirichlet on ``mixture``.

    Raises:
        InputError: a value that is not positive.

    Example:
        >>> import bracketz as bz
        >>> model = bz.InferredClustering(components=2)
        >>> bz.simulate(model, rows=6, columns=2).exact.hyper.mixture.shape
        (2,)
    """

    components: int = static(default=10)
    center_shape: float = 1.0
    center_scale: float = 1.0
    noise_shape: float = 1.0
    noise_scale: float = 1.0
    mixture_concentration: float = 1.0

    name = "inferred-clustering"
    fixed_model = Clustering
    around = ClusteringInLogs

    @property
    def priors(self):
        return ClusteringHyper(
            InverseGamma(self.center_shape, self.center_scale),
            InverseGamma(self.noise_shape, self.noise_scale),
            Dirichlet(jnp.full(self.components, self.mixture_concentration)),
        )

    def named(self, hyper):
        return {
            name: getattr(hyper, name) for name in ("center_variance", "noise_variance", "mixture")
        }

    def tiny(self):
        return self.with_values(2, 3.1, 2.3, 3.7, 1.9, 1.6), (3, 2)
