"""What the clustering model is about: assignments, and the centres that are integrated out."""

from typing import NamedTuple

from bracketz.core.pytree import Array


class ClusteringState(NamedTuple):
    assignments: Array  # (N,) int32


class Centers(NamedTuple):
    centers: Array  # (K, D)
