"""Binary attributes: Y = Z A + noise, with K on/off attributes per row.

    z_ik ~ Bernoulli(attribute_probability_k),  a_kj ~ N(0, feature_variance),
    y_ij ~ N(sum_k z_ik a_kj, noise_variance)

The state is Z; the features A are integrated out. With C = diag(b / s_n^2), P = I/s_a^2 + Z^T C Z
and H = Z^T C Y,

    log f(Z; b) = sum_ik log Bern(z_ik; pi_k) + const(b) - (D/2) log det(s_a^2 P) + tr(H^T P^-1 H) /
    2.

A sweep keeps the posterior of A (covariance P^-1, H, and the Gram matrix of the mean M = P^-1 H) by
rank-one downdates and updates, after the accelerated samplers of Doshi-Velez and Ghahramani (2009).
The mean itself is never formed: H changes by c z y^T, and M y = P^-1 (H y) is all a visit needs of
it. Given the posterior without row i, a new row z has weight

    prior(z) * (1 + c v)^(-D/2) * exp( -c |y_i - M^T z|^2 / (2 (1 + c v)) ),   v = z^T P^-1 z,

and |y - M^T z|^2 is quadratic in z through M M^T and M y, so no D-sized work is left per candidate.
Three updates of a row are offered: bit by bit (O(K^2) per row, the paper's), flip by flip (the same
odds at the same cost, but each bit moves as often as balance allows: ``flips``), and the whole row
at once (2^K candidates in O(1) each; K up to 12).
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import (
    Conjugate,
    ConstrainedPrior,
    Enumerable,
    PointFit,
    Predictive,
    RowLatents,
    TransitionDensity,
    Variational,
)
from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import Array, pytree_dataclass, static, unchecked
from bracketz.core.validation import require_components, require_positive
from bracketz.errors import InputError, unknown
from bracketz.models.binary_attributes.constrained_prior import BinaryConstrained
from bracketz.models.binary_attributes.gibbs import BinaryGibbs
from bracketz.models.binary_attributes.maximum_likelihood import BinaryFit
from bracketz.models.binary_attributes.row import RowWeight, WholeRow, patterns
from bracketz.models.binary_attributes.state import BinaryState, Features
from bracketz.models.binary_attributes.variational import BinaryMeanField
from bracketz.models.collapsed import CollapsedChain, Row
from bracketz.models.stiff import stiff
from bracketz.numerics.conditionals import Gaussian
from bracketz.numerics.gaussian import gaussian_log_constant, normal_log_density, row_log_constant

ROW_UPDATES = ("bits", "flips", "whole")
MAX_WHOLE_ROW = 12
MAX_ENUMERATION_BITS = 20


@pytree_dataclass
class BinaryAttributes(
    Conjugate,
    Model,
    Predictive,
    RowLatents,
    TransitionDensity,
    ConstrainedPrior,
    Variational,
    PointFit,
    Enumerable,
):
    """Y = Z A + noise, with K on/off attributes per row.

    z_ik ~ Bernoulli(attribute_probability_k), a_kj ~ N(0, feature_variance), y_ij ~ N(sum_k z_ik
    a_kj, noise_variance). The state is Z; the features A are integrated out. A sweep costs O(K^2) a
    row, or 2^K candidates in O(1) each with ``row_update`` "whole".

    Args:
        components: K.
        attribute_probability: that an attribute is on, inside (0, 1); one value or K.
        feature_variance: prior variance of an entry of A.
        noise_variance: of an entry of Y around Z A.
        row_update: "bits": bit by bit (the paper's); "flips": the same odds at the same cost, but
            each bit moves as often as balance allows; "whole": the whole row at once (K up to 12).

    Raises:
        InputError: a value out of range, or too many components for "whole".

    Example:
        >>> import bracketz as bz
        >>> model = bz.BinaryAttributes(components=2, row_update="flips")
        >>> bz.simulate(model, rows=6, columns=3).exact.attributes.shape
        (6, 2)
    """

    components: int = static(default=10)
    attribute_probability: Array | float = 0.3
    feature_variance: float = 1.0
    noise_variance: float = 0.76
    row_update: str = static(default="bits")  # of ROW_UPDATES

    name = "binary-attributes"
    fixed = "features"
    tunable = {"row_update": ("bits", "flips", "whole")}

    def __post_init__(self):
        require_components(self.components)
        require_positive(feature_variance=self.feature_variance, noise_variance=self.noise_variance)
        p = np.asarray(self.attribute_probability, dtype=float)
        if p.ndim > 1 or p.size not in (1, self.components):
            raise InputError(
                f"attribute_probability needs one value or one for each of the {self.components}"
                f" components, got {p.size}"
            )
        if not np.all((p > 0) & (p < 1)):
            raise InputError(f"attribute_probability must lie inside (0, 1), got {p.tolist()}")
        object.__setattr__(
            self, "attribute_probability", np.broadcast_to(p, (self.components,)).copy()
        )
        if self.row_update not in ROW_UPDATES:
            raise unknown("row_update", self.row_update, ROW_UPDATES)
        if self.row_update == "whole":
            self._require_enumerable_row("row_update=whole", "row_update=bits")

    def _require_enumerable_row(self, what: str, way_out: str):
        if self.components > MAX_WHOLE_ROW:
            raise InputError(
                f"{what} enumerates 2^K rows and takes at most {MAX_WHOLE_ROW} components, got"
                f" {self.components}; use {way_out}"
            )

    def doubtful(self, y, states=None):
        return stiff(y, self.noise_variance, self.feature_variance / self.noise_variance)

    def suited_to(self, y):
        if type(self) is not BinaryAttributes or not self.doubtful(y):
            return self
        from bracketz.models.binary_attributes.careful import CarefulBinaryAttributes

        return unchecked(CarefulBinaryAttributes, **vars(self))

    # The four methods.

    def sample_prior(self, key, shape):
        u = jax.random.uniform(key, (shape[0], self.components))
        return BinaryState((u < self.attribute_probability).astype(u.dtype))

    def log_annealed(self, state, y, powers):
        z = state.attributes
        cholesky, h = self._precision(z, y, powers / self.noise_variance)
        whitened = jax.scipy.linalg.solve_triangular(cholesky, h, lower=True)
        d = y.shape[1]
        log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(cholesky))) + self.components * jnp.log(
            self.feature_variance
        )
        return (
            self._log_prior(z)
            + gaussian_log_constant(y, powers, self.noise_variance)
            - 0.5 * d * log_det
            + 0.5 * jnp.sum(whitened**2)
        )

    def kernel(self, y, powers) -> Kernel:
        return self._gibbs(y, powers, whole_row=self.row_update == "whole")

    def _gibbs(self, y, powers, whole_row):
        rows = Row(y, jnp.sum(y * y, axis=1), powers / self.noise_variance)
        return BinaryGibbs(rows, model=self, whole_row=whole_row)

    # The integrated-out features.

    def sample_parameters(self, key, state, shape):
        scale = jnp.sqrt(self.feature_variance)
        return Features(scale * jax.random.normal(key, (self.components, shape[1])))

    def sample_data(self, key, state, parameters):
        mean = self.mean(state, parameters)
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def log_joint(self, state, parameters, y, powers):
        mean = self.mean(state, parameters)
        rows = jax.vmap(lambda row, m: normal_log_density(row, m, self.noise_variance))(y, mean)
        return (
            self._log_prior(state.attributes)
            + normal_log_density(parameters.features, 0.0, self.feature_variance)
            + jnp.sum(powers * rows)
        )

    # What conjugate hyperparameters need.

    parameters = Features

    @property
    def coefficient_variance(self):
        return self.feature_variance

    def design(self, state):
        return state.attributes

    def mean(self, state, parameters):
        return state.attributes @ parameters.features

    def parameter_conditional(self, state, y, powers):
        return Gaussian(*self._precision(state.attributes, y, powers / self.noise_variance))

    def latent_statistics(self, state, parameters):
        on = jnp.sum(state.attributes, axis=0)
        return {
            "feature_variance": (parameters.features.size, jnp.sum(parameters.features**2)),
            "attribute_log_odds": (on, state.attributes.shape[0] - on),
        }

    # Capabilities.

    def point_conditional(self, state, y, powers, i):
        gibbs = self._gibbs(y, powers, whole_row=True)
        row = jax.tree.map(lambda a: a[i], gibbs.rows)
        cache = gibbs.remove(gibbs.cache(state.attributes), row, state.attributes[i])
        # The weight formula already holds exp(-c |y|^2 / 2 ...) in full: only the scale is missing.
        scale = row_log_constant(jnp.zeros_like(row.y), powers[i], self.noise_variance)
        return gibbs.conditional(cache, row, state.attributes[i])._replace(log_scale=scale)

    def replace_latent(self, state, i, latent):
        return BinaryState(state.attributes.at[i].set(latent))

    def scored_chain(self, y):
        """Bit by bit, also where the sweeps go flip by flip: CMS divides by an average transition
        density, which is unbiased only if no transition is impossible.
        """
        model = self
        if self.row_update == "flips":
            values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
            model = unchecked(type(self), **values | {"row_update": "bits"})
        return CollapsedChain(model, y)

    def row_conditional(self, fixed, row, power):
        """With A known its covariance is 0, and the row weight is the plain likelihood."""
        k = self.components
        weight = RowWeight(
            *self._log_odds(),
            jnp.zeros((k, k)),
            fixed @ fixed.T,
            fixed @ row,
            jnp.sum(row**2),
            power / self.noise_variance,
            row.shape[0],
        )
        return WholeRow(weight, row_log_constant(jnp.zeros_like(row), power, self.noise_variance))

    def sample_row(self, key, fixed, latent):
        mean = latent @ fixed
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def constrained_prior(self, y):
        return BinaryConstrained(self, y)

    def variational(self, y):
        return BinaryMeanField(self, y)

    def maximum_likelihood(self, y):
        return BinaryFit(self, y)

    def nodes(self, shape):
        bits = shape[0] * self.components
        if bits > MAX_ENUMERATION_BITS:
            raise InputError(
                f"2^{bits} bit patterns are too many to enumerate; use fewer rows or components"
            )
        return BinaryState(patterns(bits).reshape(-1, shape[0], self.components)), 0.0

    def check_state(self, state):
        attributes = np.asarray(state.attributes)
        if wrong := attributes[(attributes != 0) & (attributes != 1)].tolist():
            raise InputError(f"an attribute is {wrong[0]:g}, and can be 0 or 1")

    def tiny(self):
        probability = np.array([0.3, 0.6])[: self.components]
        small = dataclasses.replace(
            self,
            components=len(probability),
            attribute_probability=probability,
            feature_variance=1.4,
            noise_variance=0.5,
        )
        return small, (3, 2)

    def _log_odds(self) -> tuple[jax.Array, jax.Array]:
        p = self.attribute_probability
        return jnp.log(p) - jnp.log1p(-p), jnp.sum(jnp.log1p(-p))

    def _log_prior(self, z):
        log_odds, log_off = self._log_odds()
        return jnp.sum(z @ log_odds) + z.shape[0] * log_off

    def _precision(self, z, y, c):
        """Cholesky factor of P, and H."""
        weighted = c[:, None] * z
        precision = jnp.eye(self.components) / self.feature_variance + z.T @ weighted
        return jnp.linalg.cholesky(precision), weighted.T @ y
