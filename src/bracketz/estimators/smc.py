"""Sequential Monte Carlo over data points (paper, section "Sequential Monte Carlo",
Algorithm 2)."""

from dataclasses import dataclass

from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.anneal import Forward, Resampling
from bracketz.engine.run import run_chains
from bracketz.estimators.base import Estimator
from bracketz.models.factored import require_rows
from bracketz.paths import Prefix


@dataclass(frozen=True)
class SMC(Estimator):
    """Data enter one row at a time; E[w] = p(y), so a stochastic lower bound.

    Cost: N * transitions * particles sweeps per trial.

    Args:
        transitions: kernel sweeps that follow each row (the knob; 0 gives plain particle learning).
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
        >>> bz.estimate(model, data, bz.SMC(transitions=1, particles=3), trials=2).side.value
        'lower'
    """

    transitions: int = 10
    particles: int = 1
    proposal: str | None = None
    shuffle: int | None = None
    resampling: str = "systematic"
    resample_threshold: float = 0.5

    name = "smc"
    full_name = "sequential Monte Carlo"
    cost = "N * transitions * particles sweeps"
    knob = "transitions"
    combine = Combine.ARITHMETIC
    certifies = True
    generous = {"transitions": 5, "particles": 20}
    tunable = {
        "particles": (1, 4, 16, 64),
        "resampling": ("systematic", "residual"),
        "resample_threshold": (0.5, 0.25, 1.0),
    }

    def __post_init__(self):
        require_at_least(0, transitions=self.transitions)
        require_at_least(1, particles=self.particles)
        self._resampling()
        Prefix(self.proposal)

    def _resampling(self):
        return Resampling(self.resample_threshold, self.resampling)

    def _path(self, model, data):
        require_rows(getattr(model, "model", model), data.y)
        return Prefix(self.proposal, self.shuffle).over(model, model.num_rows(data.y))

    def settings(self, model):
        return super().settings(model) | {"proposal": Prefix(self.proposal).over(model, 1).proposal}

    def matters(self, name):
        return self.particles > 1 or name not in ("resampling", "resample_threshold")

    def side(self, data):
        return Side.LOWER

    def run(self, model, data, trials, seed, session):
        path = self._path(model, data)
        program = Forward(model, data.y, path, self.transitions, self._resampling(), self.particles)
        return run_chains(
            program, path.num_edges, chains=trials, seed=seed, stream=self.name, session=session
        )
