"""What a Gibbs sweep costs: JAX, amortised over chains and cores, against Numba by hand on one core
and on all.

    python benchmarks/sweep.py [--json] [--smoke] [--chains 50]

Both sides run in one process and take turns, and the fastest of the repeats counts, so the ratios
hold on a busy machine better than the times do. JAX runs through ``bracketz.run_chains``, as every
estimator does; compilation is timed apart. The second line of a model is one edge of an annealing
run (weight and sweep). Exit code 1 if a ratio exceeds its goal; being as fast as Numba on all cores
is a stretch goal.
"""

import argparse
import sys
import time
from typing import NamedTuple

import jax
import numpy as np
from numba_sweeps import parallel_sweeper, sweeper
from programs import Sweeps
from report import Report, Row, Table, at_most, main, say

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.core.model import Model
from bracketz.engine.anneal import Forward
from bracketz.engine.run import Outcome, Program, run_chains
from bracketz.engine.session import Session
from bracketz.paths import Tempered

REPEATS = 7
STEPS = 400
POWER = 0.5


class Case(NamedTuple):
    name: str
    model: Model


CASES = (
    Case("clustering", Clustering()),
    Case("low-rank", LowRank()),
    Case("binary-attributes", BinaryAttributes()),
)
GOAL = 1.0  # JAX microseconds / Numba microseconds


class Timing(NamedTuple):
    """Of one model; microseconds per chain, seconds to compile."""

    model: str
    sweep: float
    numba_sweep: float
    parallel_sweep: float
    edge: float
    compile_sweep: float
    compile_edge: float
    cores: float  # that JAX really had, while it swept fastest

    @property
    def ratio(self) -> float:
        return self.sweep / self.numba_sweep

    @property
    def parallel_ratio(self) -> float:
        return self.sweep / self.parallel_sweep


def measure(case: Case, chains: int, steps: int = STEPS, repeats: int = REPEATS) -> Timing:
    y = simulate(case.model).y
    powers = np.full(len(y), POWER)

    def in_jax(program: Program) -> Outcome:
        return run_chains(program, steps, chains=chains, seed=0, stream="sweep", session=Session())

    programs = Sweeps(case.model, y, powers), Forward(case.model, y, Tempered().through(steps + 1))
    first = [in_jax(program) for program in programs]
    advance, rng = sweeper(case.model, y, powers), np.random.default_rng(0)
    latents = np.array(first[0].carry[0][0])  # a chain that has run for a while, like the others
    advance(rng, latents, 1)  # compiles
    all_latents = np.array(first[0].carry[0])
    advance_all = parallel_sweeper(case.model, y, powers, jax.device_count())

    def in_numba() -> float:
        began = time.perf_counter()
        advance(rng, latents, 10 * steps)
        return (time.perf_counter() - began) / (10 * steps)

    def in_parallel() -> float:
        began = time.perf_counter()
        advance_all(all_latents, steps)
        return (time.perf_counter() - began) / (steps * chains)

    def once(program: Program) -> tuple[float, float]:
        """(seconds per step and chain, cores in use)."""
        wall, cpu = time.perf_counter(), time.process_time()
        seconds = in_jax(program).run_seconds / (steps * chains)
        return seconds, (time.process_time() - cpu) / (time.perf_counter() - wall)

    rounds = [
        (once(programs[0]), once(programs[1]), in_numba(), in_parallel()) for _ in range(repeats)
    ]
    sweeps, edges, by_hand, side_by_side = zip(*rounds, strict=True)
    (sweep, cores), (edge, _) = min(sweeps), min(edges)
    return Timing(
        case.name,
        1e6 * sweep,
        1e6 * min(by_hand),
        1e6 * min(side_by_side),
        1e6 * edge,
        *(outcome.compile_seconds for outcome in first),
        cores,
    )


def table(timings: list[Timing], chains: int) -> Table:
    where = f"{chains} chains on {jax.device_count()} cores"
    title = f"sweep: microseconds per chain; JAX and parallel Numba: {where}"
    lines = []
    for t in timings:
        numbers = [f"{x:.1f}" for x in (t.sweep, t.numba_sweep, t.parallel_sweep, t.compile_sweep)]
        lines.append([t.model, "sweep", *numbers])
        lines.append(["", "weight + sweep", f"{t.edge:.1f}", "", "", f"{t.compile_edge:.1f}"])
    return Table(title, ["model", "", "JAX", "Numba, one core", "parallel", "compiling s"], lines)


def busy(t: Timing) -> str:
    """Said if the machine had other things to do."""
    if jax.default_backend() == "cpu" and t.cores < 0.8 * jax.device_count():
        had = f"{t.cores:.1f} of {jax.device_count()} cores"
        return f"busy machine: JAX had {had}; run again when it is quiet"
    return ""


def benchmark(options: argparse.Namespace) -> Report:
    timings = []
    for case in CASES[:1] if options.smoke else CASES:
        timings.append(measure(case, options.chains, *((4, 1) if options.smoke else ())))
        say(f"{case.name}: {timings[-1].ratio:.2f} times Numba")
    rows = []
    for t in timings:
        rows.append(
            Row("sweep", t.model, "JAX / Numba, one core", t.ratio, "x", at_most(GOAL), busy(t))
        )
        parallel = at_most(GOAL, stretch=True)
        rows.append(
            Row(
                "sweep", t.model, "JAX / Numba, all cores", t.parallel_ratio, "x", parallel, busy(t)
            )
        )
    details = {"chains": options.chains, "power": POWER, "models": [t._asdict() for t in timings]}
    return Report("sweep", rows, [table(timings, options.chains)], details=details)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chains", type=int, default=50)


if __name__ == "__main__":
    sys.exit(main(benchmark, __doc__, options))
