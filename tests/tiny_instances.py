"""Instances small enough for exact answers, and rows of powers worth trying; shared by
the tests."""

import jax.numpy as jnp
import numpy as np

from bracketz import BinaryAttributes, Clustering, LowRank

#: Tiny instances whose evidence is known by enumeration or quadrature.
TINY = {
    "clustering": (
        Clustering(components=3, center_variance=1.3, noise_variance=0.7, mixture=[0.5, 0.3, 0.2]),
        (5, 2),
    ),
    "low-rank": (
        LowRank(components=1, left_variance=1.2, right_variance=0.8, noise_variance=0.6),
        (4, 2),
    ),
    "binary-bits": (
        BinaryAttributes(
            components=2, attribute_probability=[0.3, 0.6], feature_variance=1.4, noise_variance=0.5
        ),
        (4, 2),
    ),
    "binary-flips": (
        BinaryAttributes(
            components=2,
            attribute_probability=[0.3, 0.6],
            feature_variance=1.4,
            noise_variance=0.5,
            row_update="flips",
        ),
        (4, 2),
    ),
    "binary-whole": (
        BinaryAttributes(
            components=2,
            attribute_probability=[0.3, 0.6],
            feature_variance=1.4,
            noise_variance=0.5,
            row_update="whole",
        ),
        (4, 2),
    ),
}
DISCRETE = [name for name in TINY if name != "low-rank"]


def power_rows(n: int):
    """Rows of powers a kernel must get right: 0, 1, between, mixed, with exact zeros and ones
    inside."""
    mixed = np.linspace(0.1, 0.9, n)
    mixed[0], mixed[-1] = 0.0, 1.0
    return [
        jnp.zeros(n),
        jnp.ones(n),
        jnp.full(n, 0.37),
        jnp.asarray(mixed),
        (jnp.arange(n) < n // 2) * 1.0,
    ]
