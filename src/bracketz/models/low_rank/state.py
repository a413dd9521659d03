"""What the low-rank model is about: the right factor, and the left one that is integrated out."""

from typing import NamedTuple

from bracketz.core.pytree import Array


class LowRankState(NamedTuple):
    right: Array  # V, (K, D)


class Left(NamedTuple):
    left: Array  # U, (N, K)


class Factors(NamedTuple):
    """Both factors, where an algorithm cannot do without U."""

    left: Array  # (N, K)
    right: Array  # (K, D)
