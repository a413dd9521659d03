"""Ready-made kernels, each with its exact reversal; one file each."""

from bracketz.kernels.blackjax import FromBlackJAX
from bracketz.kernels.compose import Compose, Repeat
from bracketz.kernels.gibbs import GibbsScan
from bracketz.kernels.hamiltonian import HMC, MALA
from bracketz.kernels.metropolis import Metropolis
from bracketz.kernels.walk import MultiScaleWalk

__all__ = [
    "HMC",
    "MALA",
    "Compose",
    "FromBlackJAX",
    "GibbsScan",
    "Metropolis",
    "MultiScaleWalk",
    "Repeat",
]
