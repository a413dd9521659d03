"""The models bracketz ships. A line here makes one known everywhere: to ``bracketz``, the command
line and the kit.

Each is a package of its own, with the model, its sweep, and what the estimators ask of it;
``hierarchical`` (unknown hyperparameters), ``missing_data`` and ``held_out`` wrap any of them.
"""
# ruff: isort: skip_file

from bracketz.models.clustering import Clustering, InferredClustering
from bracketz.models.low_rank import LowRank, InferredLowRank
from bracketz.models.binary_attributes import BinaryAttributes, InferredBinaryAttributes
from bracketz.models.ising import Ising
from bracketz.models.potts import Potts
from bracketz.models.boltzmann import RBM
from bracketz.models.decoder import Decoder
from bracketz.models.cox import CoxProcess
from bracketz.models.grouped_logistic import GroupedLogistic
