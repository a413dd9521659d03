"""What the clustering model is about: assignments, and the centres that are integrated out."""

from typing import NamedTuple

import jax


class ClusteringState(NamedTuple):
    assignments: jax.Array  # (N,) int32


class Centers(NamedTuple):
    centers: jax.Array  # (K, D)
