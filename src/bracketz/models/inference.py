"""The four inference capabilities of the shipped models, found by name when first needed.

Their implementations know the models, so the models cannot import them at the top.
"""

import importlib
from typing import ClassVar

from bracketz.models.base import ConstrainedPrior, PointFit, TransitionDensity, Variational


class ShippedInference(TransitionDensity, ConstrainedPrior, Variational, PointFit):
    """A model says what its classes are called; see scored.py, constrained.py, variational.py and
    maximum_likelihood.py."""

    family: ClassVar[str]  # as in ClusteringMeanField, ClusteringFit, ClusteringConstrained
    chain: ClassVar[str]

    def _make(self, module: str, name: str, y):
        return getattr(importlib.import_module(f"bracketz.models.{module}"), name)(self, y)

    def scored_chain(self, y):
        return self._make("scored", self.chain, y)

    def constrained_prior(self, y):
        return self._make("constrained", f"{self.family}Constrained", y)

    def variational(self, y):
        return self._make("variational", f"{self.family}MeanField", y)

    def maximum_likelihood(self, y):
        return self._make("maximum_likelihood", f"{self.family}Fit", y)
