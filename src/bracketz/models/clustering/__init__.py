"""Clustering: a mixture of K spherical Gaussians with known variances and unknown centres."""

from bracketz.models.clustering.inferred import InferredClustering
from bracketz.models.clustering.model import Clustering
from bracketz.models.clustering.state import Centers, ClusteringState

__all__ = ["Centers", "Clustering", "ClusteringState", "InferredClustering"]
