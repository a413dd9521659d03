"""Every estimator on every model at the paper's size: error against the sandwich, side and time.

    python benchmarks/all_estimators.py [--json FILE] [--model NAME] [--only vb,nested]

25 trials each on data seed 0. "one trial" is the root mean squared error of single trials against
the ground truth, "combined" the error of their combination; seconds are amortised, per trial. The
ground truth is a sandwich closed to 0.5 nats.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bracketz import estimate, sandwich, simulate
from bracketz.cli.parsing import make_estimator
from bracketz.models.registry import MODELS, model_class

KNOBS = {
    "bic": ["--restarts", "5"],
    "lw": ["--proposals", "100000"],
    "hme": ["--proposals", "10000"],
    "ais": ["--distributions", "2000"],
    "reverse-ais": ["--distributions", "2000"],
    "smc": ["--transitions", "100"],
    "shme": ["--transitions", "100"],
    "vb": ["--restarts", "20"],
    "vb-sym": ["--restarts", "20"],
    "chib": ["--samples", "2000"],
    "cms": ["--samples", "2000"],
    "nested": ["--transitions", "20"],
}
#: Further settings: the paper's for nested sampling, the hint experiment, and what brings SMC and
#: nested sampling within 10 nats on binary attributes.
MORE = [("nested", ["--transitions", "5"]), ("vb", ["--restarts", "1", "--start", "hint"])]
BINARY = [
    ("smc", ["--transitions", "100", "--particles", "10"]),
    ("nested", ["--transitions", "20", "--particles", "6"]),
]


def score(model, data, truth, name, words, trials=25):
    answer = estimate(model, data, make_estimator(name, words), trials=trials)
    errors = np.array(answer.log_ml_trials) - truth
    return {
        "estimator": name,
        "knob": " ".join(words),
        "side": str(answer.side),
        "mean_error": float(errors.mean()),
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "combined_error": answer.log_ml - truth,
        "seconds": answer.seconds.run / trials,
        "steps": float(np.mean(answer.details["steps"])) if "steps" in answer.details else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--only", help="estimators, with commas between")
    options = parser.parse_args()
    console = Console()
    results = {}
    for label in [options.model] if options.model else MODELS:
        model = model_class(label)()
        data = simulate(model, seed=0)
        truth = sandwich(model, data, gap=0.5, first=1024, seed=1)
        title = f"{label}: ground truth {truth.log_ml:.2f} ± {truth.standard_error:.2f}"
        table = Table(
            "estimator", "knob", "side", "mean", "one trial", "combined", "s per trial", title=title
        )
        settings = [*KNOBS.items(), *MORE, *(BINARY if label == "binary-attributes" else [])]
        if options.only:
            settings = [
                (name, words) for name, words in settings if name in options.only.split(",")
            ]
        rows = []
        for name, words in track(settings, label, console=Console(stderr=True)):
            rows.append(score(model, data, truth.log_ml, name, words))
            print(f"{label} {name} {rows[-1]['seconds'] * 25:.1f} s", file=sys.stderr)
        for r in rows:
            steps = f" ({r['steps']:.0f} steps)" if r["steps"] else ""
            table.add_row(
                r["estimator"],
                r["knob"] + steps,
                r["side"],
                f"{r['mean_error']:+.1f}",
                f"{r['rmse']:.1f}",
                f"{r['combined_error']:+.1f}",
                f"{r['seconds']:.3f}",
            )
        console.print(table)
        results[label] = {"truth": truth.log_ml, "error": truth.standard_error, "rows": rows}
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
