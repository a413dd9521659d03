"""Reverse AIS (paper, section "Reverse AIS"): AIS read backwards from an exact posterior sample."""

from dataclasses import dataclass

from bracketz.core.results import Combine, Side
from bracketz.engine.anneal import Reverse
from bracketz.estimators.ais import AIS


@dataclass(frozen=True)
class ReverseAIS(AIS):
    """Posterior to prior with time-reversed kernels; E[w] = 1 / p(y), so a stochastic upper bound.

    Needs simulated data. Same cost and knobs as AIS.
    """

    name = "reverse-ais"
    combine = Combine.HARMONIC
    reverses = "ais"
    allowance = 0.15  # all chains begin at one sample
    needs_exact_sample = True

    def side(self, data):
        return Side.UPPER

    def program(self, model, data, path):
        return Reverse(model, data.y, path, data.exact, self.sweeps)
