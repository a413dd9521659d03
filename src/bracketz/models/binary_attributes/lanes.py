"""The bit-by-bit sweep of the binary attribute model as one GPU kernel, a chain in each lane.

The bits of a row are a chain of scalar decisions, each with a logarithm, an exponential and a
division. A warp that takes one chain through them computes the same number 32 times; a lane that
takes a chain by itself wastes nothing, and needs no word from other lanes. P^-1 and M M^T are in
its registers, and what these do not hold in the cache beside them. A row's bits are one integer.

H is not kept. What is asked of it is its product with a row of data,

    H y_i = sum_j c_j z_j (y_j . y_i),

a sum over rows of bits with Y Y^T, which all chains share: O(N K) a row in place of O(D K), and
hardly any memory where H would be most of a chain's.

Taken where ``BRACKETZ_FUSED`` is ``lanes``; ``pallas`` beside it, a chain per warp, is the default.
"""

import functools
import operator
import os

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from bracketz.models.binary_attributes.row import bit_logit, rank_one
from bracketz.numerics.lanes import Symmetric, Vector
from bracketz.numerics.pallas import LANES, call_lanes, enabled, visited_row

#: Beyond, the registers of a lane are too few, or Y Y^T is the cost.
MAX_COMPONENTS, MAX_ROWS = 16, 2000


def chosen(components: int, rows: int) -> bool:
    """Whether a sweep of this size should be one kernel of this kind here."""
    wanted = os.environ.get("BRACKETZ_FUSED") == "lanes"
    return wanted and components <= MAX_COMPONENTS and rows <= MAX_ROWS and enabled()


def binary_draw(gibbs, attributes, noise):
    """``BinaryGibbs.draw`` of one chain, bit by bit; chains that are mapped over share warps."""
    y = gibbs.rows.y
    places = 2 ** jnp.arange(attributes.shape[1], dtype=jnp.int32)
    packed = attributes.astype(jnp.int32) @ places
    log_odds, _ = gibbs.model._log_odds()
    variance = jnp.asarray(gibbs.model.feature_variance, y.dtype)
    new = _draw(y.shape[1], gibbs.backward)(
        y @ y.T, gibbs.rows.square, gibbs.rows.c, log_odds, variance, packed, noise
    )
    return ((new[:, None] & places) != 0).astype(attributes.dtype)


@functools.cache
def _draw(columns: int, backward: bool):
    """Of one chain, with a rule for many: what is of the chains gets them as its last axis."""

    def together(dots, square, *of_chains):
        body = functools.partial(_binary, columns=columns, backward=backward)
        return call_lanes(body, (len(square),), jnp.int32, (dots, square), of_chains)

    def alone(dots, square, *of_chain):
        return together(dots, square, *(a[..., None] for a in of_chain))[..., 0]

    draw = custom_vmap(alone)

    @draw.def_vmap
    def several(chains, mapped, dots, square, *of_chains):
        if mapped[0] or mapped[1]:  # data of their own: a warp each
            axes = [0 if each else None for each in mapped]
            return jax.vmap(alone, axes)(dots, square, *of_chains), True
        spread = [
            jnp.moveaxis(a, 0, -1) if each else jnp.broadcast_to(a[..., None], (*a.shape, chains))
            for a, each in zip(of_chains, mapped[2:], strict=True)
        ]
        return jnp.moveaxis(together(dots, square, *spread), -1, 0), True

    return draw


def _binary(dots, square, c, log_odds, feature_variance, old, u, new, *, columns, backward):
    """Refs, lanes last but for the data; ``dots`` is Y Y^T.

    The cache is built from the prior by adding the rows; then each row is taken out and put back.
    These are 3 N steps of one loop, and the bits are a loop, because the time that Triton takes to
    compile grows as the square of what is written out.
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
            weight, other = c[j, :] * dots[i, j], new[j, :]
            return total + Vector(jnp.where((other & (1 << k)) != 0, weight, zero) for k in ks)

        rows = building.astype(t.dtype) * i + taken_out.astype(t.dtype) * n
        product = cov @ jax.lax.fori_loop(0, rows, add, Vector(zero for _ in ks))
        cross = Vector(jnp.where(kept_cross, a, b) for a, b in zip(kept, product, strict=True))

        def bit(at, given):
            packed, cov_z, gram_z, variance, distance = given
            b = visited_row(at, components, backward)
            is_b = [on_lanes(b == k) for k in ks]

            def chosen(entries):
                """The one with number b."""
                found = entries[0]
                for k in ks[1:]:
                    found = jnp.where(is_b[k], entries[k], found)
                return found

            column_cov = Vector(chosen(cov[j]) for j in ks)
            column_gram = Vector(chosen(gram[j]) for j in ks)
            was = ((packed >> b) & 1).astype(zero.dtype)
            dv = 2 * chosen(cov_z) + (1 - 2 * was) * chosen(column_cov)
            dr = 2 * (chosen(gram_z) - chosen(cross)) + (1 - 2 * was) * chosen(column_gram)
            v0, r0 = variance - was * dv, distance - was * dr
            logit = bit_logit(log_odds[b, :], columns, ci, v0, r0, dv, dr)
            on = u[i, b, :] * (1 + jnp.exp(-logit)) < 1
            now = jnp.where(on, zero + 1, zero)
            change = now - was
            return (
                (packed & ~(1 << b)) | (on.astype(jnp.int32) << b),
                cov_z + change * column_cov,
                gram_z + change * column_gram,
                v0 + now * dv,
                r0 + now * dr,
            )

        z = bits_of(packed)
        cov_z, gram_z = cov @ z, gram @ z
        distance = yy + z @ gram_z - 2 * (z @ cross)
        count = back.astype(t.dtype) * components
        packed, *_ = jax.lax.fori_loop(0, count, bit, (packed, cov_z, gram_z, z @ cov_z, distance))
        new[i, :] = packed
        weight = jnp.where(on_lanes(~taken_out), ci, -ci)
        bits = bits_of(packed)
        cov, gram, change = rank_one(cov, gram, cross, yy, bits, weight, operator.matmul)
        return cov, gram, cross + change

    variance = feature_variance[:]
    prior = Symmetric(variance if j == k else zero for j in ks for k in range(j + 1))
    nothing = Symmetric(zero for _ in prior.entries)
    jax.lax.fori_loop(0, 3 * n, step, (prior, nothing, Vector(zero for _ in ks)))
