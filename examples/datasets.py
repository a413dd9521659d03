"""Data sets that ship with scikit-learn, as CSV on standard output.

    python examples/datasets.py iris > iris.csv

iris (150 x 4), wine (178 x 13), digits (100 of the 8 x 8 pictures of handwritten 0, 1 and 2, the
pixels that vary); with a response, in the last column: breast-cancer (569 x 30, ``benign``),
diabetes (442 x 10, ``progression``).
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
    if name == "breast-cancer":
        found = datasets.load_breast_cancer()
        return [*found.feature_names, "benign"], np.column_stack([found.data, found.target])
    if name == "diabetes":
        found = datasets.load_diabetes(scaled=False)
        return [*found.feature_names, "progression"], np.column_stack([found.data, found.target])
    sys.exit(f"no data set '{name}'; choose from iris, wine, digits, breast-cancer, diabetes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    names, values = table(sys.argv[1])
    writer = csv.writer(sys.stdout)
    writer.writerow(names)
    writer.writerows(values.tolist())
