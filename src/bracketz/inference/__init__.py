"""Answers about the evidence: both bounds on simulated data, several models on observed data."""

from bracketz.inference.compare import Comparison, compare, standardized
from bracketz.inference.sandwich import Sandwich, sandwich

__all__ = ["Comparison", "Sandwich", "compare", "sandwich", "standardized"]
