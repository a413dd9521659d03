"""The log evidence of a log-Gaussian Cox process on the Finnish pines, by length of correlation.

    python examples/large/pines.py [--side 16] [--lengths 0.015,0.03,0.06,0.12]

126 pine saplings on the unit square (``finnish_pines.csv``; recorded by S. Kellomaki, University of
Joensuu, and used by Moller, Syversveen and Waagepetersen 1998, whose other parameters are taken).
The data are observed: the lower end of each interval is certified, the upper end conditional.
"""

import argparse
from pathlib import Path

import numpy as np

import bracketz as bz


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=16, help="cells in each direction")
    parser.add_argument("--lengths", default="0.015,0.03,0.06,0.12")
    parser.add_argument("--distributions", type=int, default=400)
    options = parser.parse_args()
    points = np.loadtxt(Path(__file__).with_name("finnish_pines.csv"), delimiter=",", skiprows=1)
    print("length   log evidence      95 % interval        upper end is")
    for length in map(float, options.lengths.split(",")):
        model = bz.CoxProcess(length=length, rows=options.side, columns=options.side)
        answer = bz.evidence(
            model,
            model.counts(points),
            twins=0,
            starts=4,
            chains=16,
            first=options.distributions,
            max_effort=options.distributions,
        )
        low, high = answer.interval.low, answer.interval.high
        end = "no bound" if high is None else f"{high:.2f}"
        value = f"{answer.log_ml:.2f} ± {answer.standard_error:.2f}"
        print(f"{length:6.3f}   {value}   [{low:.2f}, {end}]   {answer.kind}", flush=True)


if __name__ == "__main__":
    main()
