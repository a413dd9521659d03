"""Ready-made kernels, each with its exact reversal; one file each."""

from bracketz.kernels.compose import Compose, Repeat
from bracketz.kernels.gibbs import GibbsScan
from bracketz.kernels.metropolis import Metropolis

__all__ = ["Compose", "GibbsScan", "Metropolis", "Repeat"]
