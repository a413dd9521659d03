"""How firm a verdict is: the same queries on trials and data sets drawn anew.

A bootstrap. Every task's trials are drawn with replacement, those behind the ground truth included,
and where a problem has several data sets these are drawn with replacement first. The share of such
redrawn experiments in which a claim holds says whether its verdict is more than chance. It is an
estimate: with one data set nothing is known of another, times are what they were, and the extremes
that some queries look at (a best rung) are bootstrapped poorly.
"""

import dataclasses

import numpy as np
import pandas as pd

from bracketz.testbed.store.frames import Frames

#: Redrawn experiments.
RESAMPLES = 50


def redrawn(frames: Frames, rng: np.random.Generator) -> Frames:
    """Data sets and trials with replacement. A data set drawn twice is two data sets."""
    parts: dict[str, list[pd.DataFrame]] = {"tasks": [], "trials": [], "details": []}
    for problem, seeds in frames.tasks.groupby("problem", sort=False).data_seed.unique().items():
        drawn = rng.choice(seeds, len(seeds)) if len(seeds) > 1 else seeds
        for copy, seed in enumerate(drawn):
            for name, kept in parts.items():
                table = getattr(frames, name)
                here = table[(table.problem == problem) & (table.data_seed == seed)]
                if len(seeds) > 1:
                    own = here.task.astype(str) + f" #{copy}"
                    here = here.assign(data_seed=copy, task=own)
                kept.append(here)
    tables = {name: pd.concat(kept, ignore_index=True) for name, kept in parts.items()}
    tables["trials"] = _values_redrawn(tables["trials"], rng)
    return dataclasses.replace(frames, **tables)


def _values_redrawn(trials: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Trials of a task keep their numbers and take each other's values; a task that serves two
    purposes has the same ones in both."""
    unique = trials.drop_duplicates(["task", "trial"]).sort_values(["task", "trial"])
    sizes = unique.groupby("task", sort=True).size().to_numpy()
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = first + (rng.random(len(unique)) * np.repeat(sizes, sizes)).astype(int)
    fresh = unique[["task", "trial"]].assign(log_ml=unique.log_ml.to_numpy()[chosen])
    return trials.drop(columns="log_ml").merge(fresh, on=["task", "trial"], how="left")
