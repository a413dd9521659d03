"""Answers about the evidence: both bounds on simulated data, several models on observed data."""

from bracketz.inference.answer import Sandwich
from bracketz.inference.compare import compare, standardized
from bracketz.inference.comparison import Comparison
from bracketz.inference.sandwich import sandwich

__all__ = ["Comparison", "Sandwich", "compare", "sandwich", "standardized"]
