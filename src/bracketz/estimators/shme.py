"""The sequential harmonic mean estimator (paper, Algorithm 3): SMC read backwards."""

from dataclasses import dataclass

from bracketz.core.results import Combine, Side
from bracketz.engine.anneal import Reverse
from bracketz.engine.run import run_chains
from bracketz.estimators.smc import SMC


@dataclass(frozen=True)
class SHME(SMC):
    """From an exact posterior sample, rows leave one at a time; E[w] = 1 / p(y): an upper bound.

    Needs simulated data. Same cost and knobs as SMC; resampling is proportional to w here too,
    w being an estimate of the reciprocal.
    """

    name = "shme"
    combine = Combine.HARMONIC
    reverses = "smc"
    allowance = None  # as for the harmonic mean
    needs_exact_sample = True

    def side(self, data):
        return Side.UPPER

    def run(self, model, data, trials, seed, session):
        path = self._path(model, data)
        program = Reverse(
            model, data.y, path, data.exact, self.transitions, self._resampling(), self.particles
        )
        return run_chains(
            program, path.num_edges, chains=trials, seed=seed, stream=self.name, session=session
        )
