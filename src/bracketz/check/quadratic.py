"""Integrals of exp(quadratic), done exactly in any dimension.

Where log g(x) is a quadratic, its integral is exp(log g(mode)) (2 pi)^(P/2) det(-H)^(-1/2):
Laplace's approximation without an error. Many densities here are quadratic in something (in the
centres given the assignments, in the data given the state, in a Gaussian prior's variable), which
makes their normalisation an exact check. Cost: one Hessian, O(P^2) evaluations.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Integral(NamedTuple):
    log_value: jax.Array
    mode: jax.Array  # (P,)
    precision: jax.Array  # -H, (P, P)
    misfit: jax.Array  # how far log g is from its own quadratic expansion, relative; 0 if quadratic


def integrate(log_g, x, other) -> Integral:
    """log of the integral of exp(log_g) over R^P, expanded at ``x`` and tested for being quadratic
    at ``other``."""
    value, gradient = jax.value_and_grad(log_g)(x)
    precision = -jax.hessian(log_g)(x)
    mode = x + jnp.linalg.solve(precision, gradient)
    step = other - x
    predicted = value + gradient @ step - 0.5 * step @ precision @ step
    actual = log_g(other)
    misfit = jnp.abs(actual - predicted) / (1 + jnp.abs(actual) + jnp.abs(predicted))
    # A quadratic that opens upwards, or is flat somewhere, has no integral.
    proper = jnp.linalg.eigvalsh(precision)[0] > 0
    misfit = jnp.where(proper & jnp.isfinite(misfit), misfit, jnp.inf)
    log_det = jnp.linalg.slogdet(precision)[1]
    peak = log_g(mode)
    return Integral(
        peak + 0.5 * x.shape[0] * jnp.log(2 * jnp.pi) - 0.5 * log_det, mode, precision, misfit
    )


#: Above this, a function is not quadratic and the integral means nothing.
QUADRATIC = 1e-8
