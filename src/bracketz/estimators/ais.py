"""Annealed importance sampling (paper, section "Annealed importance sampling", Algorithm 1)."""

from dataclasses import dataclass

from bracketz.anneal import Forward
from bracketz.answer import Combine, Side
from bracketz.estimators.base import Estimator, require_at_least
from bracketz.loop import run
from bracketz.path import tempered


@dataclass(frozen=True)
class AIS(Estimator):
    """Prior to posterior through tempered likelihoods; E[w] = p(y), so a stochastic lower bound.

    Cost: ``distributions - 1`` sweeps a trial (times ``sweeps``). Consistent as distributions grow.
    """

    distributions: int = 1000
    sweeps: int = 1
    schedule: str = "sigmoid"
    delta: float = 4.0

    name = "ais"
    knob = "distributions"
    combine = Combine.ARITHMETIC

    def __post_init__(self):
        require_at_least(1, sweeps=self.sweeps)
        tempered(self.distributions, self.schedule, self.delta)

    def side(self, data):
        return Side.LOWER

    def run(self, model, data, trials, seed, session):
        path = tempered(self.distributions, self.schedule, self.delta)
        program = Forward(model, data.y, path, self.sweeps)
        return run(program, path.num_edges, chains=trials, seed=seed, stream=self.name, session=session)
