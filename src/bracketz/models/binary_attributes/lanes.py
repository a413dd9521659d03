"""The bit-by-bit sweep of the binary attribute model as one GPU kernel, a chain in each lane.

The bits of a row are a chain of scalar decisions, each with a logarithm, an exponential and a
division. A warp that takes one chain through them computes the same number 32 times; a lane that
takes a chain by itself wastes nothing, and needs no word from other lanes. P^-1 and M M^T are in
its registers, and what these do not hold in the cache beside them. A row's bits are one integer.

H is not kept. What is asked of it is its product with a row of data,

    H y_i = sum_j c_j z_j (y_j . y_i),

a sum over rows of bits with Y Y^T, which all chains share: O(N K) a row in place of O(D K), and
hardly any memory where H would be most of a chain's.
"""

import functools
import operator

import jax
import jax.numpy as jnp

from bracketz.models.binary_attributes.row import bit_logit, rank_one
from bracketz.numerics.lanes import Symmetric, Vector
from bracketz.numerics.pallas import LANES, call_lanes, visited_row

#: Beyond, the registers of a lane are too few, or Y Y^T is the cost.
MAX_COMPONENTS, MAX_ROWS = 10, 2000
#: Chains of a block, half of a run's (``engine.run``). A chain per warp compiles in less time, and
#: with fewer than 3,000 is faster, on an H200.
MANY = 5000


def chosen(chains: int, rows: int, components: int) -> bool:
    """Whether so many chains are better off with a lane each."""
    return chains >= MANY and rows <= MAX_ROWS and components <= MAX_COMPONENTS


def binary_lanes(y, square, c, log_odds, variance, attributes, noise, *, backward):
    """New bits, rows first. What is of the chains, ``c`` and all after it, has them as its last
    axis, and so has the result."""
    places = 2 ** jnp.arange(attributes.shape[1], dtype=jnp.int32)[:, None]
    packed = jnp.sum(attributes.astype(jnp.int32) * places, axis=1)
    body = functools.partial(_binary, columns=y.shape[1], backward=backward)
    of_chains = c, log_odds, variance, packed, noise
    new = call_lanes(body, packed.shape[:1], jnp.int32, (y @ y.T, square), of_chains)
    return ((new[:, None] & places) != 0).astype(attributes.dtype)


def _binary(dots, square, c, log_odds, feature_variance, old, u, new, *, columns, backward):
    """Refs, lanes last but for the data; ``dots`` is Y Y^T.

    The cache is built from the prior by adding the rows; then each row is taken out and put back.
    These are 3 N steps of one loop, because the time that Triton takes to compile grows as the
    square of what is written out.
    """
    (n,), components = square.shape, log_odds.shape[0]
    ks, zero = range(components), jnp.zeros(LANES, u.dtype)

    def on_lanes(condition):
        return jnp.broadcast_to(condition, (LANES,))

    def bits_of(packed):
        return Vector(jnp.where((packed & (1 << k)) != 0, zero + 1, zero) for k in ks)

    def step(t, carried):
        cov, gram, kept = carried
        building, later = t < n, ((t - n) & 1) == 1
        taken_out, back = ~building & ~later, ~building & later  # back: its bits are drawn first
        built, kept_cross = on_lanes(building), on_lanes(back)
        i = jnp.where(building, t, visited_row((t - n) >> 1, n, backward))
        ci, yy, packed = c[i, :], square[i], jnp.where(built, old[i, :], new[i, :])

        def add(j, total):
            return total + c[j, :] * dots[i, j] * bits_of(new[j, :])

        rows = building.astype(t.dtype) * i + taken_out.astype(t.dtype) * n
        product = cov @ jax.lax.fori_loop(0, rows, add, Vector(zero for _ in ks))
        cross = Vector(jnp.where(kept_cross, a, b) for a, b in zip(kept, product, strict=True))

        def flip(b, given):
            """Draw bit b. Its number is known to the compiler, so that what a lane looks up is a
            register."""
            packed, cov_z, gram_z, variance, distance = given
            was = jnp.where((packed & (1 << b)) != 0, zero + 1, zero)
            dv = 2 * cov_z[b] + (1 - 2 * was) * cov[b, b]
            dr = 2 * (gram_z[b] - cross[b]) + (1 - 2 * was) * gram[b, b]
            v0, r0 = variance - was * dv, distance - was * dr
            logit = bit_logit(log_odds[b, :], columns, ci, v0, r0, dv, dr)
            on = u[i, b, :] * (1 + jnp.exp(-logit)) < 1
            now = jnp.where(on, zero + 1, zero)
            change = now - was
            return (
                (packed & ~(1 << b)) | (on.astype(jnp.int32) << b),
                cov_z + change * cov[b],
                gram_z + change * gram[b],
                v0 + now * dv,
                r0 + now * dr,
            )

        def flips(_, given):
            for b in ks[:: -1 if backward else 1]:
                given = flip(b, given)
            return given

        z = bits_of(packed)
        cov_z, gram_z = cov @ z, gram @ z
        distance = yy + z @ gram_z - 2 * (z @ cross)
        given = packed, cov_z, gram_z, z @ cov_z, distance
        packed, *_ = jax.lax.fori_loop(0, back.astype(t.dtype), flips, given)
        new[i, :] = packed
        weight = jnp.where(on_lanes(~taken_out), ci, -ci)
        bits = bits_of(packed)
        cov, gram, change = rank_one(cov, gram, cross, yy, bits, weight, operator.matmul)
        return cov, gram, cross + change

    variance = feature_variance[:]
    prior = Symmetric(variance if j == k else zero for j in ks for k in range(j + 1))
    nothing = Symmetric(zero for _ in prior.entries)
    jax.lax.fori_loop(0, 3 * n, step, (prior, nothing, Vector(zero for _ in ks)))
