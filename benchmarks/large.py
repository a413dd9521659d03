"""A thousand dimensions: both bounds, time and memory against the dimension.

    python benchmarks/large.py [--json] [--smoke] [--full] [--plot FILE]
                               [--sides 32,40] [--groups 1000] [--pines 40]

A log-Gaussian Cox process on grids from 8 x 8 to 32 x 32 cells (``--full``: 40 x 40, too) and
grouped logistic regression with up to 1,000 groups, on data simulated from each: certified. Grouped
logistic regression has its evidence by quadrature. Then the 126 Finnish pines, observed: the lower
end of an interval is certified, the upper end conditional; on a 16 x 16 grid, with ``--full`` on
32 x 32 and 40 x 40. Goals: a gap below 1 nat, and that of a single chain on average below 2.

``--full`` is sized for a card. Memory is the most the process (on a card: the device) has held so
far, so that only differences between rows say something.
"""

import resource
import sys
import time
from pathlib import Path

import jax
import numpy as np
from report import Report, Row, Table, at_most, main

import bracketz as bz

PINES = Path(__file__).parents[1] / "examples" / "large" / "finnish_pines.csv"
GRIDS, FULL_GRIDS = (8, 16, 24, 32), (8, 16, 24, 32, 40)
GROUPS = (64, 250, 1000)
PINES_GRIDS, FULL_PINES_GRIDS = (16,), (32, 40)
#: Distributions and chains in each direction.
DISTRIBUTIONS, CHAINS = 400, 16
#: Nats: the bounds, and a chain by itself on average.
WITHIN, SINGLE = 1.0, 2.0


def memory() -> float:
    """Megabytes, the most so far."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return (device.memory_stats() or {}).get("peak_bytes_in_use", np.nan) / 1e6
    kilo = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilo / 1e6


def run(options) -> Report:
    rows: list[Row] = []
    lines: list[list[str]] = []
    drawn: list[tuple] = []
    grids, groups = (FULL_GRIDS if options.full else GRIDS), GROUPS
    pines = FULL_PINES_GRIDS if options.full else PINES_GRIDS
    distributions = DISTRIBUTIONS
    grids, groups, pines = (
        tuple(int(k) for k in said.split(",") if int(k)) if said else usual
        for said, usual in (
            (options.sides, grids),
            (options.groups, groups),
            (options.pines, pines),
        )
    )
    if options.smoke:
        grids, groups, pines, distributions = (2,), (4,), (2,), 8
    models = [(f"cox {k} x {k}", k * k, bz.CoxProcess(rows=k, columns=k)) for k in grids]
    models += [(f"grouped logistic, {k}", k + 2, bz.GroupedLogistic(groups=k)) for k in groups]
    for case, dimension, model in models:
        data = bz.simulate(model, seed=1)
        began = time.perf_counter()
        answer = bz.sandwich(
            model, data, gap=WITHIN, chains=CHAINS, first=distributions, max_effort=distributions
        )
        seconds, held = time.perf_counter() - began, memory()
        exact = isinstance(model, bz.ExactEvidence) and model.exact_evidence(data.y)
        add(rows, lines, case, dimension, answer, seconds, held, exact or None)
        drawn.append((case.split()[0], dimension, answer.seconds.run, held))
        print(lines[-1], file=sys.stderr, flush=True)
    observed = [on_pines(rows, k, distributions) for k in pines]
    columns = ["model", "d", "exact", "lower", "upper", "gap", "single-chain gap", "begins at"]
    columns += ["leapfrog acceptance", "run s", "all s", "MB so far"]
    platform = jax.devices()[0].platform
    title = f"log evidence, {distributions} distributions x {CHAINS} chains each way, on {platform}"
    names = ["grid", "log evidence", "95 % interval", "upper end is", "distance", "run s", "all s"]
    tables = [Table(title, columns, lines), Table("the 126 Finnish pines", names, observed)]
    if options.plot:
        draw(drawn, options.plot, platform)
    return Report("large", rows, tables)


def add(rows, lines, case, dimension, answer, seconds, held, exact) -> None:
    rows += [
        Row("large", case, "gap", abs(answer.gap), "nats", at_most(WITHIN)),
        Row("large", case, "gap of single chains", answer.jeffreys_bound, "nats", at_most(SINGLE)),
        Row("large", case, "run", answer.seconds.run, "s"),
    ]
    if exact is not None:
        off = max(abs(answer.lower - exact), abs(answer.upper - exact))
        rows.append(Row("large", case, "a bound off the exact value", off, "nats", at_most(WITHIN)))
    lines.append(
        [
            case,
            str(dimension),
            "" if exact is None else f"{exact:.2f}",
            f"{answer.lower:.2f}",
            f"{answer.upper:.2f}",
            f"{answer.gap:.2f}",
            f"{answer.jeffreys_bound:.2f}",
            answer.preparation["begins_at"],
            f"{np.mean(answer.reports['acceptance']):.2f}",
            f"{answer.seconds.run:.1f}",
            f"{seconds:.1f}",
            f"{held:,.0f}",
        ]
    )


def on_pines(rows, side: int, distributions: int) -> list[str]:
    """Observed data: no exact sample."""
    model = bz.CoxProcess(rows=side, columns=side)
    counts = model.counts(np.loadtxt(PINES, delimiter=",", skiprows=1))
    began = time.perf_counter()
    answer = bz.evidence(
        model,
        counts,
        gap=WITHIN,
        twins=0,
        starts=4,
        chains=16,
        first=distributions,
        max_effort=distributions,
    )
    seconds, end = time.perf_counter() - began, answer.interval.high
    if end is not None:
        wide = end - answer.interval.low
        rows.append(Row("large", f"pines {side} x {side}", "width of the interval", wide, "nats"))
    line = [
        f"{side} x {side}",
        f"{answer.log_ml:.2f} ± {answer.standard_error:.2f}",
        f"[{answer.interval.low:.2f}, {'no bound' if end is None else f'{end:.2f}'}]",
        answer.kind,
        f"{answer.total_variation:.1e}",
        f"{answer.seconds.run:.1f}",
        f"{seconds:.1f}",
    ]
    print(line, file=sys.stderr, flush=True)
    return line


def draw(drawn, path: Path, platform: str) -> None:
    """Time and memory against the dimension."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for kind, marker in (("cox", "o-"), ("grouped", "s-")):
        found = np.array([row[1:] for row in drawn if row[0] == kind])
        if len(found):
            left.loglog(found[:, 0], found[:, 1], marker, label=kind)
        if len(found) and kind == "cox":  # the first: later ones stand on what it has left behind
            right.semilogx(found[:, 0], found[:, 2], marker, label=kind)
    left.set(xlabel="dimension", ylabel="seconds, both directions", title=f"Time ({platform})")
    right.set(xlabel="dimension", ylabel="MB, the most so far", title=f"Memory, cox ({platform})")
    left.legend()
    figure.savefig(path, dpi=110)
    print(f"wrote {path}", file=sys.stderr)


def options(parser) -> None:
    parser.add_argument("--full", action="store_true", help="larger grids, for a card")
    for name in ("sides", "groups", "pines"):
        parser.add_argument(f"--{name}", help="other sizes, with commas between; 0: none")
    parser.add_argument("--plot", type=Path, help="draw time and memory into this file")


if __name__ == "__main__":
    raise SystemExit(main(run, __doc__, options))
