"""Disturb commands in every way that a machine does, and compare with a run that nobody disturbed.

    python scripts/chaos.py [--seed 0] [--count 50] [--only NAME,...] [--ways WAY,...]
                            [--jobs 2] [--json FILE] [--resume FILE]

Each command is first run to its end. Then it is begun anew, again and again, and disturbed:

kill   killed (SIGKILL) at a random moment between the first thing it keeps and its end; resumed,
       and every third time killed once more;
disk   no file may grow past a random size, as where a disk fills up in the middle: it must answer,
       or end with one sentence; then it is resumed on an empty disk;
clock  the time of day jumps by up to a day either way, several times a second, and it is killed
       and resumed so;
pair   two processes on one store, the first of which is killed (experiment and league alone).

What it answers in the end is compared number by number, times aside. Exit code 1 if any answer
differs, if a resumed run fails, or if there is a traceback. Cost: a few starts of Python and JAX
for each disturbance. Dask's workers and scheduler are killed in tests/testbed/test_cluster.py.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "testbed" / "league"))
import toys

SPEC = """
name = "chaos"
seed = 1
trials = 2
[truth]
distributions = 300
[[models]]
model = "clustering"
rows = 12
columns = 3
hyperparameters = { components = 3 }
[[estimators]]
estimator = "ais"
ladder = [10, 30, 100, 300, 1000]
[[estimators]]
estimator = "lw"
ladder = [64, 640]
"""
DATA = ["--data", "table.npy"]
TOYS = ["--add", "problem.py", "--add", "tool.py", "--tools", "toy-tool", "--problems", "toy"]
RUNS = ["--settings", "default,wrong", "--datasets", "4"]
#: A command's words. Those that keep a checkpoint are resumed by it, the others by their store.
COMMANDS: dict[str, list[str]] = {
    "sandwich": ["sandwich", "low-rank", "--rows", "30", "--columns", "8", "--gap", "0.05"],
    "estimate": ["estimate", "clustering", "ais", *DATA, "--distributions", "20000"],
    "evidence": ["evidence", "clustering", "--components", "3", *DATA, "--twins", "2"],
    "compare": ["compare", "clustering", *DATA, "--components", "1,2", "--twins", "1"],
    "experiment": ["experiment", "run", "spec.toml", "--store", "results.db"],
    "league": ["league", "run", *TOYS, *RUNS, "--out", "league"],
}
#: Store, and what of it is an answer.
STORES = {
    "experiment": ("results.db", "SELECT task, trial, log_ml FROM trials ORDER BY 1, 2"),
    "league": ("league/league.db", "SELECT run, status, log_z, error FROM runs ORDER BY 1"),
}
#: Seconds a run may take before it counts as hanging.
LIMIT = 600
#: Loaded by Python before anything else.
CLOCK = """
import random, time
real, state = time.time, random.Random(0)
def jumping():
    return real() + state.choice((-86400.0, -3600.0, 0.0, 3600.0, 86400.0))
time.time = jumping
"""


def without_times(value: Any) -> Any:
    """The answer, less what no two runs share."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ("seconds", "ran")}
        return {k: without_times(v) for k, v in kept.items()}
    return [without_times(v) for v in value] if isinstance(value, list) else value


class Lost(Exception):
    """What must not happen, in words."""


