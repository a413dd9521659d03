"""Do the answers keep their word? Against exact evidence, over hundreds of simulated data sets.

    python benchmarks/honesty.py [--json] [--smoke] [--seeds 300] [--jobs 2]
                                 [--only stopping,bars,certificates,width,betting] [--keep DIR]

- stopping: sandwiches of tiny instances to targets 1, 0.2 and 0.05. Of those that say converged,
  how often are both bounds within the target of the truth, how often do they cross by more than
  half of it, and what did they cost against the rule of version 0.1 (double the effort until the
  gap, noise and all, is small enough)?
- bars: how often one and two standard errors of the lower bound, the upper bound and Bennett's
  estimate cover the truth, with 2, 5, 25 and 100 chains.
- certificates: how often the 90 % certificate misses, with the ladder in front of it.
- width: of the 90 % certificate at the paper's size, 100 chains; and cost against 0.1's rule.
- betting: how often the betting bound exceeds the truth, and how far below it lies, for weights
  whose law is known, heavy tails included.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
from report import Report, Row, Table, at_least, at_most, main, say

import bracketz as bz
from bracketz.core.betting import betting_bound
from bracketz.core.results import Combine
from bracketz.core.weights import bennett, shared_start_error
from bracketz.engine.anneal import Forward, Reverse
from bracketz.engine.run import run_chains

TARGETS = (1.0, 0.2, 0.05)
CHAINS = (2, 5, 25, 100)
#: Tiny instances whose evidence is known, and two that are harder for their size: clusters far
#: apart, and the command of a user who was told "converged" with crossed bounds.
CASES = {
    "clustering": bz.Clustering().tiny(),
    "low-rank": bz.LowRank().tiny(),
    "binary-attributes": bz.BinaryAttributes().tiny(),
    "far apart": (
        bz.Clustering(3, center_variance=30.0, noise_variance=0.3, mixture=[0.6, 0.3, 0.1]),
        (6, 2),
    ),
    "seven rows": (bz.Clustering(3), (7, 3)),
}
PAPER = {
    "clustering": bz.Clustering(),
    "low-rank": bz.LowRank(),
    "binary-attributes": bz.BinaryAttributes(),
}
EFFORTS = {"tempered": (32, 512), "prefix": (1, 8)}


def sides(model, data, path, effort: int, chains: int, seed: int):
    """Log-weights of both directions at one effort."""
    laid, sweeps = path.at(effort, model, data.y.shape[0], 1)
    both = Forward(model, data.y, laid, sweeps), Reverse(model, data.y, laid, data.exact, sweeps)
    return [
        run_chains(
            program, laid.num_edges, chains=chains, seed=seed, stream=f"{name} {effort}"
        ).log_values
        for name, program in zip(("lower", "upper"), both, strict=True)
    ]


def first_lucky_rung(model, data, target: float, chains: int, seed: int) -> dict:
    """Version 0.1's rule: both directions, effort doubling, until the measured gap is small (or the
    effort is 65,536: where the start is shared it may never be)."""
    effort, sweeps = 32, 0
    while True:
        forward, reverse = sides(model, data, bz.Tempered(), effort, chains, seed)
        sweeps += 2 * chains * (effort - 1)
        lower, upper = Combine.ARITHMETIC(forward)[0], Combine.HARMONIC(reverse)[0]
        if upper - lower <= target or effort == 1 << 16:
            return {"old_lower": lower, "old_upper": upper, "old_sweeps": sweeps}
        effort *= 2


def stopping(case: str, seeds: range) -> Iterator[dict]:
    model, shape = CASES[case]
    for seed in seeds:
        data = bz.simulate(model, *shape, seed=seed)
        truth = model.exact_evidence(data.y)
        for target in TARGETS[: 2 if case == "far apart" else 3]:  # the last takes minutes there
            answer = bz.sandwich(model, data, gap=target, seed=seed, max_effort=1 << 17)
            old = first_lucky_rung(model, data, target, 25, seed)
            yield {
                "case": case,
                "target": target,
                "converged": answer.converged,
                "lower": answer.lower - truth,
                "upper": answer.upper - truth,
                "low": answer.certificate.low - truth,
                "high": answer.certificate.high - truth,
                "sweeps": answer.cost.deciding + answer.cost.measuring,
                "old_lower": old["old_lower"] - truth,
                "old_upper": old["old_upper"] - truth,
                "old_sweeps": old["old_sweeps"],
            }


def bars(case: str, seeds: range) -> Iterator[dict]:
    model, shape = CASES[case]
    for seed in seeds:
        data = bz.simulate(model, *shape, seed=seed)
        truth = model.exact_evidence(data.y)
        for path in (bz.Tempered(), bz.Prefix()):
            for effort in EFFORTS[path.name]:
                both = sides(model, data, path, effort, max(CHAINS), seed)
                for chains in CHAINS:
                    forward, reverse = (values[:chains] for values in both)
                    lower, lower_error = Combine.ARITHMETIC(forward)
                    upper, own = Combine.HARMONIC(reverse)
                    shared = shared_start_error(forward, reverse, path.refines)
                    point = bennett(forward, reverse)
                    yield {
                        "case": case,
                        "path": f"{path.name} {effort}",
                        "chains": chains,
                        "lower": abs(lower - truth) / lower_error,
                        "upper": abs(upper - truth) / math.hypot(own, shared),
                        "bennett": abs(point.log_ml - truth) / point.standard_error,
                    }


def certificates(case: str, seeds: range) -> Iterator[dict]:
    model, shape = CASES[case]
    for seed in seeds:
        data = bz.simulate(model, *shape, seed=seed)
        truth = model.exact_evidence(data.y)
        for chains in (2, 100):
            for target in (4.0, 0.2):
                c = bz.sandwich(model, data, gap=target, chains=chains, seed=seed).certificate
                yield {
                    "case": case,
                    "chains": chains,
                    "below": c.high < truth,
                    "above": c.low > truth,
                    "width": c.high - c.low,
                }


def width(case: str, seeds: range) -> Iterator[dict]:
    model = PAPER[case]
    for seed in seeds:
        data = bz.simulate(model, seed=seed)
        wide = bz.sandwich(model, data, chains=100, seed=seed)
        plain = bz.sandwich(model, data, seed=seed)
        old = first_lucky_rung(model, data, 1.0, 25, seed)
        yield {
            "case": case,
            "seed": seed,
            "width": wide.certificate.high - wide.certificate.low,
            "converged": plain.converged,
            "gap": plain.gap,
            "certificate": plain.certificate.high - plain.certificate.low,
            "sweeps": plain.cost.deciding + plain.cost.measuring,
            "deciding": plain.cost.deciding,
            "old_sweeps": old["old_sweeps"],
            "old_gap": old["old_upper"] - old["old_lower"],
        }


#: Weights of mean 1 by (generator, size).
LAWS = {
    "log-normal, s.d. 0.3": lambda rng, n: rng.normal(-0.045, 0.3, n),
    "log-normal, s.d. 1": lambda rng, n: rng.normal(-0.5, 1.0, n),
    "log-normal, s.d. 3": lambda rng, n: rng.normal(-4.5, 3.0, n),
    "Pareto, index 1.2": lambda rng, n: rng.exponential(1 / 1.2, n) + np.log(0.2 / 1.2),
    "0 or 20": lambda rng, n: np.where(rng.random(n) < 0.05, np.log(20.0), -np.inf),
}


def betting(case: str, seeds: range) -> Iterator[dict]:
    for seed in seeds:
        rng = np.random.default_rng([seed, list(LAWS).index(case)])
        for chains in (2, 25, 100, 1000):
            bound = betting_bound(LAWS[case](rng, chains), 0.05)
            yield {"case": case, "chains": chains, "bound": bound}


STUDIES = {
    "stopping": (stopping, CASES, 1),
    "bars": (bars, CASES, 1),
    "certificates": (certificates, CASES, 1),
    "width": (width, PAPER, 0.01),
    "betting": (betting, LAWS, 10),
}


def share(values) -> float:
    """In per cent."""
    values = list(values)
    return 100 * float(np.mean(values)) if values else math.nan


def by(found: list[dict], *keys: str) -> dict[tuple, list[dict]]:
    """Grouped, in the order of appearance."""
    groups: dict[tuple, list[dict]] = {}
    for row in found:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def judge_stopping(found) -> tuple[list[Row], Table]:
    rows, lines = [], []
    for (case, target), group in by(found, "case", "target").items():
        done = [r for r in group if r["converged"]]
        within = share(max(abs(r["lower"]), abs(r["upper"])) <= target for r in done)
        crossed = share(r["lower"] - r["upper"] > target / 2 for r in done)
        old_within = share(max(abs(r["old_lower"]), abs(r["old_upper"])) <= target for r in group)
        old_crossed = share(r["old_lower"] - r["old_upper"] > target / 2 for r in group)
        cost = sum(r["sweeps"] for r in group) / sum(r["old_sweeps"] for r in group)
        optimism = np.mean([math.exp(r["lower"]) for r in group])
        mirrored = np.mean([math.exp(-r["upper"]) for r in group])
        lines.append(
            [
                case,
                f"{target:g}",
                f"{share(r['converged'] for r in group):.0f} %",
                f"{within:.1f} %",
                f"{crossed:.1f} %",
                f"{optimism:.2f} / {mirrored:.2f}",
                f"{cost:.1f}",
                f"{old_within:.1f} %",
                f"{old_crossed:.1f} %",
            ]
        )
        name = f"{case}, target {target:g}"
        rows += [
            Row("honesty", name, "both bounds within the target", within, "%", at_least(95)),
            Row("honesty", name, "crossed by over half of it", crossed, "%", at_most(2)),
            Row("honesty", name, "cost over 0.1's rule", cost, "x", at_most(1.5, stretch=True)),
        ]
    columns = ["case", "target", "converged", "within", "crossed", "E e^(lower - truth) / mirrored",
               "cost over 0.1", "0.1: within", "0.1: crossed"]  # fmt: skip
    return rows, Table("stopping: decide, then measure", columns, lines)


def judge_bars(found) -> tuple[list[Row], Table]:
    rows, lines = [], []
    for (case, path), group in by(found, "case", "path").items():
        cells = []
        for (chains,), few in by(group, "chains").items():
            both = {
                what: [share(r[what] <= k for r in few) for k in (1, 2)]
                for what in ("lower", "upper", "bennett")
            }
            cells.append("  ".join(f"{a:.0f}/{b:.0f}" for a, b in both.values()))
            for what, (_, two) in both.items():
                name = f"{case}, {path}, {chains} chains"
                rows.append(Row("honesty", name, f"{what}, two s.e.", two, "%", at_least(90)))
        lines.append([case, path, *cells])
    columns = ["case", "path", *(f"{n} chains" for n in CHAINS)]
    title = "bars: one/two standard errors cover, in %: lower, upper, Bennett"
    return rows, Table(title, columns, lines)


def judge_certificates(found) -> tuple[list[Row], Table]:
    rows, lines = [], []
    for (case, chains), group in by(found, "case", "chains").items():
        missed = share(r["below"] or r["above"] for r in group)
        middle = float(np.median([r["width"] for r in group]))
        lines.append([case, str(chains), f"{missed:.1f} %", f"{middle:.2f}", str(len(group))])
        name = f"{case}, {chains} chains"
        rows.append(Row("honesty", name, "90 % certificate misses", missed, "%", at_most(10)))
    columns = ["case", "chains", "missed", "median width", "runs"]
    return rows, Table("certificates: after a ladder", columns, lines)


def judge_width(found) -> tuple[list[Row], Table]:
    rows, lines = [], []
    for (case,), group in by(found, "case").items():
        widths = [r["width"] for r in group]
        cost = sum(r["sweeps"] for r in group) / sum(r["old_sweeps"] for r in group)
        deciding = sum(r["deciding"] for r in group) / sum(r["sweeps"] for r in group)
        lines.append(
            [
                case,
                f"{np.median(widths):.2f}",
                f"{max(widths):.2f}",
                f"{np.median([r['certificate'] for r in group]):.2f}",
                f"{sum(r['converged'] for r in group)} of {len(group)}",
                f"{cost:.2f}",
                f"{100 * deciding:.0f} %",
                " ".join(f"{r['gap']:.2f}" for r in group),
                " ".join(f"{r['old_gap']:.2f}" for r in group),
            ]
        )
        middle, goal = float(np.median(widths)), at_most(1.5, stretch=True)
        rows += [
            Row("honesty", case, "width with 100 chains", middle, "nats", at_most(3.3)),
            Row("honesty", case, "cost over 0.1's rule, 25 chains", cost, "x", goal),
        ]
    columns = ["model", "median width, 100 chains", "largest", "with 25", "converged",
               "cost over 0.1", "deciding", "gaps", "0.1's gaps"]  # fmt: skip
    return rows, Table("width: 90 % certificate at the paper's size", columns, lines)


def judge_betting(found) -> tuple[list[Row], Table]:
    rows, lines = [], []
    for (case,), group in by(found, "case").items():
        cells = []
        for (chains,), few in by(group, "chains").items():
            above = share(r["bound"] > 0 for r in few)
            middle = -float(np.median([r["bound"] for r in few]))
            cells.append(f"{middle:.2f} ({above:.1f} %)")
            name = f"{case}, {chains} chains"
            rows.append(Row("honesty", name, "bound above the truth", above, "%", at_most(5)))
        lines.append([case, *cells])
    columns = ["weights", *(f"{n} chains" for n in (2, 25, 100, 1000))]
    title = "betting: median distance below the truth in nats (how often above it; 5 % allowed)"
    return rows, Table(title, columns, lines)


JUDGES = {
    "stopping": judge_stopping,
    "bars": judge_bars,
    "certificates": judge_certificates,
    "width": judge_width,
    "betting": judge_betting,
}


def work(study: str, case: str, first: int, last: int, file: str) -> None:
    """One part of a study, in a process of its own: rows as JSON lines."""
    import json

    function, _, _ = STUDIES[study]
    rows = [json.dumps(r, default=lambda v: v.item()) for r in function(case, range(first, last))]
    Path(file).write_text("\n".join(rows))  # only when it is complete


def run(options: argparse.Namespace) -> Report:
    import json

    chosen = options.only.split(",")
    parts = []
    for study in chosen:
        _, cases, factor = STUDIES[study]
        seeds = 4 if options.smoke else max(1, int(factor * options.seeds))
        if options.smoke and study == "width":
            cases, seeds = ["clustering"], 1
        piece = {"width": 1, "betting": 500}.get(study, 100)
        cuts = [*range(0, seeds, piece), seeds]
        parts += [(study, c, a, b) for c in cases for a, b in pairwise(cuts)]
    # The dear ones first.
    parts.sort(key=lambda part: ("binary" in part[1], part[1] == "far apart"), reverse=True)
    cores = sorted(os.sched_getaffinity(0))
    found: dict[str, list[dict]] = {study: [] for study in chosen}
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        files = [str(folder / f"{' '.join(map(str, part))}.jsonl") for part in parts]

        def one(i):
            study, case, first, last = parts[i]
            if Path(files[i]).exists():
                return
            mine = [cores[(i + k) % len(cores)] for k in range(2 if study == "width" else 1)]
            code = (
                f"import os; os.sched_setaffinity(0, {mine}); import honesty;"
                f" honesty.work({study!r}, {case!r}, {first}, {last}, {files[i]!r})"
            )
            subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
            say(f"{study}, {case}, data sets {first} to {last - 1}")

        if options.smoke:  # no process of its own: it is only to see that it runs
            for (study, case, first, last), file in zip(parts, files, strict=True):
                work(study, case, first, last, file)
        else:
            list(pool.map(one, range(len(parts))))
        for (study, *_), file in zip(parts, files, strict=True):
            found[study] += [json.loads(line) for line in Path(file).read_text().splitlines()]
    rows, tables = [], []
    for study in chosen:
        more, table = JUDGES[study](found[study])
        rows += more
        tables.append(table)
    return Report("honesty", rows, tables)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default=",".join(STUDIES), help="studies, with commas between")
    parser.add_argument("--seeds", type=int, default=300, help="data sets of each case")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", type=Path, help="keep finished parts here, and go on from them")


if __name__ == "__main__":
    sys.exit(main(run, __doc__, options))
