"""Data sets of a problem: simulated from its prior, each by a seed, always the same."""

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bracketz.outputs import replaced
from bracketz.testbed.league.catalogue import ProblemEntry
from bracketz.testbed.league.worker import Problem


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes:
        problem: whose.
        seed: which.
        y: the observations, by name.
        c: the problem's constants, by name.
        theta: the parameters that made y: an exact posterior sample. The truth uses it; no tool
            ever sees it.
    """

    problem: ProblemEntry
    seed: int
    y: dict[str, np.ndarray]
    c: dict[str, np.ndarray]
    theta: np.ndarray

    @property
    def fingerprint(self) -> str:
        """A hash of what a tool sees, to six digits: the last bits of a matrix product are not the
        same on every machine."""
        digest = hashlib.sha256()
        for part, arrays in (("y", self.y), ("c", self.c)):
            for name in sorted(arrays):
                array = np.asarray(arrays[name], dtype=float)
                digits = " ".join(f"{value:.5e}" for value in array.ravel())
                digest.update(f"{part}.{name} {array.shape} {digits}".encode())
        return digest.hexdigest()[:16]

    def for_tools(self) -> Problem:
        """The problem as a worker has it."""
        return Problem(self.problem.name, self.problem.module, self.y, self.c)

    def write(self, path: Path) -> None:
        """What a worker reads: observations and constants, not the parameters behind them."""
        arrays: dict[str, Any] = {f"y.{name}": array for name, array in self.y.items()}
        arrays |= {f"c.{name}": array for name, array in self.c.items()}
        with replaced(path) as partial, open(partial, "wb") as file:
            np.savez(file, **arrays)

    def exact(self) -> float | None:
        """The evidence, where it is known without sampling."""
        if self.problem.exact is None:
            return None
        return float(self.problem.module.exact(self.y, self.c))


def simulate(problem: ProblemEntry, seed: int) -> Dataset:
    """The data set of a seed."""
    module = problem.module
    c = {name: np.asarray(array) for name, array in module.constants(**problem.settings).items()}
    rng = np.random.default_rng([seed, zlib.crc32(problem.name.encode())])
    theta = Problem(problem.name, module, {}, c).sample_prior(rng, 1)[0]
    y = {name: np.asarray(array) for name, array in module.simulate(theta, c, rng).items()}
    return Dataset(problem, seed, y, c, theta)
