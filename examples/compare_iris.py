"""How many clusters have the irises? Evidence of 1 to 4, hyperparameters inferred.

    python examples/compare_iris.py

The same on the command line, with all three models and a validation:

    python examples/datasets.py iris > iris.csv
    bracketz compare --data iris.csv --components 2,3 --standardize --validate
"""

from datasets import table

import bracketz as bz


def main(distributions: int = 4096) -> bz.Comparison:
    _, values = table("iris")
    y, log_jacobian = bz.standardized(values)
    models = [bz.InferredClustering(components=k) for k in (1, 2, 3, 4)]
    answer = bz.compare(y, models, max_effort=distributions, log_jacobian=log_jacobian)
    for candidate in answer.candidates:
        bound = f"{candidate.lower:.1f} ± {candidate.standard_error:.1f}"
        print(f"{candidate.label}: log evidence >= {bound}")
    print(answer.verdict)
    return answer


if __name__ == "__main__":
    main()
