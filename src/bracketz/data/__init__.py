"""Data: drawn from a model, or read from a file."""

from bracketz.data.dataset import Data
from bracketz.data.files import load, save
from bracketz.data.simulate import simulate

__all__ = ["Data", "load", "save", "simulate"]
