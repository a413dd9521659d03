"""Data sets that ship with scikit-learn, as CSV on standard output.

    python examples/datasets.py iris > iris.csv

iris (150 x 4), wine (178 x 13), digits (100 of the 8 x 8 pictures of handwritten 0, 1 and 2, the
pixels that vary).
"""

import csv
import sys

import numpy as np
from sklearn import datasets


def table(name: str) -> tuple[list[str], np.ndarray]:
    """(column names, values)."""
    if name == "iris":
        found = datasets.load_iris()
        return list(found.feature_names), found.data
    if name == "wine":
        found = datasets.load_wine()
        return list(found.feature_names), found.data
    if name == "digits":
        found = datasets.load_digits(n_class=3)
        pixels = found.data[:100]
        varying = pixels.std(axis=0) > 1
        return [str(n) for n in np.array(found.feature_names)[varying]], pixels[:, varying]
    sys.exit(f"no data set '{name}'; choose from iris, wine, digits")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    names, values = table(sys.argv[1])
    writer = csv.writer(sys.stdout)
    writer.writerow(names)
    writer.writerows(values.tolist())
