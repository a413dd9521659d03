"""How long until the first answer, and what compiling takes of it.

    python benchmarks/startup.py [--json] [--smoke]

Whole processes, by the wall clock: ``bracketz --help`` (median of five); ``bracketz sandwich
clustering`` with an empty compilation cache (the faster of two, each with a new cache) and with a
full one (the fastest of three). The settings are the defaults. Then what compiling each estimator
takes on each model, in one process without a cache, at the paper's size; and a small experiment in
a process of its own, which counts what is compiled: the loop once for each program, and everything
once (a hit in a cache that began empty would be something this process had compiled before; two
programs of different kind may share the code of their small functions).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from report import Report, Row, Table, at_most, main, say

HELP_SECONDS, COLD_SECONDS, WARM_SECONDS = 0.3, 10.0, 4.0
#: Two models, two data sets of each, three estimators, two rungs, and both directions at the truth:
#: six programs.
EXPERIMENT = """
name = "compilations"
trials = 4
[truth]
distributions = 60
[[models]]
model = "clustering"
rows = 8
columns = 3
data_seeds = [0, 1]
hyperparameters = { components = 2 }
[[models]]
model = "low-rank"
rows = 8
columns = 3
data_seeds = [0, 1]
hyperparameters = { components = 2 }
[[estimators]]
estimator = "ais"
ladder = [10, 30]
[[estimators]]
estimator = "reverse-ais"
ladder = [10, 30]
[[estimators]]
estimator = "lw"
ladder = [64, 640]
"""
PROGRAMS = 6


def bracketz(*words: str, cache: str | None = None) -> tuple[float, str]:
    """(wall seconds, standard output) of a command in a process of its own."""
    environment = os.environ | ({"JAX_COMPILATION_CACHE_DIR": cache} if cache else {})
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bracketz", *words],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return time.perf_counter() - began, done.stdout


def sandwich(cache: str, smoke: bool) -> tuple[float, dict[str, float]]:
    """(wall seconds, the seconds it reports)."""
    small = ["--rows", "8", "--columns", "4"] if smoke else []
    wall, out = bracketz("sandwich", "clustering", "--json", *small, cache=cache)
    return wall, json.loads(out)["seconds"]


def processes(smoke: bool) -> tuple[list[Row], dict[str, Any]]:
    helps = [bracketz("--help")[0] for _ in range(1 if smoke else 5)]
    say(f"help: {statistics.median(helps):.2f} s")
    colds, warms = [], []
    for _ in range(1 if smoke else 2):
        with tempfile.TemporaryDirectory() as cache:
            colds.append(sandwich(cache, smoke))
            say(f"cold sandwich: {colds[-1][0]:.1f} s")
            warms += [sandwich(cache, smoke) for _ in range(1 if smoke or warms else 3)]
            say(f"warm sandwich: {warms[-1][0]:.1f} s")
    (cold, cold_parts), (warm, warm_parts) = (
        min(colds, key=lambda c: c[0]),
        min(warms, key=lambda w: w[0]),
    )

    def parts(seconds):
        return f"of it compiling {seconds['compile']:.1f} s, running {seconds['run']:.1f} s"

    rows = [
        Row(
            "startup",
            "bracketz --help",
            "seconds",
            statistics.median(helps),
            "s",
            at_most(HELP_SECONDS),
        ),
        Row(
            "startup",
            "sandwich clustering, cold",
            "seconds",
            cold,
            "s",
            at_most(COLD_SECONDS),
            parts(cold_parts),
        ),
        Row(
            "startup",
            "sandwich clustering, warm",
            "seconds",
            warm,
            "s",
            at_most(WARM_SECONDS),
            parts(warm_parts),
        ),
    ]
    return rows, {"help": helps, "cold": colds, "warm": warms}


def compile_seconds(smoke: bool) -> dict[str, dict[str, float]]:
    """By estimator and model."""
    from bracketz import Session, simulate
    from bracketz.estimators.registry import ESTIMATORS
    from bracketz.models.registry import MODELS, SHIPPED

    found: dict[str, dict[str, float]] = {}
    for model_name in ["clustering"] if smoke else MODELS:
        model = SHIPPED.find(model_name)()
        data = simulate(model)
        for name in list(ESTIMATORS)[: 2 if smoke else None]:
            # No time is left for a step, so that compiling is all that happens.
            outcome = ESTIMATORS.find(name)().run(model, data, 25, 0, Session(max_seconds=1e-9))
            found.setdefault(name, {})[model_name] = outcome.compile_seconds
        say(f"compiled every estimator on {model_name}")
    return found


def compilations() -> dict[str, int]:
    """Of the small experiment, in this process; the cache is empty when it begins."""
    import jax

    from bracketz.testbed.run.runner import run_experiment
    from bracketz.testbed.spec.experiment import parse
    from bracketz.testbed.store.store import Store

    events: Counter[str] = Counter()
    compiled: Counter[str] = Counter()
    jax.monitoring.register_event_listener(
        lambda event, **_: events.update([event.rsplit("/", 1)[-1]])
    )

    def by_name(event: str, seconds: float, **what: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled[str(what.get("fun_name"))] += 1

    jax.monitoring.register_event_duration_secs_listener(by_name)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "store.db", create=True) as store,
    ):
        outcome = run_experiment(parse(EXPERIMENT), store)
    assert outcome.complete, outcome
    return {
        "tasks": outcome.total,
        "loops": compiled["jit(_advance)"],
        "compiled": sum(compiled.values()),
        "again": events["cache_hits"],
    }


def compilations_apart() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        done = subprocess.run(
            [sys.executable, __file__, "--worker"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def benchmark(options: argparse.Namespace) -> Report:
    rows, details = processes(options.smoke)
    counts = compilations_apart()
    say(f"experiment: {counts}")
    case = f"experiment of {counts['tasks']} tasks, {PROGRAMS} programs"
    rows += [
        Row(
            "startup",
            case,
            "compilations of the loop, each program",
            counts["loops"] / PROGRAMS,
            "",
            at_most(1),
        ),
        Row(
            "startup",
            case,
            "small functions with another's code",
            counts["again"],
            f"of {counts['compiled']}",
        ),
    ]
    compiling = compile_seconds(options.smoke)
    models = list(next(iter(compiling.values())))
    table = Table(
        "startup: seconds to compile an estimator, 25 trials at the paper's size, no cache (vb-sym"
        " is vb's program)",
        ["estimator", *models],
        [[name, *(f"{by_model[m]:.1f}" for m in models)] for name, by_model in compiling.items()],
    )
    return Report(
        "startup", rows, [table], details=details | {"compiling": compiling, "experiment": counts}
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        print(json.dumps(compilations()))
        sys.exit(0)
    sys.exit(main(benchmark, __doc__))
