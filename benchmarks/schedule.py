"""What a single-chain gap of 1 nat takes, by kernel and schedule: distributions, and seconds for
all chains both ways.

    python benchmarks/schedule.py [--json] [--smoke] [--models clustering,low-rank] [--seeds 1]
                                  [--chains 50] [--gap 1] [--pilot 256]

The single-chain gap is the Jeffreys bound. A short rung predicts the effort (gap times edges is
nearly constant), a rung at that effort measures the gap there, and the last few per cent to the
goal are taken by the same proportion; the measured gap and its standard error over chains are
printed, so that the size of the step and of the noise is seen; cheap models have more chains.
Seconds are the rung's (compilation and pilot apart, the pilot in its own column). Ratios are to the
model's first line on the same data: the default kernel on the sigmoid.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np
from report import Report, Row, Table, main, say

from bracketz import BinaryAttributes, Clustering, LowRank, sandwich, simulate
from bracketz.core.model import Model
from bracketz.engine.schedule import predict
from bracketz.paths import Adapted, Tempered, schedule_named
from bracketz.paths.schedules import SCHEDULES

SHORT = 256
#: Chains each way.
CHAINS = {"clustering": 800, "low-rank": 200, "binary-attributes": 50}


class Case(NamedTuple):
    model: Model
    kernel: str
    schedule: str


def _on(model: Model, kernel: str, *schedules: str) -> list[Case]:
    return [Case(model, kernel, schedule) for schedule in schedules]


#: By model, the plain case first.
CASES = {
    "clustering": _on(Clustering(), "gibbs", *SCHEDULES),
    "low-rank": _on(LowRank(), "gibbs", *SCHEDULES),
    "binary-attributes": [
        *_on(BinaryAttributes(), "bits", *SCHEDULES),
        *_on(BinaryAttributes(row_update="flips"), "flips", "sigmoid", "adapted"),
    ],
}


def measure(name: str, case: Case, data_seed: int, chains: int, goal: float, pilot: int) -> dict:
    """One row of the table."""
    model, kernel, schedule = case
    data = simulate(model, seed=data_seed)

    path = Tempered(schedule_named(schedule, pilot=pilot))

    def rung(distributions: int):
        # Nothing to decide: one measurement, of the size asked for.
        size = {"first": distributions, "max_effort": distributions}
        return sandwich(model, data, path=path, chains=chains, **size)

    short = rung(SHORT)
    answer = rung(predict(short.jeffreys_bound, goal, SHORT))
    last = answer.looks[-1]
    pilot_seconds = answer.pilot.seconds if answer.pilot else 0.0
    per_edge = (answer.seconds.run - pilot_seconds) / (answer.distributions - 1)
    distributions = predict(answer.jeffreys_bound, goal, answer.distributions)
    assert answer.split is not None
    row = {
        "model": name,
        "kernel": kernel,
        "schedule": schedule,
        "data_seed": data_seed,
        "chains": chains,
        "distributions": distributions,
        "seconds": (distributions - 1) * per_edge,
        "pilot_seconds": pilot_seconds,
        "predicted": answer.distributions,
        "gap": answer.jeffreys_bound,
        "gap_error": float(np.sqrt((np.var(last.forward) + np.var(last.reverse)) / chains)),
        "schedule_cost": answer.split.schedule,
        "mixing_cost": answer.split.mixing,
    }
    say(f"{name}, {kernel}, {schedule}: {distributions:,} distributions")
    return row


def rows(models, seeds: int, chains: int | None, goal: float, pilot: int) -> list[dict]:
    """All rows; ratios are to the first case of a model on the same data."""
    out = []
    for name in models:
        for seed in range(seeds):
            found = [
                measure(name, case, seed, chains or CHAINS[name], goal, pilot)
                for case in CASES[name]
            ]
            plain = found[0]
            for row in found:
                row["distributions_ratio"] = row["distributions"] / plain["distributions"]
                row["seconds_ratio"] = (row["seconds"] + row["pilot_seconds"]) / plain["seconds"]
            out += found
    return out


def table(found: list[dict], goal: float) -> Table:
    lines = [
        [
            r["model"],
            r["kernel"],
            r["schedule"],
            str(r["data_seed"]),
            str(r["chains"]),
            f"{r['distributions']:,}",
            f"{r['distributions_ratio']:.2f}",
            f"{r['seconds']:.2f}",
            f"{r['pilot_seconds']:.2f}",
            f"{r['seconds_ratio']:.2f}",
            f"{r['gap']:.2f} ± {r['gap_error']:.2f}",
            f"{r['schedule_cost']:.2f} / {r['mixing_cost']:.2f}",
        ]
        for r in found
    ]
    columns = [
        "model",
        "kernel",
        "schedule",
        "data",
        "chains",
        "distributions",
        "ratio",
        "s",
        "pilot s",
        "ratio",
        "gap there",
        "schedule / mixing",
    ]
    return Table(
        f"schedule: to a single-chain gap of {goal:g} nat, so many chains each way", columns, lines
    )


def benchmark(options: argparse.Namespace) -> Report:
    models, chains, goal = options.models.split(","), options.chains, options.gap
    if options.smoke:
        models, chains, goal = models[:1], 4, 50.0
    found = rows(models, options.seeds, chains, goal, options.pilot)
    judged = [
        Row("schedule", f"{r['model']}, {r['kernel']}, {r['schedule']}", quantity, r[key], "x")
        for r in found
        for quantity, key in (
            ("distributions / plain", "distributions_ratio"),
            ("seconds / plain", "seconds_ratio"),
        )
    ]
    details = {"gap": goal, "pilot": options.pilot, "rows": found}
    return Report("schedule", judged, [table(found, goal)], details=details)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--seeds", type=int, default=1, help="data sets")
    parser.add_argument("--chains", type=int, help="each way, for every model")
    parser.add_argument("--gap", type=float, default=1.0, help="the goal, nats")
    parser.add_argument(
        "--pilot",
        type=int,
        default=Adapted.pilot,
        help="distributions of the adapted schedule's pilot",
    )


if __name__ == "__main__":
    sys.exit(main(benchmark, __doc__, options))
