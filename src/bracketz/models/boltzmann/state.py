"""What a restricted Boltzmann machine is about: its two layers of bits."""

from typing import NamedTuple

from bracketz.core.pytree import Array


class Units(NamedTuple):
    visible: Array  # (V,) int8
    hidden: Array  # (H,) int8
