"""bracketz brackets log Z: marginal likelihoods with two-sided bounds you can trust.

    import bracketz as bz

    model = bz.Clustering(components=10)
    data = bz.simulate(model, rows=50, columns=25, seed=0)
    answer = bz.sandwich(model, data, gap=1.0)
    print(answer.lower, answer.log_ml, answer.upper, answer.certificate)

Importing bracketz changes no JAX setting; names load when they are first used.
"""

import importlib
from typing import TYPE_CHECKING

from bracketz._version import __version__

if TYPE_CHECKING:
    from bracketz.answer import Certificate, Combine, Estimate, Side
    from bracketz.bidirectional import Sandwich, sandwich
    from bracketz.comparison import Comparison, compare
    from bracketz.errors import InputError
    from bracketz.estimators.ais import AIS
    from bracketz.estimators.base import Estimator, estimate
    from bracketz.estimators.bic import BIC
    from bracketz.estimators.chib import CMS, Chib
    from bracketz.estimators.harmonic_mean import HarmonicMean
    from bracketz.estimators.likelihood_weighting import LikelihoodWeighting
    from bracketz.estimators.nested import Nested
    from bracketz.estimators.reverse_ais import ReverseAIS
    from bracketz.estimators.shme import SHME
    from bracketz.estimators.smc import SMC
    from bracketz.estimators.variational_bayes import SymmetricVariationalBayes, VariationalBayes
    from bracketz.models.base import Model
    from bracketz.models.binary_attributes import BinaryAttributes
    from bracketz.models.clustering import Clustering
    from bracketz.models.held_out import HeldOut
    from bracketz.models.incomplete import Incomplete
    from bracketz.models.inferred import InferredBinaryAttributes, InferredClustering, InferredLowRank
    from bracketz.models.low_rank import LowRank
    from bracketz.pytree import pytree_dataclass, static
    from bracketz.session import Checkpoint, Session
    from bracketz.simulation import Data, simulate

_HOMES = {
    "bracketz.answer": ("Certificate", "Combine", "Estimate", "Side"),
    "bracketz.estimators.ais": ("AIS",),
    "bracketz.estimators.base": ("Estimator", "estimate"),
    "bracketz.estimators.bic": ("BIC",),
    "bracketz.estimators.chib": ("CMS", "Chib"),
    "bracketz.estimators.harmonic_mean": ("HarmonicMean",),
    "bracketz.estimators.likelihood_weighting": ("LikelihoodWeighting",),
    "bracketz.estimators.nested": ("Nested",),
    "bracketz.estimators.reverse_ais": ("ReverseAIS",),
    "bracketz.estimators.shme": ("SHME",),
    "bracketz.estimators.smc": ("SMC",),
    "bracketz.estimators.variational_bayes": ("SymmetricVariationalBayes", "VariationalBayes"),
    "bracketz.comparison": ("Comparison", "compare"),
    "bracketz.errors": ("InputError",),
    "bracketz.models.base": ("Model",),
    "bracketz.models.binary_attributes": ("BinaryAttributes",),
    "bracketz.models.clustering": ("Clustering",),
    "bracketz.models.held_out": ("HeldOut",),
    "bracketz.models.incomplete": ("Incomplete",),
    "bracketz.models.inferred": ("InferredBinaryAttributes", "InferredClustering", "InferredLowRank"),
    "bracketz.models.low_rank": ("LowRank",),
    "bracketz.pytree": ("pytree_dataclass", "static"),
    "bracketz.bidirectional": ("Sandwich", "sandwich"),
    "bracketz.session": ("Checkpoint", "Session"),
    "bracketz.simulation": ("Data", "simulate"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str):
    if name == "testbed":
        return importlib.import_module("bracketz.testbed")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bracketz' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__():
    return sorted(__all__)
