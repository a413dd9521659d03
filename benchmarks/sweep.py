"""What a Gibbs sweep costs: JAX, amortised over chains and cores, against Numba by hand on one core.

    python benchmarks/sweep.py [--json] [--chains 50]

Both sides run in one process and take turns, and the fastest of the repeats counts, so the ratios hold
on a busy machine better than the times do. JAX runs through ``bracketz.loop``, as every estimator does;
compilation is timed apart. The second line of a model is one edge of an annealing run (weight and
sweep). Exit code 1 if a ratio exceeds its goal.
"""

import argparse
import json
import sys
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numba_sweeps import sweeper
from rich.console import Console
from rich.table import Table

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.anneal import Forward
from bracketz.loop import Outcome, Program, run
from bracketz.models.base import Model
from bracketz.path import tempered
from bracketz.pytree import pytree_dataclass
from bracketz.session import Session

REPEATS = 7
STEPS = 400
POWER = 0.5


class Case(NamedTuple):
    name: str
    model: Model
    goal: float  # JAX microseconds / Numba microseconds


CASES = (
    Case("clustering", Clustering(), 1.2),
    Case("low-rank", LowRank(), 2.0),
    Case("binary-attributes", BinaryAttributes(), 2.0),
)


@pytree_dataclass
class Sweeps(Program):
    """The kernel alone, at one row of powers."""

    model: Model
    y: Any
    powers: Any

    def start(self, key):
        return self.model.sample_prior(key, self.y.shape)

    def step(self, key, carry, index):
        return self.model.kernel(self.y, self.powers).step(key, carry)

    def log_value(self, carry):
        return jnp.zeros(())


class Timing(NamedTuple):
    """Of one model; microseconds a chain, seconds to compile."""

    model: str
    sweep: float
    numba_sweep: float
    ratio: float
    goal: float
    edge: float
    compile_sweep: float
    compile_edge: float
    cores: float  # that JAX really had, while it swept fastest

    @property
    def missed(self) -> bool:
        return self.ratio > self.goal


def measure(case: Case, chains: int) -> Timing:
    y = simulate(case.model).y
    powers = np.full(len(y), POWER)

    def in_jax(program: Program) -> Outcome:
        return run(program, STEPS, chains=chains, seed=0, stream="sweep", session=Session())

    programs = Sweeps(case.model, y, powers), Forward(case.model, y, tempered(STEPS + 1))
    first = [in_jax(program) for program in programs]
    advance, rng = sweeper(case.model, y, powers), np.random.default_rng(0)
    latents = np.array(first[0].carry[0][0])  # a chain that has run for a while, like the others
    advance(rng, latents, 1)  # compiles

    def in_numba() -> float:
        began = time.perf_counter()
        advance(rng, latents, 10 * STEPS)
        return (time.perf_counter() - began) / (10 * STEPS)

    def once(program: Program) -> tuple[float, float]:
        """(seconds a step and chain, cores in use)."""
        wall, cpu = time.perf_counter(), time.process_time()
        seconds = in_jax(program).run_seconds / (STEPS * chains)
        return seconds, (time.process_time() - cpu) / (time.perf_counter() - wall)

    rounds = [(once(programs[0]), once(programs[1]), in_numba()) for _ in range(REPEATS)]
    sweeps, edges, by_hand = zip(*rounds, strict=True)
    (sweep, cores), (edge, _), numba_sweep = min(sweeps), min(edges), min(by_hand)
    return Timing(
        case.name, 1e6 * sweep, 1e6 * numba_sweep, sweep / numba_sweep, case.goal, 1e6 * edge,
        *(outcome.compile_seconds for outcome in first), cores,
    )  # fmt: skip


def table(timings: list[Timing], chains: int) -> Table:
    title = f"microseconds a chain; JAX: {chains} chains on {jax.device_count()} devices, Numba: one core"
    view = Table("model", "", title=title)
    for heading in ("JAX", "Numba", "ratio", "goal", "compiling"):
        view.add_column(heading, justify="right")
    for t in timings:
        colour = "red" if t.missed else "green"
        view.add_row(
            t.model, "sweep", f"{t.sweep:.1f}", f"{t.numba_sweep:.1f}", f"[{colour}]{t.ratio:.2f}[/]",
            f"{t.goal:g}", f"{t.compile_sweep:.1f} s",
        )  # fmt: skip
        view.add_row("", "weight + sweep", f"{t.edge:.1f}", "", "", "", f"{t.compile_edge:.1f} s")
    return view


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--chains", type=int, default=50)
    options = parser.parse_args()
    timings = [measure(case, options.chains) for case in CASES]
    missed = [t.model for t in timings if t.missed]
    if options.json:
        answer = {
            "chains": options.chains,
            "devices": jax.device_count(),
            "power": POWER,
            "models": [t._asdict() for t in timings],
            "missed": missed,
        }
        print(json.dumps(answer, indent=2))
    else:
        Console().print(table(timings, options.chains))
    for t in timings:
        if t.missed:
            print(f"goal missed: {t.model} at {t.ratio:.2f}, goal {t.goal:g}", file=sys.stderr)
        if jax.default_backend() == "cpu" and t.cores < 0.8 * jax.device_count():
            busy = f"JAX had {t.cores:.1f} of {jax.device_count()} cores"
            print(f"busy machine: {busy} for {t.model}; run again when it is quiet", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
