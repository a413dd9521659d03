"""Annealed importance sampling (paper, section "Annealed importance sampling", Algorithm 1)."""

import dataclasses
from dataclasses import dataclass

from bracketz.core.path import Path
from bracketz.core.results import Combine, Side
from bracketz.core.validation import require_at_least
from bracketz.engine.anneal import Annealing, Forward, Resampling
from bracketz.engine.run import run_chains
from bracketz.engine.schedule import run_pilot
from bracketz.estimators.base import Estimator
from bracketz.paths import Adapted, Schedule, Sigmoid, Tempered, schedule_named


@dataclass(frozen=True)
class AIS(Estimator):
    """Prior to posterior through tempered likelihoods; E[w] = p(y), so a stochastic lower bound.

    Cost: ``distributions - 1`` sweeps per trial (times ``sweeps``). Consistent as distributions
    grow. An adapted schedule puts a pilot in front, with as many chains as trials and randomness of
    its own. It runs forwards in either direction: a pilot from the exact sample would make the
    schedule depend on it, and reverse weights would no longer average to 1 / p(y).

    Args:
        distributions: from prior to posterior, both included (the knob).
        sweeps: kernel sweeps per distribution.
        schedule: a ``Schedule``, or its shorthand "sigmoid", "linear" or "adapted".
        delta: of the shorthand "sigmoid".
        particles: per trial, resampled when their effective sample size falls below half: tempered
            sequential Monte Carlo. A trial is then ``particles`` times as long.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz
        >>> bz.AIS(distributions=500, schedule=bz.Adapted(pilot=64)).side(None).value
        'lower'
    """

    distributions: int = 1000
    sweeps: int = 1
    schedule: Schedule | str = "sigmoid"
    delta: float = 4.0
    particles: int = 1

    name = "ais"
    full_name = "annealed importance sampling"
    cost = "distributions - 1 sweeps"
    knob = "distributions"
    combine = Combine.ARITHMETIC
    certifies = True
    anneals = True
    generous = {"distributions": 300}
    tunable = {
        "schedule": ("sigmoid", "adapted", "linear"),
        "particles": (1, 4, 16),
        "sweeps": (1, 2, 4),
    }
    least = 8

    def __post_init__(self):
        require_at_least(1, sweeps=self.sweeps, particles=self.particles)
        self._path.through(self.distributions)

    @property
    def _path(self) -> Tempered:
        if isinstance(self.schedule, str):
            return Tempered(schedule_named(self.schedule, delta=self.delta))
        return Tempered(self.schedule)

    def settings(self, model):
        schedule = self._path.schedule
        delta = schedule.delta if isinstance(schedule, Sigmoid) else self.delta
        said = {
            "distributions": self.distributions,
            "sweeps": self.sweeps,
            "schedule": schedule.name,
            "delta": delta,
        }
        if isinstance(schedule, Adapted) and schedule.pilot != Adapted.pilot:
            said["pilot"] = schedule.pilot
        if self.particles > 1:
            said["particles"] = self.particles
        return said

    def along(self, schedule):
        asked = self.schedule != "sigmoid" or self.delta != type(self).delta
        return self if asked else dataclasses.replace(self, schedule=schedule)

    def side(self, data):
        return Side.LOWER

    def program(self, model, data, path: Path) -> Annealing:
        """One chain along a path that has been laid."""
        return Forward(model, data.y, path, self.sweeps, Resampling(), self.particles)

    def run(self, model, data, trials, seed, session):
        def forwards(path):
            return Forward(model, data.y, path, self.sweeps)

        path, found = self._path, None
        if path.pilot is not None:
            found = run_pilot(path, forwards, chains=trials, seed=seed, session=session)
            path = found.path
        path = path.through(self.distributions)
        program = self.program(model, data, path)
        outcome = run_chains(
            program, path.num_edges, chains=trials, seed=seed, stream=self.name, session=session
        )
        if found is None:
            return outcome
        return outcome._replace(
            run_seconds=outcome.run_seconds + found.run_seconds,
            compile_seconds=outcome.compile_seconds + found.compile_seconds,
        )
