"""Whole Gibbs sweeps as one GPU kernel, for clustering and binary attributes (Pallas, compiled by Triton).

Compiled by XLA, a sweep on a GPU is a loop over the rows of some ten small kernels each: with few chains the launches are the cost, with many the
cache of every chain travels to memory and back at every row. Here one warp takes one chain through the whole sweep with its cache
in registers. The draws are those of ``GibbsScan`` for the same noise, up to rounding; tests/models/test_fused.py compares
them. ``GibbsScan.draw`` asks ``chosen`` and falls back on the plain scan.

Shapes are powers of two, as Triton wants them: padded components have probability 0, padded columns are 0.
"""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from bracketz.models.binary_row import bit_logit, rank_one
from bracketz.models.cluster_row import cluster_logits, square_with

#: Numbers of a chain's cache, at the most: beyond, they do not fit into registers.
MAX_CACHE = 4096
#: Runs the kernels in the interpreter, anywhere: for tests.
interpret = False


def _padded(size: int) -> int:
    return max(16, 1 << (size - 1).bit_length())


def chosen(components: int, columns: int) -> bool:
    """Whether a sweep of this size should be fused here. ``BRACKETZ_FUSED=0`` says no."""
    fits = _padded(components) * (_padded(columns) + 2 * _padded(components)) <= MAX_CACHE
    on_gpu = jax.default_backend() == "gpu" and os.environ.get("BRACKETZ_FUSED") != "0"
    return fits and (on_gpu or interpret)


def _pad(array, *shape, fill=0.0):
    """``array`` filled up to ``shape``."""
    return jnp.pad(
        array, [(0, to - have) for to, have in zip(shape, array.shape, strict=True)], constant_values=fill
    )


def _call(body, out, *arrays):
    from jax.experimental.pallas import triton  # needs jaxlib's GPU parts only when compiled

    return pl.pallas_call(
        body, out_shape=out, interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
    )(*arrays)  # fmt: skip


def _row(step, rows: int, backward: bool):
    return rows - 1 - step if backward else step


# Clustering.


def clustering_draw(gibbs, assignments, noise):
    """``ClusteringGibbs.draw`` of one chain."""
    (n, d), model = gibbs.rows.y.shape, gibbs.model
    kp = _padded(model.components)
    body = functools.partial(_clustering, columns=d, components=model.components, backward=gibbs.backward)
    return _call(
        body, jax.ShapeDtypeStruct((n,), jnp.int32),
        _pad(gibbs.rows.y, n, _padded(d)), gibbs.rows.square, gibbs.rows.c,
        _pad(jnp.log(model.mixture), kp, fill=-np.inf), jnp.asarray(1 / model.center_variance).reshape(1),
        assignments, noise,
    )  # fmt: skip


def _clustering(y, square, c, log_mixture, center_precision, old, u, new, *, columns, components, backward):
    """Refs. The cache is S^T (D, K), lam and |S|^2: components last, so that they spread over the warp."""
    (n, dp), kp = y.shape, log_mixture.shape[0]
    index = jax.lax.broadcasted_iota(jnp.int32, (kp,), 0)
    log_pi = log_mixture[:]

    def share(i, k):
        return jnp.where(index == k, c[i], 0.0)

    def add(i, cache):
        sums, lam = cache
        w = share(i, old[i])
        return sums + y[i, :][:, None] * w[None, :], lam + w

    sums, lam = jax.lax.fori_loop(0, n, add, (jnp.zeros((dp, kp)), jnp.zeros(kp) + center_precision[0]))

    def visit(step, cache):
        sums, lam, squares = cache
        i = _row(step, n, backward)
        row, ci, yy = y[i, :], c[i], square[i]
        w = share(i, old[i])
        dots = jnp.sum(sums * row[:, None], axis=0)
        lam, squares, dots = lam - w, square_with(squares, dots, -w, yy), dots - w * yy
        logits = cluster_logits(log_pi, lam, squares, dots, ci, yy, columns)
        weights = jnp.exp(logits - jnp.max(logits))
        below = (jnp.cumsum(weights) <= u[i] * jnp.sum(weights)).astype(jnp.int32)
        k = jnp.minimum(jnp.sum(below), components - 1)
        new[i] = k
        v = share(i, k)
        return sums + row[:, None] * (v - w)[None, :], lam + v, square_with(squares, dots, v, yy)

    jax.lax.fori_loop(0, n, visit, (sums, lam, jnp.sum(sums * sums, axis=0)))


# Binary attributes, bit by bit.


def binary_draw(gibbs, attributes, noise):
    """``BinaryGibbs.draw`` of one chain, bit by bit."""
    (n, d), k = gibbs.rows.y.shape, gibbs.model.components
    kp = _padded(k)
    body = functools.partial(_binary, columns=d, components=k, backward=gibbs.backward)
    new = _call(
        body, jax.ShapeDtypeStruct((n, kp), attributes.dtype),
        _pad(gibbs.rows.y, n, _padded(d)), gibbs.rows.square, gibbs.rows.c,
        _pad(gibbs.model._log_odds()[0], kp), jnp.asarray(gibbs.model.feature_variance).reshape(1),
        _pad(attributes, n, kp), _pad(noise, n, kp),
    )  # fmt: skip
    return new[:, :k]


def _binary(y, square, c, log_odds, feature_variance, old, u, new, *, columns, components, backward):
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
        i = _row(step, n, backward)
        row, ci, yy, z = y[i, :], c[i], square[i], old[i, :]
        cross = mean_y(cov, sums, row)
        cov, gram, change = rank_one(cov, gram, cross, yy, z, -ci, times)
        cross = cross + change

        def bit(b_step, given):
            bits, cov_z, gram_z, variance, distance = given
            b = _row(b_step, components, backward)
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
                jnp.where(here, now, bits), cov_z + flip * column_cov, gram_z + flip * column_gram,
                v0 + now * dv, r0 + now * dr,
            )  # fmt: skip

        cov_z, gram_z = times(cov, z), times(gram, z)
        variance, distance = jnp.sum(z * cov_z), yy + jnp.sum(z * (gram_z - 2 * cross))
        bits, *_ = jax.lax.fori_loop(0, components, bit, (z, cov_z, gram_z, variance, distance))
        new[i, :] = bits
        cov, gram, _ = rank_one(cov, gram, cross, yy, bits, ci, times)
        return cov, gram, sums + row[:, None] * (ci * (bits - z))[None, :]

    prior = jnp.where(index[:, None] == index[None, :], feature_variance[0], 0.0)
    cache = jax.lax.fori_loop(0, n, add, (prior, jnp.zeros((kp, kp)), jnp.zeros((dp, kp))))
    jax.lax.fori_loop(0, n, visit, cache)
