"""The numbers that stand beside the paper's claims, from the experiment of explanations.

    bracketz experiment run papers/grosse2015/explain.toml --store explain.db
    python papers/grosse2015/explained.py explain.db

Writes ``src/bracketz/papers/grosse2015/explained/measures.csv``: a row per estimator, setting and
model of ``explain.toml``, pooled over its data sets. ``reasons.py`` there says which rows
belong to which claim, and what they show; tests hold every sentence against them.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from bracketz.papers.grosse2015 import reasons
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import measures

#: RMSE and bias of single trials, error of all together (nats), and seconds per trial.
COLUMNS = (
    "problem", "curve", "rung", "rmse", "bias", "combined_rmse", "seconds", "trials", "data_sets",
)  # fmt: skip


def table(store: Path) -> pd.DataFrame:
    """Of every rung that the store has a truth for."""
    pool = measures.pooled(measures.summary(read_frames(store)))
    rows = pool[pool.rmse.notna()][list(COLUMNS)]
    digits = {"rmse": 2, "bias": 2, "combined_rmse": 2}
    return rows.round(digits).assign(seconds=rows.seconds.map(lambda s: float(f"{s:.2g}")))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--csv", type=Path, default=reasons.MEASURES)
    options = parser.parse_args()
    found = table(options.store)
    found.to_csv(options.csv, index=False, lineterminator="\n")
    print(f"{len(found)} rows in {options.csv}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
