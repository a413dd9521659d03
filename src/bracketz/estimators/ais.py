"""Annealed importance sampling (paper, section "Annealed importance sampling", Algorithm 1)."""

from dataclasses import dataclass

from bracketz.anneal import Forward, Reverse
from bracketz.answer import Combine, Side
from bracketz.estimators.base import Estimator, require_at_least
from bracketz.loop import run
from bracketz.path import Path, check_tempered, tempered
from bracketz.schedule import run_pilot


@dataclass(frozen=True)
class AIS(Estimator):
    """Prior to posterior through tempered likelihoods; E[w] = p(y), so a stochastic lower bound.

    Cost: ``distributions - 1`` sweeps a trial (times ``sweeps``). Consistent as distributions grow. Schedule "adapted"
    puts a pilot of 256 distributions in front, with as many chains as trials and randomness of its own.
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
        check_tempered(self.distributions, self.schedule, self.delta)

    def side(self, data):
        return Side.LOWER

    def program(self, model, data, path: Path) -> Forward | Reverse:
        return Forward(model, data.y, path, self.sweeps)

    def run(self, model, data, trials, seed, session):
        def along(path):
            return self.program(model, data, path)

        found = None
        if self.schedule == "adapted":
            found = run_pilot(along, chains=trials, seed=seed, session=session)
        path = tempered(self.distributions, self.schedule, self.delta, found and found.table)
        outcome = run(
            along(path), path.num_edges, chains=trials, seed=seed, stream=self.name, session=session
        )
        if found is None:
            return outcome
        return outcome._replace(
            run_seconds=outcome.run_seconds + found.run_seconds,
            compile_seconds=outcome.compile_seconds + found.compile_seconds,
        )
