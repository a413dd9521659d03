"""The loop over simulated data sets that draws and measures them, and their seeds.

Data set k of a seed is always the same one, so that what is kept in a checkpoint, or shared between
two ways of measuring, is of the same data.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bracketz.engine.session import Session


def seed_of(seed: int, tag: int, number: int) -> int:
    """The seed of one data set, and of the runs on it; ``tag`` keeps uses apart."""
    return int(np.random.default_rng([seed, tag, number]).integers(1 << 31))


def over_data_sets(
    measure: Callable[[int], Sequence[float]],
    count: int,
    session: Session,
    shown: Callable[[Any], float],
) -> np.ndarray:
    """What ``measure`` gives of data sets 0, 1, ..., a row each; fewer where time is up.

    Args:
        measure: numbers of a data set.
        count: how many data sets.
        session: its checkpoint keeps the rows, its deadline ends the loop once there are two.
        shown: what whoever watches sees of a row; they see its average.
    """
    kept = session.restore("data sets")
    seen: list[Any] = [] if kept is None else list(kept[1][0][:count])
    with session.task("data sets", count, len(seen)) as report:
        while len(seen) < count and not (session.expired() and len(seen) > 1):
            seen.append(measure(len(seen)))
            report(len(seen), float(np.mean([shown(row) for row in seen])))
            if session.wants_checkpoint(len(seen) == count):
                session.save("data sets", len(seen), [np.array(seen)])
    return np.array(seen)
