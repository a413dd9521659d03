"""Binary attributes: Y = Z A + noise, with K on/off attributes a row.

    z_ik ~ Bernoulli(attribute_probability_k),  a_kj ~ N(0, feature_variance),
    y_ij ~ N(sum_k z_ik a_kj, noise_variance)

The state is Z; the features A are integrated out. With C = diag(b / s_n^2), P = I/s_a^2 + Z^T C Z and
H = Z^T C Y,

    log f(Z; b) = sum_ik log Bern(z_ik; pi_k) + const(b) - (D/2) log det(s_a^2 P) + tr(H^T P^-1 H) / 2.

A sweep keeps the posterior of A (covariance P^-1, H, and the Gram matrix of the mean M = P^-1 H) by
rank-one downdates and updates, after the accelerated samplers of Doshi-Velez and Ghahramani (2009). The mean itself
is never formed: H changes by c z y^T, and M y = P^-1 (H y) is all a visit needs of it.
Given the posterior without row i, a new row z has weight

    prior(z) * (1 + c v)^(-D/2) * exp( -c |y_i - M^T z|^2 / (2 (1 + c v)) ),   v = z^T P^-1 z,

and |y - M^T z|^2 is quadratic in z through M M^T and M y, so no D-sized work is left per candidate.
Three updates of a row are offered: bit by bit (O(K^2) a row, the paper's), flip by flip (the same odds at the same cost,
but each bit moves as often as balance allows: ``moves``), and the whole row at once (2^K candidates in O(1) each; K up to 12).
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.conditional import Gaussian
from bracketz.errors import InputError, unknown
from bracketz.kernel import GibbsScan, Kernel
from bracketz.models import fused
from bracketz.models.base import (
    Conjugate,
    Enumerable,
    Model,
    Predictive,
    RowLatents,
    gaussian_log_constant,
    normal_log_density,
    require_components,
    require_positive,
    row_log_constant,
)
from bracketz.models.binary_row import BitByBit, RowWeight, WholeRow, patterns, rank_one
from bracketz.models.inference import ShippedInference
from bracketz.models.moves import FlipByFlip
from bracketz.pytree import pytree_dataclass, static, unchecked

ROW_UPDATES = ("bits", "flips", "whole")
MAX_WHOLE_ROW = 12
MAX_ENUMERATION_BITS = 20


class BinaryState(NamedTuple):
    attributes: jax.Array  # Z, (N, K) of 0/1 in the float type


class Features(NamedTuple):
    features: jax.Array  # A, (K, D)


class FeaturePosterior(NamedTuple):
    """Gaussian posterior of A under powers; its columns share the covariance. M = P^-1 H is its mean."""

    covariance: jax.Array  # P^-1, (K, K)
    gram: jax.Array  # M M^T, (K, K)
    weighted_sum: jax.Array  # H, (K, D)


class WithoutRow(NamedTuple):
    """The posterior less one row. H is written once a visit, when the row comes back: until then it still holds the
    row, and only M y is corrected."""

    covariance: jax.Array  # (K, K), without the row
    gram: jax.Array  # (K, K), without
    cross: jax.Array  # M y, (K,), without
    weighted_sum: jax.Array  # (K, D), *with* the row
    removed: jax.Array  # the row's bits, (K,)


class Row(NamedTuple):
    y: jax.Array  # (D,)
    square: jax.Array  # |y|^2
    c: jax.Array  # b_i / noise_variance


@pytree_dataclass
class BinaryAttributes(Conjugate, Model, Predictive, RowLatents, ShippedInference, Enumerable):
    """See the module docstring. ``attribute_probability`` is one value or K."""

    components: int = static(default=10)
    attribute_probability: jax.Array | float = 0.3
    feature_variance: float = 1.0
    noise_variance: float = 0.76
    row_update: str = static(default="bits")  # of ROW_UPDATES

    fixed = "features"
    family = "Binary"
    chain = "CollapsedChain"

    def __post_init__(self):
        require_components(self.components)
        require_positive(feature_variance=self.feature_variance, noise_variance=self.noise_variance)
        p = np.asarray(self.attribute_probability, dtype=float)
        if p.ndim > 1 or p.size not in (1, self.components):
            raise InputError(
                f"attribute_probability needs one value or one for each of the {self.components} components,"
                f" got {p.size}"
            )
        if not np.all((p > 0) & (p < 1)):
            raise InputError(f"attribute_probability must lie inside (0, 1), got {p.tolist()}")
        object.__setattr__(self, "attribute_probability", np.broadcast_to(p, (self.components,)).copy())
        if self.row_update not in ROW_UPDATES:
            raise unknown("row_update", self.row_update, ROW_UPDATES)
        if self.row_update == "whole":
            self._require_enumerable_row("row_update=whole", "row_update=bits")

    def _require_enumerable_row(self, what: str, way_out: str):
        if self.components > MAX_WHOLE_ROW:
            raise InputError(
                f"{what} enumerates 2^K rows and takes at most {MAX_WHOLE_ROW} components,"
                f" got {self.components}; use {way_out}"
            )

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
            "attribute_probability": (on, state.attributes.shape[0] - on),
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
        """Bit by bit, also where the sweeps go flip by flip: CMS divides by an average transition density, which is
        unbiased only if no transition is impossible."""
        model = self
        if self.row_update == "flips":
            values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
            model = unchecked(BinaryAttributes, **values | {"row_update": "bits"})
        return model._make("scored", self.chain, y)

    def row_conditional(self, fixed, row, power):
        """With A known its covariance is 0, and the row weight is the plain likelihood."""
        k = self.components
        weight = RowWeight(
            *self._log_odds(), jnp.zeros((k, k)), fixed @ fixed.T, fixed @ row, jnp.sum(row**2),
            power / self.noise_variance, row.shape[0],
        )  # fmt: skip
        return WholeRow(weight, row_log_constant(jnp.zeros_like(row), power, self.noise_variance))

    def sample_row(self, key, fixed, latent):
        mean = latent @ fixed
        return mean + jnp.sqrt(self.noise_variance) * jax.random.normal(key, mean.shape)

    def nodes(self, shape):
        bits = shape[0] * self.components
        if bits > MAX_ENUMERATION_BITS:
            raise InputError(f"2^{bits} bit patterns are too many to enumerate; use fewer rows or components")
        return BinaryState(patterns(bits).reshape(-1, shape[0], self.components)), 0.0

    def tiny(self):
        probability = np.array([0.3, 0.6])[: self.components]
        return BinaryAttributes(len(probability), probability, 1.4, 0.5, self.row_update), (3, 2)

    def _log_odds(self):
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


@dataclasses.dataclass(frozen=True, eq=False)
class BinaryGibbs(GibbsScan):
    """Collapsed Gibbs over rows, with the posterior of A kept by rank-one steps."""

    model: BinaryAttributes = dataclasses.field(kw_only=True)
    whole_row: bool = dataclasses.field(kw_only=True)

    def noise(self, key, latents):
        n, k = latents.shape
        return jax.random.uniform(key, (n, 2 if self.whole_row else k))

    def latents(self, state):
        return state.attributes

    def with_latents(self, state, latents):
        return BinaryState(latents)

    def draw(self, latents, noise):
        bits = not self.whole_row and self.model.row_update != "flips"
        if bits and fused.chosen(self.model.components, self.rows.y.shape[1]):
            return fused.binary_draw(self, latents, noise)
        return super().draw(latents, noise)

    def cache(self, latents):
        cholesky, h = self.model._precision(latents, self.rows.y, self.rows.c)
        covariance = jax.scipy.linalg.cho_solve((cholesky, True), jnp.eye(h.shape[0]))
        mean = covariance @ h
        return FeaturePosterior(covariance, mean @ mean.T, h)

    def remove(self, cache, row, latent):
        cross = cache.covariance @ (cache.weighted_sum @ row.y)
        covariance, gram, change = rank_one(cache.covariance, cache.gram, cross, row.square, latent, -row.c)
        return WithoutRow(covariance, gram, cross + change, cache.weighted_sum, latent)

    def insert(self, cache, row, latent):
        covariance, gram, _ = rank_one(cache.covariance, cache.gram, cache.cross, row.square, latent, row.c)
        weights = row.c * (latent - cache.removed)
        return FeaturePosterior(covariance, gram, cache.weighted_sum + weights[:, None] * row.y)

    def conditional(self, cache, row, latent):
        weight = RowWeight(
            *self.model._log_odds(), cache.covariance, cache.gram, cache.cross, row.square,
            row.c, row.y.shape[0],
        )  # fmt: skip
        if self.whole_row:
            return WholeRow(weight)
        one_bit_at_a_time = FlipByFlip if self.model.row_update == "flips" else BitByBit
        return one_bit_at_a_time(weight, latent, self.backward)
