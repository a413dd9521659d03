"""The block Gibbs sweep of the low-rank model."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.kernel import Reversible, Visit
from bracketz.models.low_rank.state import Left, LowRankState
from bracketz.numerics.cholesky import (
    MAX_WRITTEN_OUT,
    cholesky,
    written_out_factor,
    written_out_solve,
)
from bracketz.numerics.conditionals import Gaussian
from bracketz.numerics.logarithm import log
from bracketz.numerics.noise import standard_normal

if TYPE_CHECKING:
    from bracketz.models.low_rank.model import LowRank


class RowGaussians(NamedTuple):
    """Independent rows u_i ~ exp(<s_i, u> - u^T Lam_i u / 2), Lam_i = precision I + c_i Gram.

    A few components factor every row by itself; many share the eigenvectors of the Gram matrix.
    Inside, K comes first and the rows last: every entry of a factor is one array over the rows.
    """

    gram: jax.Array  # V V^T, (K, K)
    c: jax.Array  # (N,)
    precision: jax.Array | float  # a priori
    shift: jax.Array  # (K, N)

    @property
    def law(self):
        return "normal"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return self.shift.shape

    @property
    def _written_out(self) -> bool:
        return self.gram.shape[0] <= MAX_WRITTEN_OUT

    def _factor(self):
        k = self.gram.shape[0]
        return written_out_factor(
            [
                [self.c * self.gram[p, q] + self.precision * (p == q) for q in range(p + 1)]
                for p in range(k)
            ]
        )

    def _eigen(self):
        """Gram = Q diag(e) Q^T: Q, the precisions (K, N) and the shift in that basis."""
        values, vectors = jnp.linalg.eigh(self.gram)
        precision = self.precision + jnp.maximum(values, 0.0)[:, None] * self.c
        return vectors, precision, vectors.T @ self.shift

    def from_noise(self, noise):
        if not self._written_out:
            vectors, precision, shift = self._eigen()
            return (vectors @ (shift / precision + noise / jnp.sqrt(precision))).T
        factor = self._factor()
        whitened = written_out_solve(factor, self.shift)
        moved = [mean + step for mean, step in zip(whitened, noise, strict=True)]
        return jnp.stack(written_out_solve(factor, moved, transposed=True)).T

    def sample(self, key):
        return self.from_noise(standard_normal(key, self.shift.shape))

    def log_density(self, value):
        quadratic = self.precision * jnp.sum(value**2) + jnp.sum(
            self.c[:, None] * (value @ self.gram) * value
        )
        return jnp.sum(self.shift.T * value) - 0.5 * quadratic

    @property
    def log_normalizer(self):
        half_log_det: jax.Array | float
        fit: jax.Array | float
        if self._written_out:
            factor = self._factor()
            # The diagonal holds reciprocals: their logs are minus half the log-determinant.
            half_log_det = -sum(jnp.sum(log(row[-1])) for row in factor)
            fit = sum(jnp.sum(x * x) for x in written_out_solve(factor, self.shift))
        else:
            _, precision, shift = self._eigen()
            half_log_det, fit = 0.5 * jnp.sum(jnp.log(precision)), jnp.sum(shift**2 / precision)
        return 0.5 * self.shift.size * jnp.log(2 * jnp.pi) - half_log_det + 0.5 * fit


@dataclasses.dataclass(frozen=True, eq=False)
class LowRankGibbs(Reversible):
    """U | V as a block, then V | U as a block.

    As a chain on V it is reversible: p(V) p(U|V) p(V'|U) = p(U) p(V|U) p(V'|U) is symmetric in V,
    V'.
    """

    model: "LowRank"
    y: jax.Array  # (N, D)
    c: jax.Array  # (N,)

    def left_conditional(self, right) -> RowGaussians:
        """U | V: rows are independent, with precisions Lam_i."""
        shift = self.c * (right @ self.y.T)
        return RowGaussians(right @ right.T, self.c, 1 / self.model.left_variance, shift)

    def right_conditional(self, left) -> Gaussian:
        """V | U: columns are independent and share the precision I/s_v^2 + U^T C U."""
        weighted = self.c[:, None] * left
        precision = jnp.eye(self.model.components) / self.model.right_variance + left.T @ weighted
        return Gaussian(cholesky(precision), weighted.T @ self.y)

    def step(self, key, state):
        n, d = self.y.shape
        noise = standard_normal(key, (self.model.components, n + d))
        left = self.left_conditional(state.right).from_noise(noise[:, :n])
        return LowRankState(self.right_conditional(left).from_noise(noise[:, n:]))

    def visits(self, state, parameters):
        u, v = parameters.left, state.right
        return (
            Visit(
                "left factor", lambda: self.left_conditional(v), u, lambda new: (state, Left(new))
            ),
            Visit(
                "right factor",
                lambda: self.right_conditional(u),
                v,
                lambda new: (LowRankState(new), parameters),
            ),
        )
