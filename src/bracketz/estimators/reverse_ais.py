"""Reverse AIS (paper, section "Reverse AIS"): AIS read backwards from an exact posterior sample."""

from dataclasses import dataclass

from bracketz.core.results import Combine, Side
from bracketz.engine.anneal import Resampling, Reverse
from bracketz.estimators.ais import AIS
from bracketz.estimators.base import SHARED_START


@dataclass(frozen=True)
class ReverseAIS(AIS):
    """Posterior to prior with time-reversed kernels; E[w] = 1 / p(y), so a stochastic upper bound.

    Needs simulated data. Same cost and knobs as AIS. Its trials share the exact sample, so that
    there is no error bar; AIS and it together have one (``sandwich``).

    Args:
        distributions: from posterior to prior, both included (the knob).
        sweeps: kernel sweeps per distribution.
        schedule: a ``Schedule``, or its shorthand "sigmoid", "linear" or "adapted".
        delta: of the shorthand "sigmoid".
        particles: per trial, resampled when their effective sample size falls below half.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.ReverseAIS(distributions=9), trials=2).side.value
        'upper'
    """

    name = "reverse-ais"
    full_name = "reverse annealed importance sampling"
    combine = Combine.HARMONIC
    reverses = "ais"
    no_error_bar = SHARED_START
    allowance = 0.15  # all chains begin at one sample
    needs_exact_sample = True

    def side(self, data):
        return Side.UPPER

    def program(self, model, data, path):
        return Reverse(model, data.y, path, data.exact, self.sweeps, Resampling(), self.particles)
