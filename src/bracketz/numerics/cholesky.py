"""Cholesky factors and triangular solves of small matrices, written out entry by entry.

LAPACK is called once a matrix: for the 5 x 5 systems of a sweep the call costs more than the
arithmetic. Written out, every entry is one array over all chains and rows, and the compiler fuses
and vectorises the lot. Larger matrices go to LAPACK: K^3 / 3 multiplications a factor would make
long programs.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

#: Matrices up to this size are written out.
MAX_WRITTEN_OUT = 8

#: A lower triangle: row p has p + 1 entries, arrays of one (broadcast) shape.
Triangle = Sequence[Sequence[jax.Array]]


def written_out_factor(a: Triangle) -> Triangle:
    """Lower L with L L^T = a, given by the lower triangle of a. Its diagonal comes as
    *reciprocals*."""
    rows: list[list] = []
    for p, given in enumerate(a):
        row: list = []
        for q, entry in enumerate(given):
            other = row if q == p else rows[q]
            rest = entry - sum(row[r] * other[r] for r in range(q)) if q else entry
            row.append(jax.lax.rsqrt(rest) if q == p else rest * rows[q][q])
        rows.append(row)
    return rows


def written_out_solve(
    factor: Triangle, b: Sequence[jax.Array] | jax.Array, transposed: bool = False
) -> list[jax.Array]:
    """L^-1 b, or L^-T b, for a factor from ``written_out_factor``."""
    k = len(factor)
    x: dict[int, jax.Array] = {}
    for p in range(k)[:: -1 if transposed else 1]:
        rest = b[p]
        for r in x:
            rest = rest - (factor[r][p] if transposed else factor[p][r]) * x[r]
        x[p] = rest * factor[p][p]
    return [x[p] for p in range(k)]


def cholesky(a):
    """The lower L with L L^T = a, (K, K)."""
    k = a.shape[0]
    if k > MAX_WRITTEN_OUT:
        return jnp.linalg.cholesky(a)
    factor = written_out_factor([[a[p, q] for q in range(p + 1)] for p in range(k)])
    zero = jnp.zeros((), a.dtype)
    return jnp.stack(
        [jnp.stack([*row[:p], 1 / row[p], *[zero] * (k - 1 - p)]) for p, row in enumerate(factor)]
    )


def solve_lower(factor, b, transposed: bool = False):
    """L^-1 b, or L^-T b, for a lower (K, K) matrix and b of shape (K,) or (K, M)."""
    k = factor.shape[0]
    if k > MAX_WRITTEN_OUT:
        return jax.scipy.linalg.solve_triangular(
            factor, b, lower=True, trans="T" if transposed else "N"
        )
    entries = [
        [factor[p, q] if q < p else 1 / factor[p, p] for q in range(p + 1)] for p in range(k)
    ]
    return jnp.stack(written_out_solve(entries, b, transposed))
