"""The settings behind the paper's experiments, inferred from the numbers that it prints of them.

    python papers/grosse2015/calibrate.py [--keep calibration.jsonl] [--seeds 5] [--show]

The paper prints no hyperparameters. It prints numbers that depend on them: its cross-model table
(the log evidence of each data set under the three models, hyperparameters inferred) and the number
of steps of nested sampling with 5 transitions per step. This search was run before any
claim that is not about these numbers was looked at under its settings; they are frozen in
``full.toml`` and ``quick.toml``.

Per model a grid over the ratio of signal to noise variance, r = Var(signal) / Var(noise); for
binary attributes also over the attributes' probability. (Signal: ``center_variance``; K s_u^2
s_v^2; K pi s_a^2.) What remains is the scale: data and standard deviations times c shift the log
evidence by -N D log c, so the noise variance follows from the diagonal of the paper's table, and
moves nothing else but the weight of the hyperparameters' priors. (While searching it is set by the
evidence with hyperparameters fixed, some nats higher; the printed one is corrected for that.)

At each setting ``--seeds`` data sets are simulated (seeds from 1000, which no experiment uses) and
three statistics taken of each: how far the model that made the data leads the other two (AIS of
``DISTRIBUTIONS`` distributions, hyperparameters inferred), and the log of the mean number of
nested-sampling steps. The paper's data are one more data set at the true settings, so the distance
of a setting is minus twice the log density of the paper's three numbers under independent normals
with the mean and the predictive variance of ours, s^2 (1 + 1/n) + t^2. The tolerance t, 3 nats and
a fifth of the steps, is for what differs in the programs (priors of hyperparameters, runs that are
lower bounds, how nested sampling stops). The least distance wins; the column z is the paper's
number minus our mean, in those standard deviations.
"""

import argparse
import csv
import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from bracketz.papers.grosse2015.printed import CROSS, NESTED_STEPS

ROWS, COLUMNS = 50, 25
COMPONENTS = {"clustering": 10, "low-rank": 5, "binary-attributes": 10}
RATIOS = {
    "clustering": (0.28, 0.4, 0.57, 0.8),
    "low-rank": (0.7, 1.0, 1.4, 2.0, 2.8),
    "binary-attributes": (1.0, 1.4, 2.0, 2.8),
}
PROBABILITIES = (0.1, 0.2, 0.3, 0.5)
FIRST_SEED = 1000
DISTRIBUTIONS, TRIALS = 1000, 10
TRANSITIONS, NESTED_TRIALS = 5, 8
#: What programs may differ by: nats of a lead, log steps.
TOLERANCES = (3.0, 3.0, math.log(1.2))


class Setting(NamedTuple):
    """What decides how hard the data are; the scale follows from the paper's table."""

    model: str
    ratio: float
    probability: float | None = None

    def hyperparameters(self, noise: float) -> dict[str, Any]:
        k, signal = COMPONENTS[self.model], self.ratio * noise
        values: dict[str, Any] = {"components": k, "noise_variance": noise}
        if self.model == "clustering":
            return values | {"center_variance": signal}
        if self.model == "low-rank":
            factor = math.sqrt(signal / k)
            return values | {"left_variance": factor, "right_variance": factor}
        p = self.probability
        assert p is not None
        return values | {"attribute_probability": p, "feature_variance": signal / (k * p)}


BINARY = "binary-attributes"
SETTINGS = (
    *(Setting(m, r) for m in ("clustering", "low-rank") for r in RATIOS[m]),
    *(Setting(BINARY, r, p) for p in PROBABILITIES for r in RATIOS[BINARY]),
)


def paper_statistics(model: str) -> tuple[float, ...]:
    """(lead over one wrong model, over the other, log steps), as printed."""
    row = CROSS[model]
    own = row[f"inferred-{model}"]
    leads = (own - value for fit, value in row.items() if fit != f"inferred-{model}")
    return (*leads, math.log(NESTED_STEPS[model]))


def statistics(model: str, found: dict[str, Any]) -> tuple[float, ...]:
    """The same of one of our data sets."""
    fits = [f"inferred-{m}" for m in COMPONENTS if m != model]
    own = found["log_evidence"][f"inferred-{model}"]
    return (*(own - found["log_evidence"][fit] for fit in fits), math.log(found["steps"]))


def rescaled(noise: float, log_evidence: float, wanted: float) -> float:
    """The noise variance at which the log evidence is as wanted, all variances in proportion."""
    return noise * math.exp(2 * (log_evidence - wanted) / (ROWS * COLUMNS))


class Comparison(NamedTuple):
    """A setting against the paper's numbers."""

    distance: float
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    z: tuple[float, ...]


def compared(ours: list[tuple[float, ...]], paper: tuple[float, ...]) -> Comparison:
    """Minus twice the log predictive density of the paper's numbers, and what it is made of."""
    n = len(ours)
    means = tuple(mean(column) for column in zip(*ours, strict=True))
    deviations = tuple(stdev(column) for column in zip(*ours, strict=True))
    spread = [
        math.sqrt(s * s * (1 + 1 / n) + t * t) for s, t in zip(deviations, TOLERANCES, strict=True)
    ]
    z = tuple((p - m) / s for p, m, s in zip(paper, means, spread, strict=True))
    distance = sum(v * v for v in z) + 2 * sum(math.log(s) for s in spread)
    return Comparison(distance, means, deviations, z)


