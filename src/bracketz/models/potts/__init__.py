"""Potts: q colours on a grid, neighbours like to share theirs."""

from bracketz.models.potts.model import Potts

__all__ = ["Potts"]
