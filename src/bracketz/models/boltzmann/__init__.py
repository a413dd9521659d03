"""Restricted Boltzmann machines: two layers of bits, joined by weights."""

from bracketz.models.boltzmann.model import RBM
from bracketz.models.boltzmann.state import Units

__all__ = ["RBM", "Units"]
