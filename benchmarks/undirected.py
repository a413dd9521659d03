"""Both bounds on log Z against the exact value: Ising models below and at the critical coupling,
and machines small enough to enumerate.

    python benchmarks/undirected.py [--json] [--smoke] [--large [--side 256]]

Exact samples come from coupling from the past (Ising) and from enumeration (machines), so nothing
is simulated. The truth is a transfer matrix (free boundary) or Kaufman's formula (torus). Goals:
each bound within 0.05 nats of it (Ising), 0.1 (machines). ``--large``: one big torus instead (a
card does 256 x 256), each bound within 1 nat.
"""

import sys
import time

import numpy as np
from report import Report, Row, Table, at_most, main

import bracketz as bz
from bracketz.models.lattice import kaufman

#: 0.4407: half the logarithm of 1 + sqrt 2.
CRITICAL = float(np.log1p(np.sqrt(2)) / 2)
#: Side, whether it is a torus, coupling.
GRIDS = (
    (8, False, 0.2),
    (8, False, CRITICAL),
    (8, True, 0.3),
    (8, True, CRITICAL),
    (12, False, 0.35),
    (12, True, CRITICAL),
    (16, False, 0.2),
    (16, False, 0.35),
    (16, False, CRITICAL),
    (16, True, CRITICAL),
)
#: Hidden units, visible units, scale of the weights.
MACHINES = ((8, 16, 0.5), (12, 30, 0.5), (20, 64, 0.3))
WITHIN, MACHINES_WITHIN, LARGE_WITHIN = 0.05, 0.1, 1.0
#: Couplings of the big torus.
LARGE = (0.2, 0.3, 0.4, CRITICAL)


#: Chains in each direction.
CHAINS = 192


def measured(model, y, distributions: int, chains: int = CHAINS):
    """(the sandwich at this effort, seconds in all)."""
    began = time.perf_counter()
    answer = bz.sandwich(
        model,
        y,
        gap=0.05,
        chains=chains,
        path=bz.Tempered(bz.Linear()),
        first=distributions,
        max_effort=distributions,
    )
    return answer, time.perf_counter() - began


def run(options) -> Report:
    rows: list[Row] = []
    lines: list[list[str]] = []
    grids, machines = (GRIDS[:1], MACHINES[:1]) if options.smoke else (GRIDS, MACHINES)
    if options.large:
        grids, machines = (), ()
    for coupling in LARGE if options.large else ():
        side, model = options.side, bz.Ising(coupling=coupling, periodic=True)
        case = f"ising {side} x {side}, torus, {coupling:.4f}"
        distributions = int(8 * side**2 * coupling**2)
        found = measured(model, np.zeros((side, side)), distributions, chains=32)
        add(rows, lines, case, kaufman(side, side, coupling), LARGE_WITHIN, *found)
        print(f"{case}: {lines[-1]}", file=sys.stderr, flush=True)
    for side, torus, coupling in grids:
        model, y = bz.Ising(coupling=coupling, periodic=torus), np.zeros((side, side))
        truth = kaufman(side, side, coupling) if torus else model.exact_evidence(y)
        # The variance of a chain's log-weight goes as the sites times the coupling squared over the
        # distributions.
        distributions = 16 if options.smoke else int(84 * side**2 * coupling**2)
        case = f"ising {side} x {side}, {'torus' if torus else 'free'}, {coupling:.4f}"
        add(rows, lines, case, truth, WITHIN, *measured(model, y, distributions))
        print(f"{case}: {lines[-1][4]}, {lines[-1][5]}", file=sys.stderr, flush=True)
    for hidden, visible, scale in machines:
        model = bz.RBM(scale=scale)
        y = bz.simulate(model, hidden + 1, visible + 1, seed=1).y
        case = f"rbm {visible} x {hidden}, scale {scale}"
        found = measured(model, y, 16 if options.smoke else 2000)
        add(rows, lines, case, model.exact_evidence(y), MACHINES_WITHIN, *found)
    columns = [
        "model",
        "exact",
        "lower",
        "upper",
        "off",
        "off",
        "certificate, 90 %",
        "run s",
        "all s",
    ]
    return Report("undirected", rows, [Table("log Z, both sides", columns, lines)])


def add(rows, lines, case, truth, within, answer, seconds) -> None:
    below, above = answer.lower - truth, answer.upper - truth
    for name, off in (("lower bound off", below), ("upper bound off", above)):
        rows.append(Row("undirected", case, name, abs(off), "nats", at_most(within)))
    span = answer.certificate
    lines.append(
        [
            case,
            f"{truth:.3f}",
            f"{answer.lower:.3f}",
            f"{answer.upper:.3f}",
            f"{below:+.3f}",
            f"{above:+.3f}",
            f"[{span.low:.2f}, {span.high:.2f}]",
            f"{answer.seconds.run:.1f}",
            f"{seconds:.1f}",
        ]
    )


def options(parser) -> None:
    parser.add_argument("--large", action="store_true", help="one big torus instead")
    parser.add_argument("--side", type=int, default=256, help="of the big torus")


if __name__ == "__main__":
    raise SystemExit(main(run, __doc__, options))