class Bench:
    """One command in a folder of its own."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.kept = folder / (STORES[name][0] if name in STORES else "run.ckpt")
        self.largest = 0  # bytes of what an undisturbed run keeps

    def start(self, resume: bool, *, largest: int | None = None, clock: bool = False):
        """A process; ``largest``: bytes that any file of its may have."""
        words = [sys.executable, "-m", "bracketz", *COMMANDS[self.name], "--json"]
        if self.name not in STORES:
            words += ["--checkpoint", "run.ckpt"] + (["--resume"] if resume else [])
        environment = os.environ | {
            "BRACKETZ_CHECKPOINT_SECONDS": "0",
            "BRACKETZ_CACHE": str(self.folder / "cache"),
        }
        if clock:
            paths = (str(self.folder / "clock"), os.environ.get("PYTHONPATH", ""))
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

        process = subprocess.Popen(
            words,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if largest is not None:  # Python is not yet up
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))
        return process

    def forget(self) -> None:
        for file in self.kept.parent.glob(f"{self.kept.name}*"):
            file.unlink()

    def begun(self, process: subprocess.Popen) -> bool:
        """Whether something was kept before the process ended."""
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            if self.kept.exists():
                return True
            time.sleep(0.02)
        return False

    def said(self, process: subprocess.Popen) -> tuple[int, str]:
        """(exit code, standard output); a traceback is what must not happen."""
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Lost(f"no end after {LIMIT} s") from None
        if "Traceback" in err or process.returncode < 0:
            raise Lost(f"exit code {process.returncode}: {err.strip().splitlines()[-1:]}")
        if process.returncode not in (0, 1):
            raise Lost(f"exit code {process.returncode}: {err.strip()[-200:]}")
        return process.returncode, out

    def answer(self, process: subprocess.Popen) -> Any:
        _, out = self.said(process)
        if self.name not in STORES:
            return without_times(json.loads(out))
        with closing(sqlite3.connect(self.kept)) as db:  # its answer holds times; its values do not
            return db.execute(STORES[self.name][1]).fetchall()

    def undisturbed(self) -> tuple[Any, float]:
        """(the answer, seconds from the first thing kept to the end), the second time, compiled."""
        for _ in range(2):
            self.forget()
            process = self.start(resume=False)
            self.begun(process)
            began = time.monotonic()
            found = self.answer(process)
        self.largest = max(f.stat().st_size for f in self.kept.parent.glob(f"{self.kept.name}*"))
        return found, time.monotonic() - began

    def interrupt(self, process: subprocess.Popen, moment: float) -> None:
        """Kill it so many seconds from now, if it is still there."""
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()

    # Ways. Each returns the answer in the end.

    def kill(self, rng: random.Random, seconds: float, number: int, clock: bool = False) -> Any:
        self.forget()
        for resume in range(2 if number % 3 == 2 else 1):
            process = self.start(resume=bool(resume), clock=clock)
            if not self.begun(process):
                process.kill()
                raise Lost("nothing was kept before the end")
            # Past loading Python and JAX, where there is nothing to lose.
            self.interrupt(process, rng.uniform(0, seconds) + (3.0 if resume else 0.0))
        return self.answer(self.start(resume=True, clock=clock))

    def clock(self, rng: random.Random, seconds: float, number: int) -> Any:
        return self.kill(rng, seconds, number, clock=True)

    def disk(self, rng: random.Random, seconds: float, number: int) -> Any:
        """A store must hold all; a checkpoint may stay behind, and the answer is the same."""
        self.forget()
        process = self.start(resume=False, largest=rng.randrange(1, self.largest))
        if self.name in STORES:
            _, err = process.communicate(timeout=LIMIT)
            told = err.strip().splitlines()
            if process.returncode == 0 or "Traceback" in err or not told:
                raise Lost(f"full disk, exit code {process.returncode}: {told[-1:]}")
        else:
            self.answer(process)
        return self.answer(self.start(resume=self.kept.exists()))

    def pair(self, rng: random.Random, seconds: float, number: int) -> Any:
        self.forget()
        one, other = self.start(resume=False), self.start(resume=False)
        self.begun(one)
        self.interrupt(one, rng.uniform(0, seconds))
        self.said(other)
        return self.answer(self.start(resume=True))


WAYS: dict[str, Callable[..., Any]] = {
    "kill": Bench.kill,
    "disk": Bench.disk,
    "clock": Bench.clock,
    "pair": Bench.pair,
}


def torment(name: str, way: str, count: int, seed: int) -> dict[str, Any]:
    """What became of a command."""
    folder = Path(tempfile.mkdtemp(prefix="bracketz-chaos-"))
    rng = random.Random(f"{seed} {name}" if way == "kill" else f"{seed} {name} {way}")
    lost: list[str] = []
    try:
        import numpy as np

        (folder / "clock").mkdir()
        (folder / "league").mkdir()
        for file, text in (
            ("spec.toml", SPEC),
            ("problem.py", toys.PROBLEM),
            ("tool.py", toys.TOOL),
            ("clock/sitecustomize.py", CLOCK),
        ):
            (folder / file).write_text(text, encoding="utf-8")
        np.save(folder / "table.npy", np.random.default_rng(seed).normal(size=(20, 4)))
        bench = Bench(name, folder)
        truth, seconds = bench.undisturbed()
        for number in range(count):
            try:
                if WAYS[way](bench, rng, seconds, number) != truth:
                    lost.append(f"{way} {number}: another answer")
            except (Lost, ValueError, subprocess.TimeoutExpired) as error:
                lost.append(f"{way} {number}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "command": name, "way": way, "seed": seed, "runs": count, "same": count - len(lost),
        "lost": lost,
    }  # fmt: skip


def table(found: list[dict[str, Any]]) -> str:
    """Commands down, ways across."""
    lines = [f"{'command':<12}" + "".join(f"{way:>10}" for way in WAYS)]
    cells = {(one["command"], one["way"]): f"{one['same']}/{one['runs']}" for one in found}
    for name in COMMANDS:
        if any(command == name for command, _ in cells):
            row = (cells.get((name, way), "") for way in WAYS)
            lines.append(f"{name:<12}" + "".join(f"{cell:>10}" for cell in row))
    lines += [f"{one['command']}: {sentence}" for one in found for sentence in one["lost"]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--count", type=int, default=50, help="disturbances per command and way")
    parser.add_argument("--only", default=",".join(COMMANDS), help="commands, with commas between")
    parser.add_argument("--ways", default=",".join(WAYS), help="with commas between")
    parser.add_argument("--jobs", type=int, default=2, help="commands side by side")
    parser.add_argument("--json", type=Path, help="file for the results, a line each")
    parser.add_argument("--resume", type=Path, help="such a file; what is there is not run again")
    options = parser.parse_args()
    keep = options.json or options.resume
    found: list[dict[str, Any]] = []
    if options.resume and options.resume.exists():
        found = [json.loads(line) for line in options.resume.read_text("utf-8").splitlines()]
    there = {(one["command"], one["way"]) for one in found if one["runs"] >= options.count}
    left = [
        (name, way)
        for way in options.ways.split(",")
        for name in options.only.split(",")
        if (name, way) not in there and (way != "pair" or name in STORES)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda job: torment(*job, options.count, options.seed), left):
            found.append(one)
            print(f"{one['command']} {one['way']}: {one['same']} of {one['runs']}", flush=True)
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(one) + "\n")
    print(table(found))
    return int(any(one["lost"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
