"""Low rank: Y = U V + noise, with Gaussian factors."""

from bracketz.models.low_rank.inferred import InferredLowRank
from bracketz.models.low_rank.model import LowRank
from bracketz.models.low_rank.state import Left, LowRankState

__all__ = ["InferredLowRank", "Left", "LowRank", "LowRankState"]
