"""What the binary attribute model is about: the attributes, and the features that are integrated
out."""

from typing import NamedTuple

import jax


class BinaryState(NamedTuple):
    attributes: jax.Array  # Z, (N, K) of 0/1 in the float type


class Features(NamedTuple):
    features: jax.Array  # A, (K, D)
