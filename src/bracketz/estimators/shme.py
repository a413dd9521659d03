"""The sequential harmonic mean estimator (paper, Algorithm 3): SMC read backwards."""

from dataclasses import dataclass

from bracketz.core.results import Combine, Side
from bracketz.engine.anneal import Reverse
from bracketz.engine.run import run_chains
from bracketz.estimators.base import SHARED_START
from bracketz.estimators.smc import SMC


@dataclass(frozen=True)
class SHME(SMC):
    """From an exact posterior sample, rows leave one at a time; E[w] = 1 / p(y): an upper bound.

    Needs simulated data. Same cost and knobs as SMC; resampling is proportional to w here too,
    w being an estimate of the reciprocal. Its trials share the exact sample: no error bar.

    Args:
        transitions: kernel sweeps before each row leaves (the knob).
        particles: per trial; the paper's setting is one, and no resampling.
        proposal: "posterior" (weights are predictive densities) or "prior"; by default posterior
            where the model allows it.
        shuffle: the seed of a random order of the rows; None: the order of the data.
        resampling: the scheme, "systematic", "multinomial" or "residual".
        resample_threshold: resample when the effective sample size falls to this share of the
            particles or below: 0 never, 1 always.

    Raises:
        InputError: a value out of range; when run, a proposal the model does not offer.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> bz.estimate(model, data, bz.SHME(transitions=1), trials=2).side.value
        'upper'
    """

    name = "shme"
    full_name = "sequential harmonic mean estimator"
    combine = Combine.HARMONIC
    reverses = "smc"
    no_error_bar = SHARED_START
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
