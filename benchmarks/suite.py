"""All benchmarks, one after the other, each in a process of its own: ``make bench``.

    python benchmarks/suite.py [--only paper,startup] [--smoke] [--out FILE]

Prints every table, then one summary of ratios and goals, and writes everything into one JSON file.
Exit code 0: every goal is reached; 1: one is missed; 3: a benchmark broke (the others still run).
Times mean nothing on a busy machine: run nothing else.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from report import BROKEN, MISSED, Report, goal_table, machine

HERE = Path(__file__).parent
#: Name of the file, and what it asks.
BENCHMARKS = {
    "sweep": "What does a sweep cost, against hand-written Numba?",
    "paper": "How long do the paper's headline results take?",
    "schedule": "How many distributions does a 1-nat gap take, by schedule and kernel?",
    "startup": "How long until the first answer?",
    "growth": "How do time and memory grow?",
    "device": "How many sweeps per second, with how many chains?",
    "undirected": "How far are both bounds on log Z from the exact value?",
    "decoders": "How tight are the bounds of an image, and how many images per second?",
    "large": "How do gap, time and memory grow to a thousand dimensions?",
}


def run(name: str, smoke: bool) -> Report | None:
    """One benchmark; None if it broke."""
    command = [sys.executable, str(HERE / f"{name}.py"), "--json", *(["--smoke"] if smoke else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, MISSED):
        print(f"{name} broke, with exit code {done.returncode}")
        return None
    return Report.from_json(json.loads(done.stdout))


def summary(reports: list[Report]) -> str:
    rows = [row for report in reports for row in report.rows if row.goal]
    missed = sum(row.missed for row in rows)
    counted = sum(not row.goal.stretch for row in rows if row.goal)
    table = goal_table(rows, "summary", with_benchmark=True)
    return f"{table}\n\n{counted - missed} of {counted} goals reached"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="names, with commas between")
    parser.add_argument(
        "--smoke", action="store_true", help="tiny settings: only to see that everything runs"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "latest.json")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if strange := [name for name in chosen if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {strange[0]!r}; there are {', '.join(BENCHMARKS)}")
    began, reports, broken = time.monotonic(), [], []
    for place, name in enumerate(chosen, 1):
        print(f"\n[{place}/{len(chosen)}] {name}: {BENCHMARKS[name]}", flush=True)
        report = run(name, options.smoke)
        if report is None:
            broken.append(name)
            continue
        print(f"\n{report}\n({report.seconds:.0f} s)", flush=True)
        reports.append(report)
    seconds = time.monotonic() - began
    answer = {
        "machine": machine(),
        "smoke": options.smoke,
        "seconds": seconds,
        "broken": broken,
        "reports": [report.to_json() for report in reports],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(answer, indent=1))
    print(f"\n{summary(reports)}; {seconds / 60:.1f} minutes; numbers in {options.out}")
    if broken:
        print(f"broken: {', '.join(broken)}")
        return BROKEN
    return MISSED if any(report.missed for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
