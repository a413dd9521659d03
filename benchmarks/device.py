"""Many chains: sweeps per second on whatever JAX finds here, and the paper's AIS ladder.

    python benchmarks/device.py [--json] [--smoke] [--chains 100,10000]
                                [--models clustering,low-rank]

On a GPU: 100 to 1,000,000 chains; the same sweeps also run without the fused kernels and, up to
10,000 chains, on the CPU of the same machine, in processes of their own. The GPU's limit is what
its float64 units would need for the arithmetic of ``operations`` alone. On a CPU, whose rate hardly
changes with the chains: up to 10,000 chains and distributions. Needs nothing but JAX and NumPy.
"""

import argparse
import json
import os
import subprocess
import sys

import jax
import numpy as np
from programs import Sweeps
from report import Report, Row, Table, main, number, say

from bracketz import BinaryAttributes, Clustering, LowRank, estimate, simulate
from bracketz.engine.run import run_chains
from bracketz.engine.session import Session
from bracketz.estimators.ais import AIS

MODELS = {
    "clustering": Clustering(),
    "low-rank": LowRank(),
    "binary-attributes": BinaryAttributes(),
}
CHAINS = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST_ON_CPU = 10_000  # chains, distributions
LADDER = (100, 1_000, 10_000, 100_000)
TRIALS = 25
SECONDS = 0.5
POWER = 0.5
#: Float64 operations per second outside the tensor cores, by vendor's data sheet.
PEAK = {"H100": 34e12, "H200": 34e12, "A100": 9.7e12}


def operations(name: str) -> float:
    """Additions and multiplications of one sweep at the default size, an exponential or logarithm
    counted as 30, a division as 10.

    Clustering, a row: S.y for every k and the update of two sums, then a logarithm, an exponential
    and a division a component. Binary attributes, a row: H y, P^-1 (H y) and the update of H, two
    rank-one updates of two K x K matrices with their products, then per bit the same functions and
    the update of two products. Low rank: the products with Y both ways, K x K factors and solves
    for every row, and the normals at 50 each.
    """
    (n, d), k = simulate(MODELS[name]).y.shape, MODELS[name].components
    functions = 30 + 30 + 10
    if name == "clustering":
        return n * (2 * k * d + 4 * d + k * (functions + 25))
    if name == "binary-attributes":
        return n * (
            2 * k * d
            + 2 * k * d
            + 2 * k * k
            + 2 * (4 * k * k + 6 * k * k)
            + k * (functions + 30 + 4 * k)
        )
    return 4 * n * k * d + 2 * n * k * k + n * (k**3 / 3 + 4 * k * k) + 50 * k * (n + d)


def sweep_seconds(name: str, chains: int) -> float:
    """Seconds per sweep of all chains, compilation apart."""
    model = MODELS[name]
    y = simulate(model).y
    program = Sweeps(model, y, np.full(len(y), POWER))

    def sweep(steps, seed):
        return run_chains(
            program, steps, chains=chains, seed=seed, stream="sweep", session=Session()
        ).run_seconds

    steps = max(2, int(SECONDS / (sweep(2, 0) / 2)))
    return min(sweep(steps, seed) for seed in (1, 2)) / steps


def elsewhere(names, sizes, **environment) -> dict[str, float]:
    """Sweeps a second by "model chains", measured in a process with other settings."""
    command = [
        sys.executable,
        __file__,
        "--only-rates",
        "--models",
        ",".join(names),
        "--chains",
        ",".join(map(str, sizes)),
    ]
    memory = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # this process has taken most of the card's
    done = subprocess.run(
        command,
        env=os.environ | memory | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def rates(names, sizes) -> dict[str, float]:
    found = {}
    for name in names:
        for chains in sizes:
            found[f"{name} {chains}"] = chains / sweep_seconds(name, chains)
            say(
                f"{jax.default_backend()} {name}, {chains:,} chains:"
                f" {number(found[f'{name} {chains}'])} sweeps/s"
            )
    return found


def ladder(name: str, lengths) -> list[list[str]]:
    """AIS as in the paper, 25 trials: RMSE is the testbed's business, here are seconds."""
    data, lines = simulate(MODELS[name]), []
    for distributions in lengths:
        found = estimate(MODELS[name], data, AIS(distributions), trials=TRIALS)
        line = [
            name,
            f"{distributions:,}",
            number(found.seconds.run),
            number(found.seconds.run / TRIALS),
            f"{found.log_ml:.2f}",
        ]
        lines.append(line)
        say(f"AIS {' '.join(line)}")
    return lines


def benchmark(options: argparse.Namespace) -> Report:
    on_gpu = jax.default_backend() == "gpu"
    most = CHAINS[-1] if on_gpu else MOST_ON_CPU
    names, lengths = options.models.split(","), [n for n in LADDER if n <= most]
    sizes = (
        [int(c) for c in options.chains.split(",")]
        if options.chains
        else [c for c in CHAINS if c <= most]
    )
    if options.smoke:
        names, sizes, lengths = names[:1], [10], [10]
    here = rates(names, sizes)
    plain, cpu = {}, {}
    if on_gpu:
        fused = [name for name in names if name != "low-rank"]
        plain = elsewhere(fused, sizes, BRACKETZ_FUSED="0") if fused else {}
        cpu = elsewhere(names, [c for c in sizes if c <= MOST_ON_CPU], JAX_PLATFORMS="cpu")
    kind = jax.devices()[0].device_kind
    peak = next((peak for card, peak in PEAK.items() if card in kind), None)
    rows, lines = [], []
    for name in names:
        for chains in sizes:
            key = f"{name} {chains}"
            rate = here[key]
            rows.append(Row("device", name, f"{chains:,} chains", rate, "sweeps/s"))
            lines.append(
                [
                    name,
                    f"{chains:,}",
                    number(rate),
                    f"{1e9 / rate:,.0f}",
                    number(rate / plain[key]) if key in plain else "",
                    number(rate / cpu[key]) if key in cpu else "",
                    f"{operations(name) * rate / peak:.1%}" if peak else "",
                ]
            )
    columns = [
        "model",
        "chains",
        "sweeps/s",
        "ns per sweep",
        "x plain scan",
        f"x its {os.cpu_count()} CPU cores",
        "of float64 peak",
    ]
    tables = [Table(f"device: {kind}", columns, lines)]
    ais = [line for name in names for line in ladder(name, lengths)]
    tables.append(
        Table(
            f"device: AIS, {TRIALS} trials",
            ["model", "distributions", "s", "s per trial", "log evidence"],
            ais,
        )
    )
    details = {
        "device": kind,
        "rates": here,
        "plain": plain,
        "cpu": cpu,
        "operations": {n: operations(n) for n in names},
    }
    return Report("device", rows, tables, details=details)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chains", help="with commas between")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument(
        "--only-rates", action="store_true", help="print nothing but the rates, as JSON"
    )


if __name__ == "__main__":
    if "--only-rates" in sys.argv:
        parser = argparse.ArgumentParser()
        options(parser)
        given = parser.parse_args()
        print(
            json.dumps(
                rates(given.models.split(","), [int(c) for c in given.chains.split(",") if c])
            )
        )
        sys.exit(0)
    sys.exit(main(benchmark, __doc__, options))
