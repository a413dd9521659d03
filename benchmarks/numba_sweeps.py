"""The yardstick: one Gibbs sweep of one chain, written by hand in Numba, for one core or with a
chain on each.

Each ``*_sweeps`` does ``count`` sweeps in place, for any row of powers (``c`` = powers /
noise_variance), with the update and the caches of the JAX kernel of the same model;
tests/benchmarks compares their laws. Costs are those of the model's docstring, and constants are
kept small the way a careful C programmer would: no allocation inside a sweep, contiguous inner
loops, and no work on the cache for a latent that keeps its value, since taking a point out and
putting it back changes nothing.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from bracketz import BinaryAttributes, Clustering, LowRank
from bracketz.core.model import Model

kernel = njit(fastmath=True, cache=True, nogil=True)
#: A part of a sweep. Inlined by Numba: a call that passes ten arrays costs as much as a rank-one
#: update.
part = njit(fastmath=True, inline="always")


def sweeper(model: Model, y, powers) -> Callable[[np.random.Generator, np.ndarray, int], None]:
    """``advance(rng, latents, count)``: that many sweeps of ``latents`` (z, V or Z) in place."""
    y = np.array(y, dtype=np.float64, order="C")
    c = np.asarray(powers, dtype=np.float64) / model.noise_variance
    match model:
        case Clustering():
            sweeps, given = (
                clustering_sweeps,
                (y, c, np.log(np.asarray(model.mixture)), 1 / model.center_variance),
            )
        case LowRank():
            precisions = 1 / model.left_variance, 1 / model.right_variance
            sweeps, given = low_rank_sweeps, (y, np.ascontiguousarray(y.T), c, *precisions)
        case BinaryAttributes(row_update="bits"):
            p = model.attribute_probability
            sweeps, given = binary_sweeps, (y, c, np.log(p / (1 - p)), 1 / model.feature_variance)
        case _:
            raise TypeError(f"no hand-written sweep for {model!r}")
    return lambda rng, latents, count: sweeps(rng, latents, *given, count)


def parallel_sweeper(model: Model, y, powers, cores: int) -> Callable[[np.ndarray, int], None]:
    """``advance(latents, count)``: that many sweeps of every chain of ``latents`` (leading axis) in
    place, a thread per core.

    Chains are independent, so this is all that parallelism has to offer: one compiled kernel, no
    locks, a generator a thread.
    """
    advance = sweeper(model, y, powers)
    rngs = np.random.default_rng(0).spawn(cores)
    pool = ThreadPoolExecutor(cores)

    def share(worker: int, latents: np.ndarray, count: int) -> None:
        for chain in range(worker, len(latents), cores):
            advance(rngs[worker], latents[chain], count)

    def all_chains(latents: np.ndarray, count: int) -> None:
        list(pool.map(lambda worker: share(worker, latents, count), range(cores)))

    return all_chains


@part
def _dot(a, p, b, q):
    """a[p] . b[q]. By index: making a row view costs a reference count, as much as half the
    product."""
    total = 0.0
    for j in range(a.shape[1]):
        total += a[p, j] * b[q, j]
    return total


@part
def _cholesky(a):
    """Lower factor in place of the lower half, with the *reciprocals* of its diagonal."""
    for p in range(a.shape[0]):
        for q in range(p + 1):
            t = a[p, q]
            for r in range(q):
                t -= a[p, r] * a[q, r]
            a[p, q] = 1 / np.sqrt(t) if p == q else t * a[q, q]


# Clustering: O(N K D).


@kernel
def clustering_sweeps(rng, z, y, c, log_mixture, center_precision, count):
    """z_i in order, from S_k, lam_k and |S_k|^2. All that is D-sized in a visit is S_k . y_i for
    every k."""
    n, d = y.shape
    components = log_mixture.size
    s, lam, square = np.empty((components, d)), np.empty(components), np.empty(components)
    dots, weights = np.empty(components), np.empty(components)
    y_square = np.empty(n)
    for i in range(n):
        y_square[i] = _dot(y, i, y, i)
    for _ in range(count):
        s[:] = 0.0
        lam[:] = center_precision
        for i in range(n):
            k = z[i]
            lam[k] += c[i]
            for j in range(d):
                s[k, j] += c[i] * y[i, j]
        for k in range(components):
            square[k] = _dot(s, k, s, k)
        for i in range(n):
            ci, old, yy = c[i], z[i], y_square[i]
            for k in range(components):
                dots[k] = _dot(s, k, y, i)
            lam[old] -= ci
            square[old] -= ci * (2 * dots[old] - ci * yy)
            dots[old] -= ci * yy
            top = -1e300
            for k in range(components):
                lam_with = lam[k] + ci
                gain = ci * (lam[k] * (2 * dots[k] + ci * yy) - square[k]) / (lam[k] * lam_with)
                weights[k] = log_mixture[k] + 0.5 * gain - 0.5 * d * np.log(lam_with / lam[k])
                if weights[k] > top:
                    top = weights[k]
            total = 0.0
            for k in range(components):
                total += np.exp(weights[k] - top)
                weights[k] = total
            u = total * rng.random()
            new = 0
            while new < components - 1 and weights[new] <= u:
                new += 1
            lam[new] += ci
            square[new] += ci * (2 * dots[new] + ci * yy)
            if new != old:
                z[i] = new
                for j in range(d):
                    s[old, j] -= ci * y[i, j]
                    s[new, j] += ci * y[i, j]


# Low rank: O(N K D + N K^3).


@kernel
def low_rank_sweeps(rng, v, y, y_t, c, left_precision, right_precision, count):
    """U | V, then V | U. Every row has its own precision; the N Cholesky factors are computed side
    by side (innermost index: row), which for small K beats one shared eigendecomposition."""
    (k, d), n = v.shape, c.size
    factors, u, weighted = np.empty((k, k, n)), np.empty((k, n)), np.empty((k, n))
    precision, h = np.empty((k, k)), np.empty((k, d))
    for _ in range(count):
        np.dot(v, y_t, u)
        u *= c
        for p in range(k):
            for q in range(p + 1):
                gram, ridge = _dot(v, p, v, q), left_precision if p == q else 0.0
                for i in range(n):
                    factors[p, q, i] = c[i] * gram + ridge
        _cholesky_rows(factors)
        _gaussian_rows(rng, factors, u)
        for p in range(k):
            for i in range(n):
                weighted[p, i] = c[i] * u[p, i]
        for p in range(k):
            for q in range(p + 1):
                precision[p, q] = _dot(u, p, weighted, q)
            precision[p, p] += right_precision
        np.dot(weighted, y, h)
        _cholesky(precision)
        _gaussian_columns(rng, precision, h, v)


@part
def _cholesky_rows(a):
    """``_cholesky`` of a[:, :, i] for every i."""
    k, _, n = a.shape
    for p in range(k):
        for q in range(p + 1):
            for r in range(q):
                for i in range(n):
                    a[p, q, i] -= a[p, r, i] * a[q, r, i]
            for i in range(n):
                a[p, q, i] = 1 / np.sqrt(a[p, p, i]) if p == q else a[p, q, i] * a[q, q, i]


@part
def _gaussian_rows(rng, factors, x):
    """x[:, i] = shift becomes a draw with precision L_i L_i^T: solve L_i, add noise, solve
    L_i^T."""
    k, n = x.shape
    for p in range(k):
        for r in range(p):
            for i in range(n):
                x[p, i] -= factors[p, r, i] * x[r, i]
        for i in range(n):
            x[p, i] *= factors[p, p, i]
    for p in range(k):
        for i in range(n):
            x[p, i] += rng.standard_normal()
    for p in range(k - 1, -1, -1):
        for r in range(p + 1, k):
            for i in range(n):
                x[p, i] -= factors[r, p, i] * x[r, i]
        for i in range(n):
            x[p, i] *= factors[p, p, i]


@part
def _gaussian_columns(rng, factor, shift, x):
    """Every column of x with the one precision L L^T; ``shift`` is overwritten."""
    k, d = x.shape
    for p in range(k):
        for r in range(p):
            for j in range(d):
                shift[p, j] -= factor[p, r] * shift[r, j]
        for j in range(d):
            shift[p, j] *= factor[p, p]
    for p in range(k):
        for j in range(d):
            x[p, j] = shift[p, j] + rng.standard_normal()
    for p in range(k - 1, -1, -1):
        for r in range(p + 1, k):
            for j in range(d):
                x[p, j] -= factor[r, p] * x[r, j]
        for j in range(d):
            x[p, j] *= factor[p, p]


# Binary attributes, bit by bit: O(N K (K + D)).


class Posterior(NamedTuple):
    """Of the features: covariance, mean, and Gram matrix of the mean."""

    cov: np.ndarray  # (K, K)
    mean: np.ndarray  # M, (K, D)
    gram: np.ndarray  # (K, K)


class Visit(NamedTuple):
    """Scratch of one visit. g and mr are of the row taken out; cov, gram and my of the posterior
    without it; bits, cz and gz of the row that comes back."""

    g: np.ndarray  # Cov z
    mr: np.ndarray  # M r, r = y - M^T z
    cov: np.ndarray
    gram: np.ndarray
    my: np.ndarray  # M y
    bits: np.ndarray
    cz: np.ndarray  # Cov bits
    gz: np.ndarray  # Gram bits


@kernel
def binary_sweeps(rng, z, y, c, log_odds, feature_precision, count):
    """Per row: rank-one downdate, K bits in order, rank-one update.

    The downdated mean M is never written: only M y of it is needed before the row comes back.
    """
    (n, d), k = y.shape, log_odds.size
    posterior = Posterior(np.empty((k, k)), np.empty((k, d)), np.empty((k, k)))
    visit = Visit(
        np.empty(k),
        np.empty(k),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty(k),
        np.empty(k),
        np.empty(k),
        np.empty(k),
    )
    h, noise, r, r_new = np.empty((k, d)), np.empty(k), np.empty(d), np.empty(d)
    y_square = np.empty(n)
    for i in range(n):
        y_square[i] = _dot(y, i, y, i)
    for _ in range(count):
        _rebuild(z, y, c, feature_precision, h, visit.cov, posterior)
        for i in range(n):
            for b in range(k):
                u = rng.random()
                noise[b] = np.log(u / (1 - u))  # logistic: a bit is on if noise < logit
            a = _remove(z, y, i, y_square[i], c[i], posterior, visit)
            variance, distance, changed = _draw_bits(noise, y_square[i], c[i], d, log_odds, visit)
            if changed:
                _replace(z, y, i, c[i], a, variance, distance, posterior, visit, r, r_new)


@part
def _rebuild(z, y, c, feature_precision, h, precision, posterior):
    """The posterior from scratch; H and the precision are scratch."""
    cov, mean, gram = posterior
    (n, d), k = y.shape, cov.shape[0]
    precision[:] = 0.0
    h[:] = 0.0
    for i in range(n):
        for p in range(k):
            if z[i, p]:
                for q in range(p + 1):
                    precision[p, q] += c[i] * z[i, q]
                for j in range(d):
                    h[p, j] += c[i] * y[i, j]
    for p in range(k):
        precision[p, p] += feature_precision
    _cholesky(precision)
    inverse = gram  # of the factor, until the Gram matrix itself is due
    for q in range(k):
        inverse[q, q] = precision[q, q]
        for p in range(q + 1, k):
            t = 0.0
            for s in range(q, p):
                t -= precision[p, s] * inverse[s, q]
            inverse[p, q] = t * precision[p, p]
    for p in range(k):
        for q in range(p + 1):
            t = 0.0
            for s in range(p, k):
                t += inverse[s, p] * inverse[s, q]
            cov[p, q] = cov[q, p] = t
    np.dot(cov, h, mean)
    for p in range(k):
        for q in range(p + 1):
            gram[p, q] = gram[q, p] = _dot(mean, p, mean, q)


@part
def _rank_one(a, g, mr, rr, cov, gram, new_cov, new_gram):
    """Cov - a g g^T and Gram + a (g mr^T + mr g^T) + a^2 rr g g^T. One array a loop, which is what
    LLVM vectorises."""
    for p in range(g.size):
        ag = a * g[p]
        am = a * (mr[p] + a * rr * g[p])
        for q in range(g.size):
            new_cov[p, q] = cov[p, q] - ag * g[q]
        for q in range(g.size):
            new_gram[p, q] = gram[p, q] + ag * mr[q] + am * g[q]


@part
def _remove(z, y, i, yy, ci, posterior, visit):
    """Fill ``visit`` for the posterior without row i; a of the downdate M + a g r^T is returned."""
    cov, mean, gram = posterior
    g, mr, cov_without, gram_without, my, bits, cz, gz = visit
    k = g.size
    for p in range(k):
        my[p] = _dot(mean, p, y, i)
        g[p] = gz[p] = 0.0
    for q in range(k):
        if z[i, q]:
            for p in range(k):
                g[p] += cov[q, p]
                gz[p] += gram[q, p]
    v, z_mr, ry = 0.0, 0.0, yy
    for p in range(k):
        bits[p] = z[i, p]
        mr[p] = my[p] - gz[p]
        v += bits[p] * g[p]
        z_mr += bits[p] * mr[p]
        ry -= bits[p] * my[p]  # r . y
    rr = ry - z_mr
    a = -ci / (1 - ci * v)
    _rank_one(a, g, mr, rr, cov, gram, cov_without, gram_without)
    for p in range(k):
        my[p] += a * ry * g[p]
        cz[p] = (1 - a * v) * g[p]
        gz[p] += a * (v * mr[p] + (z_mr + a * rr * v) * g[p])
    return a


@part
def _draw_bits(noise, yy, ci, d, log_odds, visit):
    """New bits in ``visit``; z'Cov z and |y - M'z|^2 at the end, and whether any bit changed."""
    _, _, cov, gram, my, bits, cz, gz = visit
    variance, distance = 0.0, yy
    for p in range(bits.size):
        variance += bits[p] * cz[p]
        distance += bits[p] * (gz[p] - 2 * my[p])
    changed = False
    for b in range(bits.size):
        old = bits[b]
        # What switching bit b on adds to the two quadratics, and their values with it off.
        dv = 2 * cz[b] + (1 - 2 * old) * cov[b, b]
        dr = 2 * gz[b] + (1 - 2 * old) * gram[b, b] - 2 * my[b]
        v0, r0 = variance - old * dv, distance - old * dr
        i0 = 1 + ci * v0
        i1 = i0 + ci * dv
        inverse = 1 / (i0 * i1)
        logit = log_odds[b] + 0.5 * (
            d * np.log(i0 * i0 * inverse) - ci * (dr * i0 - r0 * ci * dv) * inverse
        )
        new = 1.0 if noise[b] < logit else 0.0
        if new != old:
            changed = True
            bits[b] = new
            variance, distance = v0 + new * dv, r0 + new * dr
            for p in range(bits.size):
                cz[p] += (new - old) * cov[b, p]
            for p in range(bits.size):
                gz[p] += (new - old) * gram[b, p]
    return variance, distance, changed


@part
def _replace(z, y, i, ci, a, variance, distance, posterior, visit, r, r_new):
    """The new bits for the old in row i: M + a g r^T + a_new g_new r_new^T."""
    cov, mean, gram = posterior
    g, mr, cov_without, gram_without, my, bits, cz, gz = visit
    k, d = mean.shape
    a_new = ci / (1 + ci * variance)
    for j in range(d):
        r[j] = r_new[j] = y[i, j]
    g_bits = 0.0
    for p in range(k):
        if z[i, p]:
            for j in range(d):
                r[j] -= mean[p, j]
        if bits[p]:
            g_bits += g[p]
            for j in range(d):
                r_new[j] -= mean[p, j]
    for j in range(d):
        r_new[j] -= a * g_bits * r[j]
    for p in range(k):
        x, x_new = a * g[p], a_new * cz[p]
        for j in range(d):
            mean[p, j] += x * r[j] + x_new * r_new[j]
        mr[p] = my[p] - gz[p]
        z[i, p] = bits[p]
    _rank_one(a_new, cz, mr, distance, cov_without, gram_without, cov, gram)
