"""The conditional of one row of bits in the binary attribute model: whole row, or bit by bit.

Given the Gaussian posterior of the features without the row (mean M, covariance Cov), a row z has
weight

    prior(z) * (1 + c v)^(-D/2) * exp( -c r / (2 (1 + c v)) ),   v = z^T Cov z,   r = |y - M^T z|^2,

and r is quadratic in z through M M^T and M y, so no D-sized work is left per candidate.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.numerics.conditionals import inverse_cdf
from bracketz.numerics.lanes import outer
from bracketz.numerics.logarithm import log


class RowWeight(NamedTuple):
    """log-weight of a row as a function of its bits z: two quadratics, then one formula."""

    log_odds: jax.Array  # (K,) log pi_k / (1 - pi_k)
    log_off: jax.Array  # sum_k log(1 - pi_k)
    covariance: jax.Array  # (K, K)
    gram: jax.Array  # (K, K)
    cross: jax.Array  # M y, (K,)
    square: jax.Array  # |y|^2
    c: jax.Array
    columns: int

    def weight(self, prior, variance, distance):
        """log prior(z) - (D/2) log(1 + c v) - c r / (2 (1 + c v)) with v = z'Cov z, r = |y -
        M'z|^2."""
        inflation = 1 + self.c * variance
        return prior - 0.5 * self.columns * jnp.log(inflation) - 0.5 * self.c * distance / inflation

    def quadratics(self, bits, cov_z, gram_z):
        """v and r, given Cov z and M M^T z."""
        return bits @ cov_z, self.square - 2 * bits @ self.cross + bits @ gram_z

    def table(self):
        """Of all rows; see ``pattern_table``."""
        return pattern_table(self)

    def of(self, bits):
        quadratics = self.quadratics(bits, self.covariance @ bits, self.gram @ bits)
        return self.weight(self.log_off + bits @ self.log_odds, *quadratics)


def bit_logit(log_odds, columns, c, v0, r0, dv, dr):
    """Log-odds of a bit: the difference of ``RowWeight.weight`` with it on (v0 + dv, r0 + dr) and
    off.

    With i0 = 1 + c v0 and i1 = i0 + c dv, log(i1 / i0) and r1 / i1 - r0 / i0 = (dr i0 - r0 c dv) /
    (i0 i1) share a division.
    """
    i0 = 1 + c * v0
    i1 = i0 + c * dv
    inverse = 1 / (i0 * i1)
    return log_odds - 0.5 * (
        columns * log(i1 * i1 * inverse) + c * (dr * i0 - r0 * c * dv) * inverse
    )


def rank_one(covariance, gram, cross, square, bits, c, times=jnp.matmul):
    """Precision P + c z z^T and H + c z y^T (c < 0 takes the row out), by Sherman-Morrison.

    With g = P^-1 z, r = y - M^T z, a = c / (1 + c z.g) and s = a g: P^-1 -= s g^T,  M += s r^T,  M
    M^T += s t^T + t s^T,  t = M r + |r|^2 s / 2. No D-sized work: M r = M y - M M^T z and r.y =
    |y|^2 - z.M y, from ``cross`` = M y and ``square`` = |y|^2. Returns P^-1, M M^T and the change
    of M y. ``times`` is the product of a matrix or vector with a vector; of arrays, or of those of
    ``numerics.lanes``.
    """
    g = times(covariance, bits)
    s = c / (1 + c * times(bits, g)) * g
    mean_r = cross - times(gram, bits)
    r_y = square - times(bits, cross)
    t = mean_r + 0.5 * (r_y - times(bits, mean_r)) * s
    return covariance - outer(s, g), gram + (outer(s, t) + outer(t, s)), r_y * s


def patterns(k: int) -> np.ndarray:
    """All 2^k rows of bits, (2^k, k); the first bit is the most significant."""
    return ((np.arange(2**k)[:, None] >> np.arange(k)[::-1]) & 1).astype(float)