class Search:
    """Runs what is missing and keeps it, a line per data set."""

    def __init__(self, keep: Path):
        self.keep = keep
        lines = keep.read_text(encoding="utf-8").splitlines() if keep.exists() else []
        self.found = {self._key(row := json.loads(line)): row for line in lines}

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple:
        return (row["kind"], row["model"], row["ratio"], row["probability"], row["seed"])

    def _kept(self, kind: str, setting: Setting, seed: int, make) -> dict[str, Any]:
        key = (kind, *setting, seed)
        if key not in self.found:
            row = {"kind": kind, **setting._asdict(), "seed": seed} | make()
            with self.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            self.found[key] = row
        return self.found[key]

    def noise(self, setting: Setting, seeds: range) -> float:
        """The noise variance at which the true model's evidence, hyperparameters fixed, is the
        paper's on average."""
        wanted = CROSS[setting.model][f"inferred-{setting.model}"]

        def score(seed: int):
            import bracketz as bz

            data = simulated(setting, 1.0, seed)
            ais = bz.AIS(distributions=DISTRIBUTIONS)
            return {
                "log_evidence": bz.estimate(model_of(setting, 1.0), data, ais, trials=TRIALS).log_ml
            }

        values = [
            self._kept("scale", setting, seed, lambda seed=seed: score(seed))["log_evidence"]
            for seed in seeds
        ]
        return rescaled(1.0, mean(values), wanted)

    def data_set(self, setting: Setting, noise: float, seed: int) -> dict[str, Any]:
        """Three fits and the steps of nested sampling."""
        import bracketz as bz

        def make():
            data = simulated(setting, noise, seed)
            nested = bz.estimate(
                model_of(setting, noise),
                data,
                bz.Nested(transitions=TRANSITIONS),
                trials=NESTED_TRIALS,
            )
            return {
                "noise": noise,
                "log_evidence": {f"inferred-{m}": fitted(m, data.y) for m in COMPONENTS},
                "steps": mean(nested.details["steps"]),
            }

        return self._kept("data", setting, seed, make)


def model_of(setting: Setting, noise: float):
    import bracketz as bz

    kinds = {"clustering": bz.Clustering, "low-rank": bz.LowRank}
    return kinds.get(setting.model, bz.BinaryAttributes)(**setting.hyperparameters(noise))


def simulated(setting: Setting, noise: float, seed: int):
    import bracketz as bz

    return bz.simulate(model_of(setting, noise), ROWS, COLUMNS, seed=seed)


def fitted(model: str, y) -> float:
    """Log evidence with hyperparameters inferred."""
    import bracketz as bz

    kinds = {"clustering": bz.InferredClustering, "low-rank": bz.InferredLowRank}
    fit = kinds.get(model, bz.InferredBinaryAttributes)(COMPONENTS[model])
    return bz.estimate(fit, y, bz.AIS(distributions=DISTRIBUTIONS), trials=TRIALS).log_ml


COLUMNS_SHOWN = (
    "model", "ratio", "probability", "noise_variance", "data_sets",
    "lead_1", "sd_1", "z_1", "lead_2", "sd_2", "z_2", "steps", "z_steps", "distance",
)  # fmt: skip


def table(search: Search) -> list[dict[str, Any]]:
    """A row per setting that has data sets, nearest first within its model."""
    groups: dict[Setting, list[dict[str, Any]]] = defaultdict(list)
    for row in search.found.values():
        if row["kind"] == "data":
            groups[Setting(row["model"], row["ratio"], row["probability"])].append(row)
    rows = []
    for setting, found in groups.items():
        if len(found) < 2:
            continue
        ours = [statistics(setting.model, row) for row in found]
        c = compared(ours, paper_statistics(setting.model))
        own = mean(row["log_evidence"][f"inferred-{setting.model}"] for row in found)
        noise = rescaled(found[0]["noise"], own, CROSS[setting.model][f"inferred-{setting.model}"])
        values = (
            *setting, noise, len(found),
            c.means[0], c.deviations[0], c.z[0], c.means[1], c.deviations[1], c.z[1],
            math.exp(c.means[2]), c.z[2], c.distance,
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS_SHOWN, values, strict=True)))
    order = list(COMPONENTS)
    return sorted(rows, key=lambda row: (order.index(row["model"]), row["distance"]))


def show(search: Search, out: Path | None) -> None:
    rows = table(search)
    if out is not None:
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS_SHOWN, lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow(
                    {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
                )
    for model in COMPONENTS:
        first, second, steps = paper_statistics(model)
        others = [m for m in COMPONENTS if m != model]
        print(
            f"\n{model}: leads over {others[0]} and {others[1]}, steps;"
            f" the paper: {first:.1f}, {second:.1f}, {math.exp(steps):.0f}"
        )
        for row in (row for row in rows if row["model"] == model):
            p = "" if row["probability"] is None else f", probability {row['probability']}"
            print(
                f"  ratio {row['ratio']:<5}{p}, noise variance {row['noise_variance']:.3f}:"
                f" {row['lead_1']:6.1f} ± {row['sd_1']:<5.1f} {row['lead_2']:6.1f} ±"
                f" {row['sd_2']:<5.1f} {row['steps']:5.0f};"
                f" z {row['z_1']:+.1f} {row['z_2']:+.1f} {row['z_steps']:+.1f},"
                f" distance {row['distance']:.1f}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, default=Path("calibration.jsonl"), help="of all runs")
    parser.add_argument("--seeds", type=int, default=5, help="data sets of each setting")
    parser.add_argument("--models", default=",".join(COMPONENTS), help="with commas between")
    parser.add_argument("--csv", type=Path, help="file for the table")
    parser.add_argument("--show", action="store_true", help="show what is kept, run nothing")
    options = parser.parse_args()
    search = Search(options.keep)
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    for setting in () if options.show else SETTINGS:
        if setting.model in options.models.split(","):
            noise = search.noise(setting, seeds)
            for seed in seeds:
                search.data_set(setting, noise, seed)
            print(f"{setting}: noise variance {noise:.3f}", file=sys.stderr, flush=True)
    show(search, options.csv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
