"""The clustering sweep as one GPU kernel."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.models.clustering.row import cluster_logits, square_with
from bracketz.numerics.pallas import call, pad, padded, visited_row


def clustering_draw(gibbs, assignments, noise):
    """``ClusteringGibbs.draw`` of one chain."""
    (n, d), model = gibbs.rows.y.shape, gibbs.model
    kp = padded(model.components)
    body = functools.partial(
        _clustering, columns=d, components=model.components, backward=gibbs.backward
    )
    return call(
        body,
        jax.ShapeDtypeStruct((n,), jnp.int32),
        pad(gibbs.rows.y, n, padded(d)),
        gibbs.rows.square,
        gibbs.rows.c,
        pad(model.log_mixture, kp, fill=-np.inf),
        jnp.asarray(1 / model.center_variance).reshape(1),
        assignments,
        noise,
    )


def _clustering(
    y, square, c, log_mixture, center_precision, old, u, new, *, columns, components, backward
):
    """Refs. The cache is S^T (D, K), lam and |S|^2: components last, so that they spread over the
    warp."""
    (n, dp), kp = y.shape, log_mixture.shape[0]
    index = jax.lax.broadcasted_iota(jnp.int32, (kp,), 0)
    log_pi = log_mixture[:]

    def share(i, k):
        return jnp.where(index == k, c[i], 0.0)

    def add(i, cache):
        sums, lam = cache
        w = share(i, old[i])
        return sums + y[i, :][:, None] * w[None, :], lam + w

    sums, lam = jax.lax.fori_loop(
        0, n, add, (jnp.zeros((dp, kp)), jnp.zeros(kp) + center_precision[0])
    )

    def visit(step, cache):
        sums, lam, squares = cache
        i = visited_row(step, n, backward)
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
