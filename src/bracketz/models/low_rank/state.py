"""What the low-rank model is about: the right factor, and the left one that is integrated out."""

from typing import NamedTuple

import jax


class LowRankState(NamedTuple):
    right: jax.Array  # V, (K, D)


class Left(NamedTuple):
    left: jax.Array  # U, (N, K)


class Factors(NamedTuple):
    """Both factors, where an algorithm cannot do without U."""

    left: jax.Array  # (N, K)
    right: jax.Array  # (K, D)
