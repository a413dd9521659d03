"""What many chains cost: sweeps a second for 100 to 1,000,000 chains, on whatever JAX finds here.

    python benchmarks/device.py [--json] [--chains 100,10000] [--models clustering]

On a machine with a GPU the same sweeps also run on its CPU, in a process of its own, for the ratio. Needs
nothing but JAX and NumPy.
"""

import argparse
import json
import sys

import jax
import numpy as np
from programs import Sweeps

from bracketz import BinaryAttributes, Clustering, LowRank, simulate
from bracketz.loop import run
from bracketz.session import Session

MODELS = {"clustering": Clustering(), "low-rank": LowRank(), "binary-attributes": BinaryAttributes()}
SECONDS = 1.0
POWER = 0.5


def seconds_a_sweep(model, chains: int) -> tuple[float, float]:
    """(seconds a sweep of all chains, seconds to compile)."""
    y = simulate(model).y
    program = Sweeps(model, y, np.full(len(y), POWER))

    def sweep(steps, seed):
        return run(program, steps, chains=chains, seed=seed, stream="sweep", session=Session())

    first = sweep(2, 0)
    steps = max(2, int(SECONDS / (first.run_seconds / 2)))
    return sweep(steps, 1).run_seconds / steps, first.compile_seconds


def measure(names, sizes) -> list[dict]:
    rows = []
    for name in names:
        for chains in sizes:
            seconds, compiling = seconds_a_sweep(MODELS[name], chains)
            rows.append({
                "model": name, "platform": jax.default_backend(), "chains": chains,
                "sweeps_per_second": chains / seconds, "compile_seconds": compiling,
            })  # fmt: skip
            print(
                f"{name:18s} {jax.default_backend()} {chains:>9,} chains: {chains / seconds:14,.0f} sweeps/s, {1e9 * seconds / chains:9.1f} ns, compiled in {compiling:.1f} s",
                file=sys.stderr,
                flush=True,
            )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--chains", default="100,1000,10000,100000,1000000")
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    rows = measure(options.models.split(","), [int(c) for c in options.chains.split(",")])
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
