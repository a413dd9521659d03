"""How many clusters have the irises? Log evidence of 1 to 4, hyperparameters inferred.

    python examples/compare_iris.py

The same on the command line, with all three models:

    python examples/datasets.py iris > iris.csv
    bracketz compare --data iris.csv --components 2,3 --standardize
"""

from datasets import table

import bracketz as bz


def main(
    components: tuple[int, ...] = (1, 2, 3, 4), distributions: int | None = None
) -> bz.Comparison:
    _, values = table("iris")
    y, log_jacobian = bz.standardized(values)
    models = [bz.InferredClustering(components=k) for k in components]
    answer = bz.compare(
        models,
        y,
        log_jacobian=log_jacobian,
        twins=0,
        first=distributions,
        max_effort=distributions,
    )
    for one in answer.candidates:
        print(f"{one.name}: log evidence {one.log_ml:.1f}, {one.evidence.sides}")
    print(answer.verdict)
    return answer


if __name__ == "__main__":
    main()