def pattern_table(w: RowWeight):
    """Weights of all 2^K rows as a (2^a, 2^b) table, a + b = K: rows index the first bits.

    A quadratic of z = (s, t) is q(s) + q(t) + 2 s^T B t, so each entry is a sum of three numbers
    from small products: O(2^K) in all, where evaluating each row alone would be O(2^K K^2).
    """
    k = w.log_odds.shape[0]
    a = k // 2
    first, second = patterns(a), patterns(k - a)

    def table(matrix, linear):
        def part(bits, block):
            return jnp.sum((bits @ matrix[block, block]) * bits, axis=1) + bits @ linear[block]

        low, high = slice(0, a), slice(a, k)
        mixed = 2 * first @ matrix[low, high] @ second.T
        return part(first, low)[:, None] + part(second, high)[None, :] + mixed

    zero = jnp.zeros_like(w.gram)
    prior = w.log_off + table(zero, w.log_odds)
    distance = w.square + table(w.gram, -2 * w.cross)
    return w.weight(prior, table(w.covariance, jnp.zeros_like(w.cross)), distance)


class WholeRow(NamedTuple):
    """All K bits drawn at once from their joint conditional."""

    row: RowWeight
    log_scale: jax.Array | float = 0.0

    @property
    def law(self):
        return "uniform"

    @property
    def noise_shape(self):
        return (2,)

    @property
    def support(self):
        return jnp.asarray(patterns(self.row.log_odds.shape[0]))

    def from_noise(self, u):
        table = self.row.table()
        weights = jnp.exp(table - jnp.max(table))
        k = self.row.log_odds.shape[0]
        i = inverse_cdf(jnp.sum(weights, axis=1), u[0])
        j = inverse_cdf(weights[i], u[1])
        return jnp.concatenate(
            [jnp.asarray(patterns(k // 2))[i], jnp.asarray(patterns(k - k // 2))[j]]
        )

    def sample(self, key):
        return self.from_noise(jax.random.uniform(key, (2,)))

    def log_density(self, value):
        return self.log_scale + self.row.of(value)

    @property
    def log_normalizer(self):
        return self.log_scale + jax.nn.logsumexp(self.row.table())


class BitByBit(NamedTuple):
    """The paper's update: each bit from its conditional given the other bits, in order.

    It depends on the bits before the visit. Its reversal takes the bits in the opposite order.
    """

    row: RowWeight
    current: jax.Array  # (K,)
    backward: bool

    @property
    def law(self):
        return "uniform"

    @property
    def noise_shape(self):
        return self.current.shape

    @property
    def support(self):
        return jnp.asarray(patterns(self.current.shape[0]))

    def walk(self, choose):
        """Visit the bits. ``choose(k, v0, r0, dv, dr)`` gives the new value of bit k from the two
        quadratics with it off and what switching it on adds to them. Returns the bits and their two
        quadratics."""
        w = self.row
        # Kept up to date flip by flip.
        cov_z, gram_z = w.covariance @ self.current, w.gram @ self.current
        variance, distance = w.quadratics(self.current, cov_z, gram_z)
        bits = list(self.current)
        k_bits = len(bits)
        for k in range(k_bits)[:: -1 if self.backward else 1]:
            old = bits[k]
            dv = 2 * cov_z[k] + (1 - 2 * old) * w.covariance[k, k]
            dr = 2 * (gram_z[k] - w.cross[k]) + (1 - 2 * old) * w.gram[k, k]
            v0, r0 = variance - old * dv, distance - old * dr
            new = choose(k, v0, r0, dv, dr)
            bits[k] = new
            change = new - old
            cov_z, gram_z = cov_z + change * w.covariance[k], gram_z + change * w.gram[k]
            variance, distance = v0 + new * dv, r0 + new * dr
        return jnp.stack(bits), (variance, distance)

    def _scan(self, choose):
        """Visit the bits; ``choose(k, logit)`` gives the new value of bit k. Returns (bits,
        logits)."""
        w = self.row
        logits = [jnp.zeros(())] * self.current.shape[0]

        def by_logit(k, *quadratics):
            logits[k] = bit_logit(w.log_odds[k], w.columns, w.c, *quadratics)
            return choose(k, logits[k])

        bits, _ = self.walk(by_logit)
        return bits, jnp.stack(logits)

    def from_noise(self, u):
        bits, _ = self._scan(
            lambda k, logit: (u[k] < jax.nn.sigmoid(logit)).astype(self.current.dtype)
        )
        return bits

    def sample(self, key):
        return self.from_noise(jax.random.uniform(key, self.current.shape))

    def log_density(self, value):
        bits, logits = self._scan(lambda k, logit: value[k])
        return jnp.sum(jax.nn.log_sigmoid(jnp.where(bits > 0, logits, -logits)))

    @property
    def log_normalizer(self):
        return jnp.zeros(())
