"""Do two checkouts give the same bits? Shown before and after a refactoring.

    python scripts/same_bits.py collect CHECKOUT RECORD.json     # run everything in a checkout
    python scripts/same_bits.py compare BEFORE.json AFTER.json   # exit code 1 if anything differs

Recorded are the demo, every estimator on every model, sandwiches along both paths, a user's own
model, a comparison, the correctness kit at level quick, and an experiment's store. Numbers are
compared to the last bit; seconds are left out, and so is what names the run and not its result
(thresholds of p-values follow from how many checks there are).
"""

import argparse
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = ("clustering", "low-rank", "binary-attributes")
SIZE = ("--rows", "12", "--columns", "5", "--components", "3", "--seed", "3")
#: Little effort: what is compared is which bits come out, not how good they are.
KNOBS = {
    "bic": ["--restarts", "2"],
    "lw": ["--proposals", "100"],
    "hme": ["--proposals", "20"],
    "ais": ["--distributions", "40"],
    "reverse-ais": ["--distributions", "40"],
    "smc": ["--transitions", "2", "--particles", "3"],
    "shme": ["--transitions", "2", "--particles", "3"],
    "vb": ["--restarts", "2"],
    "vb-sym": ["--restarts", "2"],
    "chib": ["--samples", "15", "--burn-in", "10"],
    "cms": ["--samples", "15", "--burn-in", "10"],
    "nested": ["--transitions", "2"],
}
#: Renamed since: the name before, the name now.
CHECKS_NOW = {
    "conditionals.reversal": "transitions.reversal",
    "conditionals.matrix": "transitions.matrix",
    "conditionals.steps": "transitions.steps",
    "engine.order": "loop.order",
    "engine.keys": "loop.keys",
    "engine.nested": "estimators.nested",
    "engine.chib": "estimators.chib",
    "engine.bic": "estimators.bic",
    "engine.paths": "numbers.paths",
    "engine.resampling": "numbers.resampling",
    "engine.averages": "numbers.averages",
    "engine.distributions": "numbers.distributions",
    "engine.ancestors": "numbers.ancestors",
    "engine.noise": "numbers.noise",
}
SPEC = """
name = "small"
seed = 3
trials = 4
[truth]
distributions = 100
[[models]]
model = "clustering"
rows = 6
columns = 2
hyperparameters = { components = 2 }
[[models]]
model = "low-rank"
label = "rank one"
rows = 6
columns = 2
data_seeds = [0, 7]
hyperparameters = { components = 1, noise_variance = 0.5 }
[[estimators]]
estimator = "ais"
ladder = [10, 100]
[[estimators]]
estimator = "reverse-ais"
ladder = [10, 100]
[[estimators]]
estimator = "nested"
models = ["clustering"]
ladder = [1, 3]
[[estimators]]
estimator = "smc"
models = ["clustering"]
ladder = [1]
[cross]
distributions = 20
trials = 3
fits = [{ model = "inferred-clustering", hyperparameters = { components = 2 } }]
"""


