"""Models that users bring: how near to the truth, in how many seconds, beside what others offer.

    python benchmarks/your_model.py [--json] [--smoke] [--only four,data,hard] [--seeds 20]
                                    [--others 5] [--without-others] [--data-dir DIR]
                                    [--gap 0.2] [--chains 256] [--markdown FILE]
    python benchmarks/your_model.py --truth     # computes your_model_truth.json again

- four: three centres in the plane, a low-rank matrix with a rotation symmetry, logistic and linear
  regression. 20 data sets each, ``bz.sandwich(model, data, gap=0.2, chains=256)``: root mean
  squared errors of the lower bound, Bennett's estimate and the upper bound, and seconds of a whole
  call, its pilot included and compilation apart. A call that compiled something is repeated, and
  the second one's seconds count; how many did, after the first, is listed. Beside them PyMC's and
  BlackJAX's sequential Monte Carlo in the same process: one number each, no bound on the other
  side and no certificate. PyMC compiles anew for every model, which is part of its seconds.
- data: logistic regressions on breast cancer (of scikit-learn), and ionosphere.csv and sonar.csv
  where ``--data-dir`` has them (first column y, then covariates). A gap on data simulated from
  them, and on the data observed the lower bound and how far below it its certificate lies.
- hard: a mixture with free scales, and a logistic regression whose columns have scales from 0.01 to
  100. No goals: what simple Hamiltonian Monte Carlo is nats off at.

The truth is closed-form for linear regression. For the others it is kept in your_model_truth.json:
many forward chains, independent of each other and of the runs judged here (longer, with pilots and
seeds of their own), with the standard error beside; no exact sample is used.
Runs on JAX's default device; times mean nothing on a busy machine.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import numpy as np
from report import Report, Row, Table, at_most, main, number, say
from your_model_others import BlackJAX, pymc_smc
from your_model_problems import FOUR, HARD, Logistic, breast_cancer, from_file

import bracketz as bz
from bracketz.engine.devices import use_all_cores

TRUTH = Path(__file__).with_name("your_model_truth.json")
PARTS = ("four", "data", "hard")
#: Seconds of a call, by platform.
SECONDS = {"cpu": 0.5, "gpu": 0.1}
#: Root mean squared errors: of Bennett's estimate, of either bound.
NEAR, BOUND = 0.05, 0.1
#: The truth: distributions, chains, whether to begin at a reference (None: if its path is shorter).
EXACTING: dict[str, tuple[int, int, bool | None]] = {
    "3 centres, 6-d": (129, 8192, None),
    "low rank, 10-d": (769, 16384, False),
    "logistic, 10-d": (65, 8192, None),
    "mixture, free scales": (1025, 2048, False),
    "logistic, scales 0.01 to 100": (129, 4096, None),
}
#: Data sets of a hard problem.
FEW = 5
#: On observed data: distributions and trials; the width of what they certify.
OBSERVED, WIDTH = (100, 400), 0.5


class Compilations:
    """How often XLA has compiled something in this process."""

    def __init__(self) -> None:
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, seconds: float, **_) -> None:
        self.count += event == "/jax/core/compile/backend_compile_duration"


COMPILED = Compilations()


def timed(call: Callable[[], Any]) -> tuple[Any, float, bool]:
    """(the answer, seconds of a call that compiled nothing, whether the first one did)."""
    compiled = False
    for _ in range(3):
        before, began = COMPILED.count, time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - began
        if COMPILED.count == before:
            break
        compiled = True
    return answer, seconds, compiled


def truths(name: str, model, seeds: int) -> list[tuple[float, float]]:
    """(log evidence, standard error) of each data set."""
    if hasattr(model, "exact_log_evidence"):
        found = [model.exact_log_evidence(bz.simulate(model, seed=s).y) for s in range(seeds)]
        return [(value, 0.0) for value in found]
    kept = json.loads(TRUTH.read_text())[name] if TRUTH.exists() else []
    if seeds > len(kept):
        raise SystemExit(f"the truth of {name} is known for {len(kept)} data sets: see --truth")
    return [(k["log_evidence"], k["standard_error"]) for k in kept[:seeds]]


def settle(name: str, model, seeds: int) -> list[dict[str, Any]]:
    """The truth by brute force: forward chains at one effort, nothing chosen, no exact sample."""
    out = []
    distributions, chains, reference = EXACTING[name]
    for seed in range(seeds):
        y = bz.simulate(model, seed=seed).y
        ready = bz.prepare(model, y, seed=10_000 + seed, reference=reference)
        ais = bz.AIS(distributions=distributions, schedule=ready.schedule)
        outcome = ais.run(ready.model, bz.Data(y), chains, 10_000 + seed, bz.Session())
        value, error = ais.combined(outcome.log_values)
        out.append({"seed": seed, "log_evidence": value, "standard_error": error})
        say(f"{name}, {seed}: {value:.4f} ± {error:.4f}")
    return out


def rms(errors) -> float:
    """Root mean square."""
    return math.sqrt(np.mean(np.square(list(errors))))


def judge(
    name: str, model, options, seeds: int, goals: bool
) -> tuple[list[Row], list[str], dict[str, Any]]:
    """``bz.sandwich`` on each data set: rows, a line of the table, and the details."""
    each = []
    exact = truths(name, model, seeds)
    for seed, (truth, doubt) in enumerate(exact):
        data = bz.simulate(model, seed=seed)
        answer, seconds, compiled = timed(
            lambda data=data, seed=seed: bz.sandwich(
                model, data, gap=options.gap, chains=options.chains, seed=seed
            )
        )
        pilot = answer.preparation
        each.append(
            {
                "seed": seed,
                "truth": truth,
                "truth_error": doubt,
                "lower": answer.lower - truth,
                "bennett": answer.log_ml - truth,
                "upper": answer.upper - truth,
                "bennett_error": answer.standard_error,
                "certificate": [answer.certificate.low - truth, answer.certificate.high - truth],
                "converged": answer.converged,
                "distributions": answer.distributions,
                "chains": answer.chains,
                "begins_at": pilot["begins_at"],
                "lengths": pilot["lengths"],
                "pilot_seconds": pilot["seconds"],
                "run_seconds": answer.seconds.run,
                "seconds": seconds,
                "compiled": compiled,
            }
        )
        say(f"{name}, {seed}: {number(each[-1]['bennett'])} off, {seconds:.2f} s")
    errors = {side: rms(e[side] for e in each) for side in ("lower", "bennett", "upper")}
    seconds = [e["seconds"] for e in each]
    again = sum(e["compiled"] for e in each[1:])
    limit = SECONDS.get(jax.default_backend(), SECONDS["gpu"])
    missed = sum(not e["certificate"][0] <= 0 <= e["certificate"][1] for e in each)

    def row(quantity, value, unit, goal, note=""):
        return Row("your_model", name, quantity, value, unit, goal if goals else None, note)

    unsure = f"the truth is known to ± {number(max(doubt for _, doubt in exact))}"
    rows = [
        row("Bennett, RMS error", errors["bennett"], "nats", at_most(NEAR), unsure),
        row("lower bound, RMS error", errors["lower"], "nats", at_most(BOUND)),
        row("upper bound, RMS error", errors["upper"], "nats", at_most(BOUND)),
        row("seconds of a call", float(np.median(seconds)), "s", at_most(limit), "median"),
        row("data sets that compile again", again, "", at_most(0)),
    ]
    line = [
        name,
        "bracketz.sandwich",
        *(number(errors[side]) for side in ("lower", "bennett", "upper")),
        f"{np.median(seconds):.2f}",
        f"{max(seconds):.2f}",
        f"{np.median([e['pilot_seconds'] for e in each]):.2f}",
        f"{sum(e['converged'] for e in each)} of {len(each)}",
        f"{missed} of {len(each)}",
        str(again),
    ]
    return rows, line, {"sandwich": each}


def compare(name: str, model, options) -> tuple[list[list[str]], dict[str, Any]]:
    """PyMC and BlackJAX on the first data sets."""
    blackjax = BlackJAX(model)
    lines, details = [], {}
    methods: dict[str, Callable] = {
        "PyMC SMC": lambda y, seed: pymc_smc(model, y, seed),
        "BlackJAX SMC": blackjax,
    }
    count = min(options.others, options.seeds)
    for what, method in methods.items():
        errors, seconds = [], []
        for seed, (truth, _) in enumerate(truths(name, model, count)):
            y = bz.simulate(model, seed=seed).y
            if what.startswith("BlackJAX") and seed == 0:
                method(y, seed)  # compiles
            value, spent = method(y, seed)
            errors.append(value - truth)
            seconds.append(spent)
            say(f"{name}, {seed}, {what}: {number(errors[-1])} off, {spent:.2f} s")
        times = [f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"]
        lines.append([name, what, "", number(rms(errors)), "", *times, "", "", "", ""])
        details[what] = {"errors": errors, "seconds": seconds}
    return lines, details


COLUMNS = ["problem", "by", "lower", "log evidence", "upper", "s", "s, at most", "s, pilot",
           "converged", "certificate misses", "compile again"]  # fmt: skip


def four(options) -> tuple[list[Row], list[Table], dict[str, Any]]:
    """The four problems."""
    rows, lines, details = [], [], {}
    for name, model in FOUR.items():
        if options.smoke and not hasattr(model, "exact_log_evidence"):
            continue
        more, line, details[name] = judge(name, model, options, options.seeds, goals=True)
        rows += more
        lines.append(line)
        if options.others and not options.without_others:
            others, found = compare(name, model, options)
            lines += others
            details[name] |= found
    title = f"four problems: RMS errors (nats) over {options.seeds} data sets, seconds of a call"
    if options.others and not options.without_others:
        title += f" (others: {min(options.others, options.seeds)} data sets)"
    return rows, [Table(title, COLUMNS, lines)], details


def hard(options) -> tuple[list[Row], list[Table], dict[str, Any]]:
    """Two at which simple methods fail."""
    rows, lines, details = [], [], {}
    for name, model in HARD.items():
        more, line, details[name] = judge(
            name, model, options, min(options.seeds, FEW), goals=False
        )
        rows += more
        lines.append(line)
    return rows, [Table("hard: the same, few data sets", COLUMNS, lines)], details


def data(options) -> tuple[list[Row], list[Table], dict[str, Any]]:
    """Logistic regressions on real covariates."""
    found = {"breast cancer": breast_cancer()}
    for name in ("ionosphere", "sonar"):
        path = options.data_dir and options.data_dir / f"{name}.csv"
        if path and path.exists():
            found[name] = from_file(path)
        else:
            say(f"{name}.csv is not there: give its folder as --data-dir")
    rows, lines, details = [], [], {}
    for plain, (covariates, y) in found.items():
        model = Logistic(covariates)
        name = f"{plain}, {covariates.shape[0]} x {covariates.shape[1]}"
        simulated = bz.simulate(model, seed=0)
        answer, seconds, _ = timed(
            lambda model=model, simulated=simulated: bz.sandwich(
                model, simulated, gap=0.5, chains=100
            )
        )
        ais = bz.AIS(distributions=OBSERVED[0])
        bound, spent, _ = timed(
            lambda model=model, y=y, ais=ais: bz.estimate(model, y, ais, trials=OBSERVED[1])
        )
        width = bound.log_ml - bound.certificate.low
        begins = bound.details["preparation"]["begins_at"]
        rows += [
            Row("your_model", name, "gap, simulated", answer.gap, "nats", at_most(WIDTH)),
            Row("your_model", name, "seconds, simulated", seconds, "s"),
            Row("your_model", name, "width, observed", width, "nats", at_most(WIDTH)),
            Row("your_model", name, "seconds, observed", spent, "s"),
        ]
        lines.append(
            [
                name,
                f"{answer.lower:.2f}",
                f"{answer.upper:.2f}",
                number(answer.gap),
                "yes" if answer.converged else "no",
                f"{seconds:.2f}",
                f"{bound.log_ml:.2f}",
                f"{bound.certificate.low:.2f}",
                number(width),
                f"{spent:.2f}",
                begins,
            ]
        )
        details[plain] = {
            "simulated": {
                "lower": answer.lower,
                "upper": answer.upper,
                "bennett": answer.log_ml,
                "distributions": answer.distributions,
                "pilot": answer.preparation,
                "seconds": seconds,
            },
            "observed": {
                "lower": bound.log_ml,
                "standard_error": bound.standard_error,
                "certified": bound.certificate.low,
                "pilot": bound.details["preparation"],
                "seconds": spent,
            },
        }
        say(f"{name}: gap {number(answer.gap)}, certified to {number(width)}")
    columns = ["data", "lower", "upper", "gap", "converged", "s", "observed: lower",
               "certified (95 %)", "width", "s", "path begins at"]  # fmt: skip
    return rows, [Table("data: logistic regression, N(0, 1) coefficients", columns, lines)], details


def markdown(table: Table) -> str:
    """The table as Markdown."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    return f"**{table.title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run(options) -> Report:
    use_all_cores()  # before anything asks JAX for its devices
    if options.smoke:
        options.only, options.seeds, options.without_others = "four", 2, True
    parts = options.only.split(",")
    if strange := [part for part in parts if part not in PARTS]:
        raise SystemExit(f"--only knows {', '.join(PARTS)}, not {strange[0]!r}")
    if options.truth:
        kept = {
            name: settle(name, model, min(options.seeds, FEW) if name in HARD else options.seeds)
            for name, model in (FOUR | HARD).items()
            if not hasattr(model, "exact_log_evidence")
        }
        TRUTH.write_text(json.dumps(kept, indent=1) + "\n")
    device = jax.devices()[0]
    rows: list[Row] = []
    tables: list[Table] = []
    details: dict[str, Any] = {"device": device.device_kind, "platform": device.platform}
    for part, work in {"four": four, "data": data, "hard": hard}.items():
        if part in parts:
            more, more_tables, details[part] = work(options)
            rows += more
            tables += more_tables
    notes = [
        f"On {len(jax.devices())} x {device.device_kind} ({device.platform}). Seconds are of whole"
        " calls, pilot included, compilation apart (PyMC's is part of its seconds). PyMC and"
        " BlackJAX give one number: no bound from above, and no certificate."
    ]
    if options.markdown:
        options.markdown.write_text("\n\n".join([*map(markdown, tables), *notes]) + "\n")
    return Report("your_model", rows, tables, notes, details)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--seeds", type=int, default=20, help="data sets of each problem")
    parser.add_argument("--others", type=int, default=5, help="data sets for PyMC and BlackJAX")
    parser.add_argument("--without-others", action="store_true", help="no PyMC, no BlackJAX")
    parser.add_argument("--data-dir", type=Path, help="folder of ionosphere.csv and sonar.csv")
    parser.add_argument("--gap", type=float, default=0.2, help="what the sandwich is asked for")
    parser.add_argument("--chains", type=int, default=256, help="in each direction")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file as Markdown")
    parser.add_argument("--truth", action="store_true", help="compute the truth again first")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or "", options))
