"""What the binary attribute model is about: the attributes, and the features that are integrated
out."""

from typing import NamedTuple

from bracketz.core.pytree import Array


class BinaryState(NamedTuple):
    attributes: Array  # Z, (N, K) of 0/1 in the float type


class Features(NamedTuple):
    features: Array  # A, (K, D)