def collect(checkout: Path) -> dict:
    """{what: its numbers}."""
    record: dict = {}
    with tempfile.TemporaryDirectory() as folder:

        def command(*words, cwd=folder, name=None, codes=(0, 1)):
            name = name or " ".join(words)
            environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
            done = subprocess.run(
                [sys.executable, "-m", "bracketz", *words, "--json"],
                cwd=cwd, env=environment, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode not in codes:
                raise SystemExit(f"{name}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            print(name, file=sys.stderr, flush=True)
            record[name] = numbers(json.loads(done.stdout))
            return record[name]

        command("demo", "--out", "demo")
        for model in MODELS:
            command("simulate", model, *SIZE, "--out", f"{model}.npz")
            record[f"{model}.npz"] = arrays(Path(folder) / f"{model}.npz")
            for estimator, knobs in KNOBS.items():
                command(
                    "estimate", model, estimator, "--data", f"{model}.npz", "--trials", "5", *knobs
                )
            command("sandwich", model, *SIZE, "--chains", "6", "--max-effort", "128")
            command("sandwich", model, *SIZE, "--chains", "6", "--path", "prefix", "--max-effort",
                "4",
                    "--particles", "3")  # fmt: skip
        more = ("--chains", "6", "--max-effort", "64")
        command("sandwich", "clustering", *SIZE, *more, "--schedule", "adapted", "--pilot", "32")
        command("sandwich", "clustering", *SIZE, *more, "--schedule", "linear", "--sweeps", "2")
        command("sandwich", "binary-attributes", *SIZE, *more, "--set", "row_update=flips")
        for model in MODELS:
            command("sandwich", f"inferred-{model}", *SIZE, *more)
        command("estimate", "low-rank", "ais", "--data", "low-rank.npz", "--schedule", "adapted",
                "--distributions", "30", "--trials", "5")  # fmt: skip
        command(
            "sandwich",
            "regression:PolynomialRegression",
            "--chains",
            "6",
            cwd=checkout / "examples",
        )
        import numpy as np

        y = np.load(f"{folder}/clustering.npz")["y"].copy()
        y[0, 0] = np.nan
        np.save(f"{folder}/holes.npy", y)
        small = (
            "--components",
            "2",
            "--first",
            "16",
            "--max-effort",
            "32",
            "--twins",
            "1",
        )
        command("compare", "--data", "holes.npy", "--missing", "ignore", *small)
        for model in MODELS:
            record[f"check {model}"] = kit(command, model)
        Path(folder, "spec.toml").write_text(SPEC)
        command("experiment", "run", "spec.toml", "--store", "results.db")
        with sqlite3.connect(f"{folder}/results.db") as db:
            query = "SELECT task, trial, log_ml FROM trials ORDER BY task, trial"
            record["store"] = [
                [task, trial, value.hex()] for task, trial, value in db.execute(query)
            ]
    return record


def kit(command, model: str) -> dict:
    """Statistic and verdict of every check that looks at a model, and of those that look at
    bracketz itself."""
    report = command("check", model, "--level", "quick", "--all", name=f"check --json {model}")
    checks = report["checks"]
    if any(c["name"] == "transitions.reversal" for c in checks):
        own = command("selftest", "--level", "quick", "--all", name=f"selftest --json ({model})")
        checks = checks + own["checks"]
    found = {CHECKS_NOW.get(c["name"], c["name"]): [c["statistic"], c["passed"]] for c in checks}
    return dict(sorted(found.items()))


def numbers(value):
    """Without what may differ between runs: seconds, thresholds, and where files lie."""
    dropped = {
        "seconds",
        "predicted",
        "pilot",
        "picture",
        "threshold",
        "detail",
        "suspect",
        "planned",
        "store",
        "run_seconds",
    }
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items() if k not in dropped}
    return [numbers(v) for v in value] if isinstance(value, list) else value


def arrays(path: Path) -> dict:
    import numpy as np

    with np.load(path) as file:
        return {
            name: hashlib.sha256(file[name].tobytes()).hexdigest() for name in sorted(file.files)
        }


def differences(before, after, where: str = "") -> list[str]:
    """What was there before and is not the same now; what has been added does not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [f"{where}: no {key} any more" for key in before if key not in after]
        return found + [
            d
            for key in before
            if key in after
            for d in differences(before[key], after[key], f"{where} > {key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{where}[{i}]")]
    return [] if before == after else [f"{where}: {before!r} before, {after!r} after"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("collect", "compare"))
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    options = parser.parse_args()
    if options.action == "collect":
        options.second.write_text(json.dumps(collect(options.first), indent=1))
        return
    before, after = (json.loads(path.read_text()) for path in (options.first, options.second))
    for record in (before, after):
        for name in [n for n in record if "--json" in n]:
            del record[name]  # compared check by check
    found = differences(before, after)
    for line in found:
        print(line.removeprefix(" > "))
    print(f"{len(before)} results compared, {len(found)} differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
