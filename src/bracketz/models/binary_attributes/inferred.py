"""Binary attributes with the hyperparameters in the state."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from scipy.special import expit

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.models.binary_attributes.model import BinaryAttributes
from bracketz.models.binary_attributes.state import BinaryState
from bracketz.models.hierarchical import Inferred
from bracketz.numerics.conjugate import Beta, InverseGamma


class BinaryHyper(NamedTuple):
    attribute_log_odds: Any  # (K,)
    feature_variance: Any
    noise_variance: Any

    @property
    def attribute_probability(self):
        """The probabilities; one below 1e-308 is 0."""
        return expit(self.attribute_log_odds)


@pytree_dataclass
class BinaryInLogs(BinaryAttributes):
    """``BinaryAttributes`` around log-odds of the attributes' probabilities, which may be any."""

    attribute_log_odds: Any = None

    def sample_prior(self, key, shape):
        u = jax.random.uniform(key, (shape[0], self.components))
        return BinaryState((u < jax.nn.sigmoid(self.attribute_log_odds)).astype(u.dtype))

    def _log_odds(self):
        return self.attribute_log_odds, jnp.sum(jax.nn.log_sigmoid(-self.attribute_log_odds))


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
    around = BinaryInLogs

    @property
    def priors(self):
        each = jnp.ones(self.components)
        return BinaryHyper(
            Beta(self.attribute_on * each, self.attribute_off * each),
            InverseGamma(self.feature_shape, self.feature_scale),
            InverseGamma(self.noise_shape, self.noise_scale),
        )

    def named(self, hyper):
        return {"attribute_probability": hyper.attribute_probability} | {
            name: getattr(hyper, name) for name in ("feature_variance", "noise_variance")
        }

    def tiny(self):
        return self.with_values(1, 1.4, 2.2, 3.3, 2.6, 3.9, 1.8), (3, 2)
