"""Runs in both directions: up from the prior, and down from exact samples."""

import math
from dataclasses import dataclass

import jax
import numpy as np

from bracketz.core.model import State
from bracketz.core.results import Combine
from bracketz.core.undirected import Undirected
from bracketz.core.weights import shared_start_error
from bracketz.data.simulate import exact_starts
from bracketz.engine.anneal import FromStates, Reverse
from bracketz.engine.recorder import inverse_temperatures, mean_increments, mean_reports
from bracketz.engine.run import Outcome
from bracketz.engine.schedule import schedule_cost
from bracketz.inference.answer import Look, Trace
from bracketz.inference.ladder import Clock, Runs, batches
from bracketz.inference.plan import Plan


@dataclass(frozen=True)
class BothWays(Runs):
    """The same from the exact sample, too."""

    exact: State = None
    start_noise: float = 0.0  # see Prepared

    @property
    def own_starts(self) -> bool:
        """Whether each reverse chain has an exact sample of its own, as it can where they cost
        little; ``exact`` has a batch of them."""
        return isinstance(self.model, Undirected)

    def programs(self, effort: int):
        """(the path laid, the forward program, the reverse program)."""
        path, forward = self.forward(effort)
        return path, forward, self.reverse(effort, self.exact)

    def reverse(self, effort: int, exact: State):
        """The reverse program from here."""
        path, common = self.laid(effort)
        kind = FromStates if self.own_starts else Reverse
        return self.recorded(kind(self.model, self.y, path, exact, *common))

    def from_starts(self, chosen: Plan, number: int) -> list:
        """A reverse program for each batch, from fresh exact samples."""
        assert isinstance(self.model, Undirected)
        starts = exact_starts(self.model, self.y, chosen.chains, self.seed, number)
        return [
            self.reverse(chosen.effort, jax.tree.map(lambda a, k=k: a[k : k + self.chains], starts))
            for k in range(0, chosen.chains, self.chains)
        ]

    def look(self, chosen: Plan, number: int, clock: Clock) -> Look:
        """Both directions, batch by batch, with randomness that nothing else has used."""
        path, *programs = self.programs(chosen.effort)
        sides: list[list[Outcome]] = []
        for name, program in zip(("lower", "upper"), programs, strict=True):
            look = f"{name} {chosen.effort}" + (f" look {number}" if number > 1 else "")
            streams = batches(look, chosen.chains // self.chains)
            each = [program] * len(streams)
            if name == "upper" and self.own_starts:
                each = self.from_starts(chosen, number)
            pairs = zip(each, streams, strict=True)
            sides.append([self.run(p, path.num_edges, s, clock) for p, s in pairs])
        forward, reverse = (np.concatenate([o.log_values for o in side]) for side in sides)
        lower, lower_error = Combine.ARITHMETIC(forward)
        upper, own_error = Combine.HARMONIC(reverse)
        reports, cost, trace = {}, None, None
        if self.records:
            first = (sides[0][0], sides[1][0])
            reports = mean_reports(path.num_edges, *first)
            cost = schedule_cost(path.num_edges, *first)
            up, down = (
                tuple(mean_increments(path.num_edges, side, sign).tolist())
                for side, sign in zip(first, (1, -1), strict=True)
            )
            trace = Trace(up, down, path)
        return Look(
            effort=chosen.effort,
            distributions=path.num_edges + 1,
            chains=chosen.chains,
            lower=lower,
            upper=upper,
            lower_error=lower_error,
            upper_error=math.hypot(
                own_error,
                0.0 if self.own_starts else shared_start_error(forward, reverse, self.path.refines),
                self.start_noise,
            ),
            forward=tuple(forward.tolist()),
            reverse=tuple(reverse.tolist()),
            schedule_cost=cost,
            reports={name: tuple(values.tolist()) for name, values in reports.items()},
            temperatures=inverse_temperatures(path) if reports else (),
            trace=trace,
        )
