"""Ising: spins on a grid that like to agree with their neighbours."""

from bracketz.models.ising.model import Ising

__all__ = ["Ising"]
