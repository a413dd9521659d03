"""The models bracketz ships. Registration is one line here."""

from bracketz.registry import load

REGISTRY = {
    "clustering": "bracketz.models.clustering:Clustering",
    "low-rank": "bracketz.models.low_rank:LowRank",
    "binary-attributes": "bracketz.models.binary_attributes:BinaryAttributes",
}
#: The same with their hyperparameters in the state.
INFERRED = {
    "inferred-clustering": "bracketz.models.inferred:InferredClustering",
    "inferred-low-rank": "bracketz.models.inferred:InferredLowRank",
    "inferred-binary-attributes": "bracketz.models.inferred:InferredBinaryAttributes",
}


def find(name: str) -> type:
    """A shipped model's class."""
    return load("model", name, REGISTRY | INFERRED)
