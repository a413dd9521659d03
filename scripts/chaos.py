"""Kill commands at random moments, resume them, and compare with a run that nobody disturbed.

    python scripts/chaos.py [--seed 0] [--kills 50] [--only NAME,...] [--json FILE]

Each command is first run to its end. Then it is begun anew, again and again: killed (SIGKILL) at a
random moment between its first checkpoint, or its first finished task, and its end; resumed and,
every third time, killed once more; and its answer compared number by number, times aside. Exit code
1 if any answer differs, or a resumed run fails. Cost: three starts of Python and JAX per kill.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

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
#: A command's words; those that keep a checkpoint are resumed by it, an experiment by its store.
COMMANDS: dict[str, list[str]] = {
    "sandwich": ["sandwich", "low-rank", "--rows", "30", "--columns", "8", "--gap", "0.05"],
    "estimate": ["estimate", "clustering", "ais", *DATA, "--distributions", "20000"],
    "evidence": ["evidence", "clustering", "--components", "3", *DATA, "--twins", "2"],
    "compare": ["compare", "clustering", *DATA, "--components", "1,2", "--twins", "1"],
    "experiment": ["experiment", "run", "spec.toml", "--store", "results.db"],
}
#: Seconds a run may take before it counts as hanging.
LIMIT = 600


def without_times(value: Any) -> Any:
    """The answer, less what no two runs share."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ("seconds", "ran")}
        return {k: without_times(v) for k, v in kept.items()}
    return [without_times(v) for v in value] if isinstance(value, list) else value


class Bench:
    """One command in a folder of its own."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.kept = folder / ("results.db" if name == "experiment" else "run.ckpt")

    def start(self, resume: bool) -> subprocess.Popen:
        words = [sys.executable, "-m", "bracketz", *COMMANDS[self.name], "--json"]
        if self.name != "experiment":
            words += ["--checkpoint", "run.ckpt"] + (["--resume"] if resume else [])
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=os.environ | {"BRACKETZ_CHECKPOINT_SECONDS": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def forget(self) -> None:
        for file in self.folder.glob(f"{self.kept.name}*"):
            file.unlink()

    def begun(self, process: subprocess.Popen) -> bool:
        """Whether something was kept before the process ended."""
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            if self.kept.exists():
                return True
            time.sleep(0.02)
        return False

    def answer(self, process: subprocess.Popen) -> Any:
        out, err = process.communicate(timeout=LIMIT)
        if process.returncode not in (0, 1) or not out:
            raise RuntimeError(f"exit code {process.returncode}: {err.strip().splitlines()[-1:]}")
        if self.name != "experiment":
            return without_times(json.loads(out))
        with closing(sqlite3.connect(self.kept)) as db:  # its answer holds times; its values do not
            return db.execute("SELECT task, trial, log_ml FROM trials ORDER BY 1, 2").fetchall()

    def undisturbed(self) -> tuple[Any, float]:
        """(the answer, seconds from the first thing kept to the end), the second time, compiled."""
        for _ in range(2):
            self.forget()
            process = self.start(resume=False)
            self.begun(process)
            began = time.monotonic()
            found = self.answer(process)
        return found, time.monotonic() - began

    def killed(self, moments: list[float]) -> Any:
        """The answer of a run that was killed once per moment (seconds after something is kept)."""
        self.forget()
        for resume, moment in enumerate(moments):
            process = self.start(resume=bool(resume))
            if not self.begun(process):
                process.kill()
                process.wait()
                raise RuntimeError("nothing was kept before the end")
            if resume:  # past loading Python and JAX, where there is nothing to lose
                moment += 3.0
            try:
                process.wait(timeout=moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.wait()
            process.communicate()
        return self.answer(self.start(resume=True))


def torment(name: str, kills: int, seed: int) -> dict[str, Any]:
    """What became of a command."""
    folder = Path(tempfile.mkdtemp(prefix="bracketz-chaos-"))
    rng = random.Random(f"{seed} {name}")
    lost: list[str] = []
    try:
        import numpy as np

        (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
        np.save(folder / "table.npy", np.random.default_rng(seed).normal(size=(20, 4)))
        bench = Bench(name, folder)
        truth, seconds = bench.undisturbed()
        for number in range(kills):
            times = 2 if number % 3 == 2 else 1
            moments = [rng.uniform(0, seconds) for _ in range(times)]
            try:
                if bench.killed(moments) != truth:
                    lost.append(f"kill {number} at {moments}: another answer")
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                lost.append(f"kill {number} at {moments}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"command": name, "runs": kills, "same": kills - len(lost), "lost": lost}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--kills", type=int, default=50, help="runs per command")
    parser.add_argument("--only", default=",".join(COMMANDS), help="commands, with commas between")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    found = []
    print(f"{'command':<12}{'runs killed':>12}{'same answer':>13}")
    for name in (n for n in COMMANDS if n in options.only.split(",")):
        found.append(torment(name, options.kills, options.seed))
        print(f"{name:<12}{found[-1]['runs']:>12}{found[-1]['same']:>13}", flush=True)
        for sentence in found[-1]["lost"]:
            print(f"    {sentence}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return int(any(one["lost"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
