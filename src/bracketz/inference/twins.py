"""Twins: data like the observed ones, simulated at a fitted state, which is then an exact posterior
sample of theirs. The procedure is not told it; runs that are know the truth."""

import jax
import numpy as np

from bracketz.core.precision import double_precision
from bracketz.core.weights import bennett
from bracketz.inference.interval import Twin, Twins
from bracketz.inference.ladder import Clock
from bracketz.inference.procedure import Design, Measured, Procedure
from bracketz.models.factored import Prepared

#: Keeps twins apart from every run's randomness.
TWINS = 0x7717


def try_twins(
    procedure: Procedure, y, ready: Prepared, found: Measured, design: Design, clock: Clock
) -> Twins:
    """The procedure on twins of y, from the states it ``found`` there. What was decided for y is
    not decided again."""
    count = procedure.settings.twins
    each = []
    for number in range(1, count + 1):
        each.append(_try(procedure, y, ready, found, design, number, clock))
        procedure.session.progress.note(
            f"{procedure.prefix}twin {number} of {count}:"
            f" {each[-1].log_ml - each[-1].truth:+.2f} off"
        )
    return Twins(tuple(each), procedure.model.twin_told)


def _try(
    procedure: Procedure,
    y,
    ready: Prepared,
    found: Measured,
    design: Design,
    number: int,
    clock: Clock,
) -> Twin:
    """Twin ``number``: what the procedure says, and what runs of its own say that begin at the
    sample, too."""
    settings = procedure.settings
    key = jax.random.key(settings.seed, impl="threefry2x32")
    key = jax.random.fold_in(jax.random.fold_in(key, TWINS), number)
    with double_precision():
        end = jax.tree.map(lambda a: a[number % len(a)], found.ends)
        twin = procedure.model.twin(key, ready.restore(end), y)
        exact, data = jax.tree.map(np.asarray, twin)
    seed = int(np.random.default_rng([settings.seed, TWINS, number]).integers(1 << 31))
    own, runs = procedure.begin(data, f"twin {number}: ", seed)
    seen = procedure.measure(runs, design, clock)
    states = jax.tree.map(lambda a: np.stack([np.asarray(a)] * settings.starts), own.adopt(exact))
    path, forward = runs.forward(design.effort)
    ahead = runs.run(forward, path.num_edges, f"truth, forward {design.effort}", clock)
    back = procedure.reverse(runs, design, states, "truth, reverse", clock)
    truth = bennett(ahead.log_values, back)
    return Twin(
        low=seen.interval.low,
        high=seen.interval.high,
        log_ml=seen.point.log_ml,
        truth=truth.log_ml,
        truth_error=truth.standard_error,
    )
