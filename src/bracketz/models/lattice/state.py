"""What a lattice model is about: a state at each site of the grid."""

from typing import NamedTuple

from bracketz.core.pytree import Array


class LatticeState(NamedTuple):
    sites: Array  # (N, D) int8, from 0 to q - 1; of an Ising model 1 is up and 0 is down
