"""Where the gap of a tempered sandwich comes from, and a schedule that makes it smaller.

Edge t adds l_t(x) = log f_t(x) - log f_{t-1}(x) to log w: forwards at a state that should follow
f_{t-1}, backwards at one that should follow f_t. If every kernel mixed perfectly, the expected gap
of a single chain (mean reverse less mean forward log-weight, the Jeffreys bound) would be

    sum_t (E_{f_t} - E_{f_{t-1}})[l_t]  =  sum_t  integral_0^1 Var_u(l_t) du,

with Var_u the variance under the geometric mean f_{t-1}^(1-u) f_t^u. This is the *schedule cost*:
it remains when the sampler is perfect. The trapezoid rule needs the variance at both ends, and
these are what the two directions show: (variance of l_t over forward chains + variance over reverse
chains) / 2, summed over edges, is the estimate. What the measured gap has beyond it is the *mixing
cost*. The estimate uses the marginals the chains really had: reverse chains begin at one shared
sample, so they spread too little at first, and chains that lag behind the path have another
variance than f_t. Both errors vanish with the gap; far from convergence the split is a rough guide.

With E edges at inverse temperatures beta(t / E) the variance of an edge is r(beta) (d beta)^2, r
the variance of d log f / d beta, so the schedule cost is about (1/E) integral r (d beta / ds)^2 ds,
least when sqrt(r) d beta / ds is constant: equal increments of the cumulative square root of the
per-edge variance, with (integral sqrt(r) d beta)^2 / E left over. ``adapt`` builds that schedule
from the variances of a pilot. The table is then frozen: the runs that are reported draw other
random numbers than the pilot, so given the table their weights are unbiased as ever.

Slow mixing makes the gap r (d beta)^2 tau per edge, tau the integrated autocorrelation time of l_t
in sweeps, to leading order: also proportional to 1 / E. Hence gap * E is nearly constant, and the
effort for another gap is a proportion (``predict``).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bracketz.core.path import Path
from bracketz.core.precision import double_precision
from bracketz.engine.anneal import Annealing
from bracketz.engine.recorder import Recorded, edge_variances, edges_in_cells
from bracketz.engine.run import Outcome, run_chains
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.paths.schedules import Adapted
from bracketz.paths.tempered import Tempered

#: Entries of a table of inverse temperatures.
KNOTS = 129
#: Cells over which a pilot's variances are averaged: 25 chains know a variance to 30 %, eight cells
#: of them to 10 %.
WINDOW = 8
#: No part of the pilot's schedule is crossed at more than 1 / FLOOR times its average speed,
#: whatever the pilot saw there.
FLOOR = 0.05


def schedule_cost(num_edges: int, *outcomes: Outcome) -> float:
    """The single-chain gap (nats) that perfect mixing would leave."""
    return float(np.sum(edges_in_cells(num_edges) * edge_variances(*outcomes)))


def initial_table() -> np.ndarray:
    """The default sigmoid, as a table: the pilot runs on it, with the program of the runs to
    come."""
    with double_precision():
        return np.asarray(Tempered().through(KNOTS).inverse_temperature(np.arange(KNOTS)))


def adapt(table: np.ndarray, num_edges: int, *outcomes: Outcome) -> np.ndarray:
    """A table by equal increments of the cumulative square root of the per-edge variance.

    ``outcomes`` are recorded runs along ``table``, one or both directions.
    """
    count = edges_in_cells(num_edges)
    used = count > 0
    variance, count = edge_variances(*outcomes)[used], count[used]
    if not np.all(np.isfinite(variance)):
        raise InputError(
            "the pilot met infinite log-weights, to which no schedule adapts; use schedule sigmoid"
        )
    window = np.ones(min(WINDOW, len(variance)))
    smooth = np.convolve(variance, window, "same") / np.convolve(
        np.ones_like(variance), window, "same"
    )
    root = np.sqrt(smooth)
    if not root.any():
        return table  # a likelihood that does not depend on the state: nothing to adapt to
    length = np.cumsum(count * np.maximum(root, FLOOR * np.average(root, weights=count)))
    position = np.interp(
        np.linspace(0.0, 1.0, KNOTS),
        np.concatenate([[0.0], length / length[-1]]),
        np.concatenate([[0.0], np.cumsum(count) / num_edges]),
    )
    adapted = np.interp(position, np.linspace(0.0, 1.0, len(table)), table)
    adapted[0], adapted[-1] = 0.0, 1.0
    return adapted


class Pilot(NamedTuple):
    """A path tuned by a pilot and frozen, and what that took."""

    path: Tempered
    distributions: int
    run_seconds: float
    compile_seconds: float


def run_pilot(
    path: Tempered,
    *programs: Callable[[Path], Annealing],
    chains: int,
    seed: int,
    session: Session,
) -> Pilot:
    """Run short forward chains along the sigmoid, and adapt to them.

    ``path`` has a schedule that waits for its pilot (``Adapted()``). The stream "pilot lower" keeps
    the pilot's randomness apart from every measured run's. Forward chains only: a pilot from the
    exact sample would make the table depend on it, so that given the table it is no exact sample
    any more, and reverse weights along it would not average to 1 / p(y).
    """
    schedule = path.schedule
    assert isinstance(schedule, Adapted), "only an adapted schedule has a pilot"
    if chains < 2:
        raise InputError(
            f"schedule adapted needs at least 2 trials or chains to see a variance, got {chains}"
        )
    table = initial_table()
    trial = Tempered(schedule.frozen(table)).through(schedule.pilot)
    outcomes = []
    for along in programs:
        program = along(trial)
        side = "lower" if program.sign > 0 else "upper"
        outcomes.append(
            run_chains(
                Recorded(program),
                trial.num_edges,
                chains=chains,
                seed=seed,
                stream=f"pilot {side}",
                session=session,
            )
        )
    return Pilot(
        Tempered(schedule.frozen(adapt(table, trial.num_edges, *outcomes))),
        schedule.pilot,
        sum(o.run_seconds for o in outcomes),
        sum(o.compile_seconds for o in outcomes),
    )


def predict(gap: float, target: float, distributions: int) -> int:
    """Distributions for a single-chain gap of ``target``, from a run that left ``gap``: E is
    proportional to 1 / gap."""
    return max(2, 1 + int(np.ceil((distributions - 1) * gap / target)))
