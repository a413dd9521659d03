"""Low rank where the noise is far below the data, or a prior far above them: the same model in
other arithmetic (``numerics.ridge``)."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.low_rank.gibbs import LowRankGibbs
from bracketz.models.low_rank.model import LowRank
from bracketz.numerics.gaussian import normal_log_density
from bracketz.numerics.noise import standard_normal
from bracketz.numerics.ridge import Ridge, principal_axes


class RowRidges(NamedTuple):
    """A ``Ridge`` for every row of y on the same right factor: one decomposition serves all."""

    right: jax.Array  # V, (K, D)
    y: jax.Array  # (N, D)
    c: jax.Array  # (N,)
    variance: jax.Array | float  # a priori

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return self.right.shape[0], self.y.shape[0]

    def from_noise(self, noise):
        axes = principal_axes(self.right.T)
        precision = 1 / self.variance + axes.values[:, None] ** 2 * self.c
        gain = axes.values[:, None] * self.c / precision
        whole = gain * (axes.left.T @ self.y.T) + noise / jnp.sqrt(precision)
        return whole.T @ axes.right

    def sample(self, key):
        return self.from_noise(standard_normal(key, self.noise_shape))

    def log_density(self, value):
        misfit = jnp.sum(self.c * jnp.sum((self.y - value @ self.right) ** 2, axis=1))
        return -0.5 * (misfit + jnp.sum(value**2) / self.variance)

    @property
    def log_normalizer(self):
        axes = principal_axes(self.right.T)
        along = axes.left.T @ self.y.T
        inflation = 1 + self.variance * axes.values[:, None] ** 2 * self.c
        across = jnp.sum((self.y.T - axes.left @ along) ** 2, axis=0)
        misfit = jnp.sum(self.c * (across + jnp.sum(along**2 / inflation, axis=0)))
        log_det = jnp.sum(jnp.log(inflation / (2 * jnp.pi * self.variance)))
        return -0.5 * (misfit + log_det)


@dataclasses.dataclass(frozen=True, eq=False)
class CarefulGibbs(LowRankGibbs):
    """The same conditionals, from singular values."""

    def left_conditional(self, right):
        return RowRidges(right, self.y, self.c, self.model.left_variance)

    def right_conditional(self, left):
        root = jnp.sqrt(self.c)[:, None]
        return Ridge(root * left, root * self.y, self.model.right_variance)


@pytree_dataclass
class CarefulLowRank(LowRank):
    """``LowRank``, computed from residuals and singular values."""

    def doubtful(self, y, states=None):
        return False

    def suited_to(self, y):
        return self

    def log_annealed(self, state, y, powers):
        left = self._gibbs(y, powers).left_conditional(state.right)
        return (
            normal_log_density(state.right, 0.0, self.right_variance)
            - 0.5 * y.shape[1] * jnp.sum(powers) * jnp.log(2 * jnp.pi * self.noise_variance)
            - 0.5 * y.shape[0] * self.components * jnp.log(2 * jnp.pi * self.left_variance)
            + left.log_normalizer
        )

    def _gibbs(self, y, powers) -> CarefulGibbs:
        return CarefulGibbs(self, y, powers / self.noise_variance)

    def row_conditional(self, fixed, row, power):
        root = jnp.sqrt(power / self.noise_variance)
        scale = row.shape[0] * power * jnp.log(2 * jnp.pi * self.noise_variance)
        prior = self.components * jnp.log(2 * jnp.pi * self.left_variance)
        return Ridge(root * fixed.T, root * row, self.left_variance, -0.5 * (scale + prior))
