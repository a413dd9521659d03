"""The models bracketz ships. Registration is one line here."""

REGISTRY = {
    "clustering": "bracketz.models.clustering:Clustering",
    "low-rank": "bracketz.models.low_rank:LowRank",
    "binary-attributes": "bracketz.models.binary_attributes:BinaryAttributes",
}
