"""How time and memory grow with rows, columns, components, distributions and chains.

    python benchmarks/growth.py [--json] [--smoke] [--plot benchmarks/results/growth.png]

One size grows at a time, the others stay at the paper's. Rows, columns and components: a sweep of
16 chains, seconds per sweep and chain. Distributions and chains: an annealing run of AIS, seconds
in all. Memory is what the compiled program asks for beside the program itself (arguments, result
and scratch, of one device); the loop takes its length as a number, so distributions cost none.

The slope on log axes is taken between the two largest sizes. Expected: the exponent of the model's
docstring, reached from below as the term that grows fastest takes over (a fixed cost per row or per
step makes it flatter). A slope more than 0.25 above the expected one is a surprise. Last, 100,000
rows of clustering data in a process of its own: one sweep of one chain, and one edge of AIS with 25
chains, with the most memory the process held until then.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from programs import Sweeps
from report import Report, Row, Table, at_most, main, number, say

from bracketz import AIS, Clustering, estimate, simulate
from bracketz.engine.anneal import Forward
from bracketz.engine.run import Program, compile_together, run_chains, stages
from bracketz.engine.session import Session
from bracketz.models.registry import MODELS, SHIPPED
from bracketz.paths import Tempered

SWEEP_CHAINS = 16
AXES = {
    "rows": (50, 400, 3200, 12_800),
    "columns": (25, 200, 1600),
    "components": (4, 8, 16),
    "distributions": (32, 256, 2048),
    "chains": (4, 32, 256),
}
SMOKE_AXES = {"rows": (8, 16), "distributions": (4, 8)}
#: Exponents of the docstrings: O(N K D), O(N K D + K^3), O(N K (K + D)).
COMPONENTS_EXPONENT = {"clustering": 1, "low-rank": 3, "binary-attributes": 2}
MEMORY_EXPONENT = {"rows": 1, "columns": 1, "components": 2, "distributions": 0, "chains": 1}
SURPRISE = 0.25
RUN_DISTRIBUTIONS = 128
ENOUGH_SECONDS, REPEATS = 0.15, 3
MANY_ROWS = 100_000
#: A matrix of rows by rows would be 4,000 times the data; K x D numbers per row would be 10 times.
MANY_ROWS_TIME, MANY_ROWS_MEMORY = 1.5, 16.0


class Point(NamedTuple):
    """One size, measured."""

    size: int
    seconds: float
    bytes: float


class Line(NamedTuple):
    """One model along one axis."""

    model: str
    axis: str
    points: tuple[Point, ...]

    def expected(self, what: str) -> float:
        if what == "bytes":
            return MEMORY_EXPONENT[self.axis]
        return COMPONENTS_EXPONENT[self.model] if self.axis == "components" else 1

    def slope(self, what: str) -> float:
        """On log axes, between the two largest sizes."""
        a, b = self.points[-2:]
        return math.log(getattr(b, what) / getattr(a, what)) / math.log(b.size / a.size)


def program_at(name: str, axis: str, size: int) -> tuple[Program, int, int]:
    """(program, steps that one measured unit takes, chains)."""
    model = SHIPPED.find(name)(**({"components": size} if axis == "components" else {}))
    data = simulate(model, **({axis: size} if axis in ("rows", "columns") else {}))
    if axis in ("distributions", "chains"):
        distributions = size if axis == "distributions" else RUN_DISTRIBUTIONS
        chains = size if axis == "chains" else SWEEP_CHAINS
        return Forward(model, data.y, Tempered().through(distributions)), distributions - 1, chains
    return Sweeps(model, data.y, np.full(len(data.y), 0.5)), 1, SWEEP_CHAINS


def bytes_of(program: Program, chains: int) -> float:
    needs = stages(program, chains=chains)["advance"].compile().memory_analysis()
    # The result lies where the chains came in (they are donated), so it is not counted twice.
    return (
        needs.argument_size_in_bytes
        + needs.temp_size_in_bytes
        + needs.output_size_in_bytes
        - needs.alias_size_in_bytes
    )


def seconds_of(program: Program, unit: int, chains: int) -> float:
    """Seconds for ``unit`` steps of all chains; the fastest of a few runs, each long enough to be
    read off a clock."""

    def timed(units: int) -> float:
        return (
            run_chains(
                program, units * unit, chains=chains, seed=0, stream="growth", session=Session()
            ).run_seconds
            / units
        )

    timed(1)
    once = timed(1)
    units = max(1, math.ceil(ENOUGH_SECONDS / once))
    return min(timed(units) for _ in range(REPEATS))


def measure(name: str, axis: str, sizes: tuple[int, ...]) -> Line:
    cases = [program_at(name, axis, size) for size in sizes]
    for chains in sorted({chains for _, _, chains in cases}):
        # Distributions are a number to the program: one stands for all.
        same = [p for p, _, c in cases if c == chains]
        compile_together(same[:1] if axis == "distributions" else same, chains=chains)
    points = []
    for size, (program, unit, chains) in zip(sizes, cases, strict=True):
        seconds = seconds_of(program, unit, chains)
        if axis not in ("distributions", "chains"):
            seconds /= chains
        points.append(Point(size, seconds, bytes_of(program, chains)))
    line = Line(name, axis, tuple(points))
    say(
        f"{name} {axis}: time grows by power {line.slope('seconds'):.2f}, memory"
        f" {line.slope('bytes'):.2f}"
    )
    return line


# Many rows.


def most_memory() -> int:
    """The most bytes this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would also count the process that started this one
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(peak.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def many_rows(rows: int) -> dict[str, Any]:
    """In this process: clustering data with many rows, one sweep (and one of a tenth of the rows),
    one edge of 25 chains."""
    model = Clustering()
    simulate(model, 8, 4)  # JAX and its first programs
    memory = [most_memory()]
    clock = time.perf_counter()
    data = simulate(model, rows)
    simulating = time.perf_counter() - clock
    memory.append(most_memory())

    def one_sweep(y):
        program = Sweeps(model, y, np.full(len(y), 0.5))
        outcomes = [
            run_chains(program, 1, chains=1, seed=0, stream="growth", session=Session())
            for _ in range(REPEATS)
        ]
        return min(outcome.run_seconds for outcome in outcomes), outcomes[0].compile_seconds

    sweep, sweep_compiling = one_sweep(data.y)
    memory.append(most_memory())
    tenth, _ = one_sweep(data.y[: rows // 10])
    edge = estimate(model, data, AIS(distributions=2), trials=25)
    memory.append(most_memory())
    return {
        "rows": rows,
        "data_bytes": data.y.nbytes,
        "memory": memory,
        "simulating": simulating,
        "sweep": sweep,
        "sweep_compiling": sweep_compiling,
        "sweep_of_a_tenth": tenth,
        "edge": edge.seconds.run,
        "edge_compiling": edge.seconds.compile,
    }


def many_rows_apart(rows: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", str(rows)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


# What comes out.


def rows_of(axis: str, lines: list[Line]) -> list[Row]:
    """The worst model along an axis."""
    rows = []
    for what, word in (("seconds", "time"), ("bytes", "memory")):
        worst = max(lines, key=lambda line: line.slope(what) - line.expected(what))
        note = f"{worst.model}: {worst.slope(what):.2f}, expected {worst.expected(what)}"
        excess = worst.slope(what) - worst.expected(what)
        rows.append(
            Row(
                "growth",
                f"{word} against {axis}",
                "power above the expected, at worst",
                excess,
                "",
                at_most(SURPRISE),
                note,
            )
        )
    return rows


def many_rows_table(many: dict[str, Any]) -> Table:
    loaded, *later = (f"{value / 1e6:,.0f}" for value in many["memory"])
    size = f"{many['rows']:,} rows of clustering data, {many['data_bytes'] / 1e6:.0f} MB"
    title = f"growth: {size}; {loaded} MB held before"
    seconds = [
        ["simulate", number(many["simulating"]), ""],
        ["one sweep, 1 chain", number(many["sweep"]), f"{many['sweep_compiling']:.1f}"],
        ["one edge of AIS, 25 chains", number(many["edge"]), f"{many['edge_compiling']:.1f}"],
    ]
    lines = [[*line, held] for line, held in zip(seconds, later, strict=True)]
    return Table(title, ["step", "seconds", "compiling s", "most MB held"], lines)


def many_rows_goals(many: dict[str, Any]) -> list[Row]:
    case = f"clustering, {many['rows']:,} rows"
    loaded, _, swept, _ = many["memory"]
    linear = many["sweep"] / (10 * many["sweep_of_a_tenth"])
    beyond = (swept - loaded) / many["data_bytes"]
    return [
        Row(
            "growth", case, "a sweep, in sweeps of ten tenths", linear, "x", at_most(MANY_ROWS_TIME)
        ),
        Row(
            "growth",
            case,
            "memory to simulate and sweep, in data",
            beyond,
            "x",
            at_most(MANY_ROWS_MEMORY),
        ),
    ]


def picture(lines: list[Line], path: Path) -> None:
    """Seconds above, memory below, one column per axis; dashed: the expected slope, through the
    last point."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(MODELS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
    axes = list(dict.fromkeys(line.axis for line in lines))
    figure, grid = plt.subplots(
        2, len(axes), figsize=(3.2 * len(axes), 6), sharex="col", constrained_layout=True
    )
    for column, axis in enumerate(axes):
        for place, (what, scale) in enumerate((("seconds", 1e3), ("bytes", 1e-6))):
            frame = grid[place, column]
            for line in (each for each in lines if each.axis == axis):
                sizes = np.array([p.size for p in line.points], float)
                values = scale * np.array([getattr(p, what) for p in line.points])
                frame.loglog(sizes, values, "o-", ms=4, color=colours[line.model], label=line.model)
                guide = values[-1] * (sizes / sizes[-1]) ** line.expected(what)
                shown = guide > values.min() / 10
                frame.loglog(
                    sizes[shown], guide[shown], "--", lw=1, color=colours[line.model], alpha=0.6
                )
            low, high = np.log10(frame.get_ylim())
            frame.set_ylim(
                10 ** np.floor(low), 10 ** np.ceil(high)
            )  # whole decades, so that each has a tick
            frame.grid(alpha=0.3)
            frame.minorticks_off()
            frame.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], fontsize=8)
        grid[1, column].set_xlabel(axis)
        grid[0, column].set_title(
            "a sweep and chain" if axis in ("rows", "columns", "components") else "a run of AIS",
            fontsize=9,
        )
    grid[0, 0].set_ylabel("milliseconds")
    grid[1, 0].set_ylabel("megabytes")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        title="dashed: expected slope",
        fontsize=9,
        title_fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def benchmark(options: argparse.Namespace) -> Report:
    axes = SMOKE_AXES if options.smoke else AXES
    names = ["clustering"] if options.smoke else list(MODELS)
    lines = [measure(name, axis, sizes) for name in names for axis, sizes in axes.items()]
    many = many_rows_apart(100 if options.smoke else MANY_ROWS)
    picture(lines, options.plot)
    rows = [
        row for axis in axes for row in rows_of(axis, [line for line in lines if line.axis == axis])
    ]
    rows += many_rows_goals(many)
    table = Table(
        "growth: smallest and largest size",
        [
            "model",
            "axis",
            "sizes",
            "ms",
            "ms",
            "power",
            "expected",
            "MB",
            "MB",
            "power",
            "expected",
        ],
        [
            [
                line.model,
                line.axis,
                f"{line.points[0].size:,} to {line.points[-1].size:,}",
                *(number(1e3 * p.seconds) for p in (line.points[0], line.points[-1])),
                f"{line.slope('seconds'):.2f}",
                f"{line.expected('seconds')}",
                *(number(p.bytes / 1e6) for p in (line.points[0], line.points[-1])),
                f"{line.slope('bytes'):.2f}",
                f"{line.expected('bytes')}",
            ]
            for line in lines
        ],
    )
    details = {
        "many_rows": many,
        "lines": [
            {"model": line.model, "axis": line.axis, "points": [p._asdict() for p in line.points]}
            for line in lines
        ],
    }
    return Report(
        "growth", rows, [table, many_rows_table(many)], [f"picture: {options.plot}"], details
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plot", type=Path, default=Path(__file__).parent / "results" / "growth.png"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(many_rows(int(sys.argv[2]))))
        sys.exit(0)
    sys.exit(main(benchmark, __doc__, options))
