"""Which row update closes the binary sandwich faster: bit by bit, flip by flip, or the whole row at
once?

    python benchmarks/row_update.py [--seeds 3]

Seconds and distributions until the mean single-chain
gap (the Jeffreys bound, less noisy than the gap of the combined bounds) is at most 4 nats, at the
paper's size.
"""

import argparse

from rich.console import Console
from rich.table import Table

from bracketz import BinaryAttributes, sandwich, simulate

GOAL = 4.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    table = Table("data seed", "update", "distributions", "seconds", "single-chain gap")
    total = {"bits": 0.0, "flips": 0.0, "whole": 0.0}
    for seed in seeds:
        for update in total:
            model = BinaryAttributes(row_update=update)
            data = simulate(model, seed=seed)
            seconds, effort = 0.0, 256
            while True:
                answer = sandwich(model, data, gap=1e9, first=effort)
                seconds += answer.seconds.run
                if answer.jeffreys_bound <= GOAL:
                    break
                effort *= 2
            total[update] += seconds
            table.add_row(
                str(seed), update, f"{effort:,}", f"{seconds:.1f}", f"{answer.jeffreys_bound:.2f}"
            )
    console = Console()
    console.print(table)
    for update in ("flips", "whole"):
        console.print(f"{update} / bits, seconds: {total[update] / total['bits']:.2f}")


if __name__ == "__main__":
    main()
