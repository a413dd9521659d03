"""The bit-by-bit sweep of the binary attribute model as one GPU kernel: a chain per warp, or, where
there are many, a chain in each lane of a warp (``lanes``)."""

import functools

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from bracketz.models.binary_attributes import lanes
from bracketz.models.binary_attributes.row import bit_logit, rank_one
from bracketz.numerics.pallas import call, pad, padded, visited_row


def binary_draw(gibbs, attributes, noise):
    """``BinaryGibbs.draw`` of one chain, bit by bit; of many that are mapped over, by lanes."""
    rows, (log_odds, _) = gibbs.rows, gibbs.model._log_odds()
    variance = jnp.asarray(gibbs.model.feature_variance, rows.y.dtype)
    return _draw(gibbs.backward)(rows.y, rows.square, rows.c, log_odds, variance, attributes, noise)


@functools.cache
def _draw(backward: bool):
    """Of one chain, with a rule for many."""
    warp = functools.partial(_warp, backward=backward)
    draw = custom_vmap(warp)

    @draw.def_vmap
    def several(chains, mapped, y, square, *of_chains):
        own_data = mapped[0] or mapped[1]
        if own_data or not lanes.chosen(chains, *of_chains[-1].shape[-2:]):
            axes = [0 if each else None for each in mapped]
            return jax.vmap(warp, axes)(y, square, *of_chains), True
        last = [
            jnp.moveaxis(a, 0, -1) if each else jnp.broadcast_to(a[..., None], (*a.shape, chains))
            for a, each in zip(of_chains, mapped[2:], strict=True)
        ]
        return jnp.moveaxis(lanes.binary_lanes(y, square, *last, backward=backward), -1, 0), True

    return draw


def _warp(y, square, c, log_odds, variance, attributes, noise, *, backward):
    """New bits of one chain."""
    (n, d), k = y.shape, log_odds.shape[0]
    kp = padded(k)
    body = functools.partial(_binary, columns=d, components=k, backward=backward)
    new = call(
        body,
        jax.ShapeDtypeStruct((n, kp), attributes.dtype),
        pad(y, n, padded(d)),
        square,
        c,
        pad(log_odds, kp),
        variance.reshape(1),
        pad(attributes, n, kp),
        pad(noise, n, kp),
    )
    return new[:, :k]


def _binary(
    y, square, c, log_odds, feature_variance, old, u, new, *, columns, components, backward
):
    """Refs. The cache is P^-1, M M^T and H^T (D, K), built from the prior by adding the rows."""
    (n, dp), kp = y.shape, log_odds.shape[0]
    index = jax.lax.broadcasted_iota(jnp.int32, (kp,), 0)

    def times(a, x):
        """a @ x for a symmetric or a vector a: sums are what Triton has."""
        return jnp.sum(a * (x[:, None] if a.ndim == 2 else x), axis=0)

    def mean_y(cov, sums, row):
        return times(cov, jnp.sum(sums * row[:, None], axis=0))

    def add(i, cache):
        cov, gram, sums = cache
        row, z = y[i, :], old[i, :]
        cov, gram, _ = rank_one(cov, gram, mean_y(cov, sums, row), square[i], z, c[i], times)
        return cov, gram, sums + row[:, None] * (c[i] * z)[None, :]

    def visit(step, cache):
        cov, gram, sums = cache
        i = visited_row(step, n, backward)
        row, ci, yy, z = y[i, :], c[i], square[i], old[i, :]
        cross = mean_y(cov, sums, row)
        cov, gram, change = rank_one(cov, gram, cross, yy, z, -ci, times)
        cross = cross + change

        def bit(b_step, given):
            bits, cov_z, gram_z, variance, distance = given
            b = visited_row(b_step, components, backward)
            here = index == b
            column_cov = jnp.sum(jnp.where(here[:, None], cov, 0.0), axis=0)
            column_gram = jnp.sum(jnp.where(here[:, None], gram, 0.0), axis=0)
            was = old[i, b]
            dv = jnp.sum(jnp.where(here, 2 * cov_z + (1 - 2 * was) * column_cov, 0.0))
            dr = jnp.sum(jnp.where(here, 2 * (gram_z - cross) + (1 - 2 * was) * column_gram, 0.0))
            v0, r0 = variance - was * dv, distance - was * dr
            logit = bit_logit(log_odds[b], columns, ci, v0, r0, dv, dr)
            now = (u[i, b] * (1 + jnp.exp(-logit)) < 1).astype(was.dtype)
            flip = now - was
            return (
                jnp.where(here, now, bits),
                cov_z + flip * column_cov,
                gram_z + flip * column_gram,
                v0 + now * dv,
                r0 + now * dr,
            )

        cov_z, gram_z = times(cov, z), times(gram, z)
        variance, distance = jnp.sum(z * cov_z), yy + jnp.sum(z * (gram_z - 2 * cross))
        bits, *_ = jax.lax.fori_loop(0, components, bit, (z, cov_z, gram_z, variance, distance))
        new[i, :] = bits
        cov, gram, _ = rank_one(cov, gram, cross, yy, bits, ci, times)
        return cov, gram, sums + row[:, None] * (ci * (bits - z))[None, :]

    prior = jnp.where(index[:, None] == index[None, :], feature_variance[0], 0.0)
    cache = jax.lax.fori_loop(0, n, add, (prior, jnp.zeros((kp, kp)), jnp.zeros((dp, kp))))
    jax.lax.fori_loop(0, n, visit, cache)
