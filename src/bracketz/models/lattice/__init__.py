"""Ferromagnetic models on a rectangular grid: what Ising and Potts share."""

from bracketz.models.lattice.exact import kaufman, onsager
from bracketz.models.lattice.model import Lattice
from bracketz.models.lattice.state import LatticeState

__all__ = ["Lattice", "LatticeState", "kaufman", "onsager"]
