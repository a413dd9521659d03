"""Gaussian log-densities and their constants, each written once."""

import jax
import jax.numpy as jnp


def row_log_constant(row, power, noise_variance):
    """The terms of power * log N(row | m, s^2 I) that do not involve the mean m.

    -(D/2) power log(2 pi s^2)  -  power |row|^2 / (2 s^2)
    """
    scale = row.shape[0] * jnp.log(2 * jnp.pi * noise_variance)
    return -0.5 * power * (scale + jnp.sum(row * row) / noise_variance)


def gaussian_log_constant(y, powers, noise_variance):
    """``row_log_constant`` summed over the rows of y."""
    return jnp.sum(jax.vmap(row_log_constant, (0, 0, None))(y, powers, noise_variance))


def normal_log_density(x, mean, variance):
    """Sum of log N(x | mean, variance) over all entries."""
    return jnp.sum(-0.5 * jnp.log(2 * jnp.pi * variance) - 0.5 * (x - mean) ** 2 / variance)
