"""Binary attributes with the hyperparameters in the state."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.models.binary_attributes.model import BinaryAttributes
from bracketz.models.hierarchical import Inferred
from bracketz.numerics.conjugate import Beta, InverseGamma


class BinaryHyper(NamedTuple):
    attribute_probability: Any  # (K,)
    feature_variance: Any
    noise_variance: Any


@pytree_dataclass
class InferredBinaryAttributes(Inferred):
    """Binary attributes with unknown variances and attribute probabilities.

    Variances have inverse-gamma priors IG(shape, scale), each attribute's probability a beta. A
    sweep is ``BinaryAttributes``'s own and one conjugate draw of all hyperparameters.

    Args:
        components: K.
        attribute_on, attribute_off: of the beta prior Be(on, off) on each attribute probability.
        feature_shape, feature_scale: of the prior on ``feature_variance``.
        noise_shape, noise_scale: of the prior on ``noise_variance``.

    Raises:
        InputError: a value that is not positive.

    Example:
        >>> import bracketz as bz
        >>> model = bz.InferredBinaryAttributes(components=2)
        >>> bz.simulate(model, rows=6, columns=2).exact.hyper.attribute_probability.shape
        (2,)
    """

    components: int = static(default=10)
    attribute_on: float = 1.0
    attribute_off: float = 1.0
    feature_shape: float = 1.0
    feature_scale: float = 1.0
    noise_shape: float = 1.0
    noise_scale: float = 1.0

    name = "inferred-binary-attributes"
    fixed_model = BinaryAttributes

    @property
    def priors(self):
        each = jnp.ones(self.components)
        return BinaryHyper(
            Beta(self.attribute_on * each, self.attribute_off * each),
            InverseGamma(self.feature_shape, self.feature_scale),
            InverseGamma(self.noise_shape, self.noise_scale),
        )

    def tiny(self):
        return self.with_values(1, 1.4, 2.2, 3.3, 2.6, 3.9, 1.8), (3, 2)
