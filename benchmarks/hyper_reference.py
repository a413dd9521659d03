"""What a reference for the hyperparameters is worth: bounds from the prior and from it.

    python benchmarks/hyper_reference.py [simulated] [observed]

``simulated``: inferred models on data of their own (50 x 25; K = 10, 5, 10), both bounds of 64
chains at 512 distributions. ``observed``: iris (K = 3, 512) and wine (K = 3, 2,048), standardised,
the lower bound of 64 chains and the standard deviation of one chain's log w. Both by default.
Seconds are those of a whole call, compilation and pilot included.
"""

import sys
import time
from pathlib import Path

import numpy as np

import bracketz as bz
from bracketz.core.results import Combine
from bracketz.engine.anneal import Forward

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

SIZES = {
    bz.InferredClustering: 10,
    bz.InferredLowRank: 5,
    bz.InferredBinaryAttributes: 10,
}
CHAINS = 64


def line(*cells, widths=(34, 10, 22, 10, 8)) -> None:
    print("  ".join(f"{cell:<{w}}" for cell, w in zip(cells, widths, strict=False)), flush=True)


def simulated(distributions: int = 512) -> None:
    line("simulated, 512 distributions", "begins at", "bounds", "gap", "seconds")
    for cls, components in SIZES.items():
        model = cls(components)
        for seed in (0, 1):
            data = bz.simulate(model, 50, 25, seed=seed)
            for reference in (False, True):
                began = time.perf_counter()
                answer = bz.sandwich(
                    model,
                    data,
                    chains=CHAINS,
                    first=distributions,
                    max_effort=distributions,
                    reference=reference,
                )
                line(
                    f"{model.name} {components}, seed {seed}",
                    "reference" if reference else "prior",
                    f"[{answer.lower:.1f}, {answer.upper:.1f}]",
                    f"{answer.gap:.1f}",
                    f"{time.perf_counter() - began:.0f}",
                )


def observed() -> None:
    from datasets import table

    line("observed", "begins at", "lower bound", "SD, chain", "seconds")
    for name, distributions in (("iris", 512), ("wine", 2048)):
        y, _ = bz.standardized(table(name)[1])
        for cls in SIZES:
            for reference in (False, True):
                began = time.perf_counter()
                model = cls(3)
                ready = bz.prepare(model, y, reference=reference, chains=CHAINS)
                path = bz.Tempered() if ready.schedule is None else bz.Tempered(ready.schedule)
                path = path.through(distributions)
                values = bz.run_chains(
                    Forward(ready.model, y, path),
                    path.num_edges,
                    chains=CHAINS,
                    seed=0,
                    stream="lower",
                    session=bz.Session(),
                ).log_values
                lower, error = Combine.ARITHMETIC(values)
                line(
                    f"{name}, {model.name} 3, {distributions:,}",
                    ready.begins_at,
                    f"{lower:.1f} ± {error:.1f}",
                    f"{np.std(values, ddof=1):.1f}",
                    f"{time.perf_counter() - began:.0f}",
                )


if __name__ == "__main__":
    for part in sys.argv[1:] or ("simulated", "observed"):
        {"simulated": simulated, "observed": observed}[part]()
