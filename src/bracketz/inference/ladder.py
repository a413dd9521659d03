"""A ladder of forward runs: what decides how much effort a measurement takes.

Forwards only: what follows from a run that began at an exact sample depends on that sample
(``bracketz.inference.plan``).
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.results import Combine
from bracketz.engine.anneal import Annealing, Forward, Resampling
from bracketz.engine.recorder import Recorded
from bracketz.engine.run import Outcome, Program, run_chains
from bracketz.engine.schedule import Pilot, run_pilot
from bracketz.engine.session import Session
from bracketz.inference.answer import Rung
from bracketz.inference.plan import RUNG_CHAINS, Plan, next_rung
from bracketz.paths import Tempered


@dataclass
class Clock:
    """Seconds so far, and per edge and chain."""

    run: float = 0.0
    compile: float = 0.0
    steps: int = 0

    def add(self, outcome: Outcome, steps: int) -> None:
        """Count a run of so many edges times chains."""
        self.run += outcome.run_seconds
        self.compile += outcome.compile_seconds
        self.steps += steps

    @property
    def per_step(self) -> float:
        """Not a number where nothing was run now (all restored)."""
        return self.run / self.steps if self.steps else math.nan


@dataclass(frozen=True)
class Runs:
    """Forward runs of one model on one data set: what does not change between them."""

    model: Model
    y: Any
    path: Path
    sweeps: int
    particles: int
    chains: int  # of a batch
    seed: int
    session: Session
    prefix: str = ""  # of every stream's name

    def tuned(self):
        """These runs on a path tuned by a pilot, and frozen; and the pilot. It runs forwards only:
        one from the exact sample would make the path depend on it."""
        assert isinstance(self.path, Tempered)
        found: Pilot = run_pilot(
            self.path,
            lambda path: Forward(self.model, self.y, path, self.sweeps),
            chains=self.chains,
            seed=self.seed,
            session=self.session,
        )
        return dataclasses.replace(self, path=found.path), found

    @property
    def records(self) -> bool:
        """Whether runs write down their increments."""
        return self.path.refines and self.particles == 1

    def laid(self, effort: int) -> tuple[Path, tuple[Any, Resampling, int]]:
        """The path at an effort; sweeps, resampling and particles of a program along it."""
        path, sweeps = self.path.at(effort, self.model, self.model.num_rows(self.y), self.sweeps)
        return path, (sweeps, Resampling(), self.particles)

    def recorded(self, program: Annealing) -> Program:
        """A program as it is run."""
        return Recorded(program) if self.records else program

    def forward(self, effort: int) -> tuple[Path, Program]:
        """The path laid, and the program."""
        path, common = self.laid(effort)
        return path, self.recorded(Forward(self.model, self.y, path, *common))

    def sweeps_of(self, effort: int, chains: int) -> int:
        """Kernel sweeps of one direction, all chains and particles."""
        path, (sweeps, *_) = self.laid(effort)
        return path.num_edges * sweeps * chains * self.particles

    def run(
        self, program, num_edges: int, stream: str, clock: Clock, chains: int | None = None
    ) -> Outcome:
        """One batch of chains."""
        stream, chains = self.prefix + stream, chains or self.chains
        done, _ = self.session.restore(stream) or (0, None)
        outcome = run_chains(
            program,
            num_edges,
            chains=chains,
            seed=self.seed,
            stream=stream,
            session=self.session,
        )
        clock.add(outcome, (num_edges - done) * chains)
        return outcome

    def rung(self, effort: int, clock: Clock) -> Rung | None:
        """Forward chains of their own at one effort; None when time ran out."""
        path, forward = self.forward(effort)
        outcomes = []
        for stream in batches(f"ladder {effort}", -(-RUNG_CHAINS // self.chains)):
            outcomes.append(self.run(forward, path.num_edges, stream, clock))
            if not outcomes[-1].finished:
                return None
        values = np.concatenate([outcome.log_values for outcome in outcomes])
        return Rung(effort, Combine.ARITHMETIC(values)[0], tuple(values.tolist()))

    def climb(self, effort: int, top: int, gap: float, clock: Clock) -> list[Rung]:
        """Forward runs of doubling effort, until they say enough."""
        session, refines = self.session, self.path.refines
        rungs: list[Rung] = []
        while True:
            began = clock.run
            rung = self.rung(effort, clock)
            session.must_finish = False
            if rung is None:
                session.progress.note("time is up for deciding: measuring with what is left")
                return rungs
            rungs.append(rung)
            seen = [r.seen for r in rungs]
            session.progress.note(
                f"{effort:>8,} {self.path.unit}, forwards: lower {rung.lower:.2f}, one chain"
                f" ± {math.sqrt(seen[-1].spread):.2g}"
            )
            following = next_rung(seen, gap, refines)
            if following is None or following > top:
                return rungs
            if 8 * (clock.run - began) > session.remaining():
                return rungs
            effort = following

    def in_time(self, chosen: Plan, least: int, clock: Clock) -> Plan:
        """The plan, cut to the time that is left."""
        left, seconds = self.session.remaining(), 2 * chosen.effort * chosen.chains * clock.per_step
        if not seconds > left:
            return chosen
        fits = max(
            least, int(chosen.effort * chosen.chains / self.chains * max(left, 0.0) / seconds)
        )
        self.session.progress.note(
            f"{chosen.effort:,} {self.path.unit} x {chosen.chains:,} chains would take about"
            f" {seconds:.0f} s and {max(left, 0):.0f} s are left"
        )
        return Plan(min(fits, chosen.effort), self.chains)


def batches(name: str, count: int) -> list[str]:
    """Streams of several batches of one run."""
    return [name] + [f"{name} batch {batch}" for batch in range(2, count + 1)]
