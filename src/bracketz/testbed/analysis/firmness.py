"""How firm a verdict is: the same queries on trials and data sets drawn anew.

A bootstrap. Every task's trials are drawn with replacement, those behind the ground truth included,
and where a problem has several data sets these are drawn with replacement first. The share of such
redrawn experiments in which a claim holds says whether its verdict is more than chance. It is an
estimate: with one data set nothing is known of another, times are what they were, the extremes that
some queries look at (a best rung) are bootstrapped poorly, and what reverse trials of a data set
share, their one exact sample, is not drawn again.
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
    tables["trials"] = _redrawn(tables["trials"], ["task"], "log_ml", rng)
    tables["details"] = _redrawn(tables["details"], ["task", "name"], "value", rng)
    return dataclasses.replace(frames, **tables)


def _redrawn(
    table: pd.DataFrame, groups: list[str], value: str, rng: np.random.Generator
) -> pd.DataFrame:
    """Trials of a group keep their numbers and take each other's values; a task that serves two
    purposes has the same ones in both."""
    keys = [*groups, "trial"]
    unique = table.drop_duplicates(keys).sort_values(keys)
    sizes = unique.groupby(groups, sort=True).size().to_numpy()
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = first + (rng.random(len(unique)) * np.repeat(sizes, sizes)).astype(int)
    fresh = unique[keys].assign(**{value: unique[value].to_numpy()[chosen]})
    return table.drop(columns=value).merge(fresh, on=keys, how="left")
