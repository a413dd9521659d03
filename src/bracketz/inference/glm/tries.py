"""Tries: points from the envelope, with the weight that makes them posterior draws or an estimate.

A try is z = r u, with r from the envelope (a cell by its mass, then an exponential cut to the cell)
and u uniform on the sphere. Its weight r^(d-1) exp(-g(z)) / envelope(r) lies in [0, 1] and has mean
p(y) / exp(``upper_bound``). Kept with the probability that is its weight, a try is an exact draw
from the posterior. Cost: rows x columns per try, in batches.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.precision import double_precision
from bracketz.errors import NumericalError
from bracketz.inference.glm.envelope import DEPTH, Envelope
from bracketz.inference.glm.families import FAMILIES
from bracketz.inference.glm.regression import EPSILON, INFLATION, Whitened

#: Numbers in the largest array of a batch.
BATCH_NUMBERS = 1 << 20
#: A log-weight above this, and above its rounding, is impossible: the envelope lies above.
IMPOSSIBLE = 1e-6
#: Keeps the randomness of tries apart from every other run's.
STREAM = 0x61A


class Target(NamedTuple):
    """-log posterior in z, less its value at 0, and the envelope, as arrays."""

    rows: jax.Array  # a_i
    eta: jax.Array
    y: jax.Array
    to_b: jax.Array  # z to where the prior is standard
    b: jax.Array
    cumulative: jax.Array  # of the cells' masses
    start: jax.Array
    width: jax.Array
    middle: jax.Array
    height: jax.Array
    slope: jax.Array


def target(at: Whitened, hull: Envelope) -> Target:
    """As the compiled loop wants it."""
    cumulative = np.cumsum(np.exp(hull.log_mass - hull.log_integral))
    arrays = (at.rows, at.eta, at.regression.y, at.to_b, at.b, cumulative / cumulative[-1])
    hulls = (hull.start, hull.width, hull.middle, hull.height, hull.slope)
    with double_precision():
        return Target(*(jnp.asarray(a) for a in (*arrays, *hulls)))


def rise(t: Target, z, family: str):
    """g(z) = F(m + L z) - F(m), for z of shape (tries, columns)."""
    s, moved = z @ t.rows.T, z @ t.to_b.T
    fit = jnp.sum(FAMILIES[family].rise(t.eta, t.y, s, jnp), axis=1)
    return fit + moved @ t.b + 0.5 * jnp.sum(moved * moved, axis=1)


def weight_error(at: Whitened, hull: Envelope) -> float:
    """What rounding can do to the logarithm of a weight that counts: to the linear part of g within
    the envelope's cells, to the terms of F, and to a convex part that is at most a few ``DEPTH``.
    """
    n, d = at.rows.shape
    convex = 8 * (n + d) * EPSILON * 3 * DEPTH
    linear = float(hull.start[-1]) * at.gradient_error
    return 2 * (linear + at.energy_error) + convex + INFLATION


def draw_radius(t: Target, key, count: int):
    """(radii, the envelope's logarithm there)."""
    key_cell, key_place = jax.random.split(key)
    cell = jnp.searchsorted(t.cumulative, jax.random.uniform(key_cell, (count,)), side="right")
    cell = jnp.minimum(cell, len(t.start) - 1)
    v, slope, width = jax.random.uniform(key_place, (count,)), t.slope[cell], t.width[cell]
    # A falling exponential from the cell's start, or, mirrored, from its end.
    falls = jnp.maximum(jnp.abs(slope), 1e-12)
    away = -jnp.log1p(v * jnp.expm1(-falls * width)) / falls
    r = t.start[cell] + jnp.where(slope > 0, width - away, away)
    return r, t.height[cell] + slope * (r - t.middle[cell])


@partial(jax.jit, static_argnames=("family", "count"))
def _batch(t: Target, key, family: str, count: int):
    key_radius, key_direction, key_accept = jax.random.split(key, 3)
    columns = t.to_b.shape[1]
    r, log_envelope = draw_radius(t, key_radius, count)
    direction = jax.random.normal(key_direction, (count, columns))
    direction = direction / jnp.linalg.norm(direction, axis=1, keepdims=True)
    z = r[:, None] * direction
    radial = (columns - 1) * jnp.log(r) if columns > 1 else 0.0
    log_weights = radial - rise(t, z, family) - log_envelope
    kept = jnp.log(jax.random.uniform(key_accept, (count,))) < log_weights
    return log_weights, kept, z


class Tries(NamedTuple):
    """What a batch gives."""

    log_weights: np.ndarray  # (tries,), at most 0
    draws: np.ndarray  # exact posterior draws of beta, (kept, columns), in the order of tries


def batch_size(rows: int, columns: int, *, wanted: float) -> int:
    """Tries of a batch: a power of 2, so that few programs are compiled."""
    largest = max(BATCH_NUMBERS // max(rows, columns), 64)
    return 1 << int(np.log2(min(max(wanted, 64.0), largest)))


def run_batch(
    at: Whitened, t: Target, seed: int, number: int, count: int, rounding: float = 0.0
) -> Tries:
    """Batch ``number``, whose randomness depends on the seed, its number and its size only.

    ``rounding``: ``weight_error``.

    Raises:
        NumericalError: a weight is above 1 or not a number: the arithmetic broke.
    """
    with double_precision():
        key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), STREAM)
        key = jax.random.fold_in(key, number)
        out = _batch(t, key, at.regression.family, count)
        log_weights, kept, z = (np.asarray(a) for a in out)
    if not np.max(log_weights) < IMPOSSIBLE + rounding:
        raise NumericalError(
            f"a weight of e^{np.max(log_weights):.3g} exceeds 1, which the envelope rules out, by"
            f" more than rounding, {rounding:.2g}: the arithmetic broke, and `draws` 0 is not to be"
            " trusted either; report it with the data"
        )
    return Tries(np.minimum(log_weights, 0.0), at.mode + z[kept] @ at.to_beta.T)
