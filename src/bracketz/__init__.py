"""bracketz brackets log Z: marginal likelihoods with two-sided bounds you can trust.

    import bracketz as bz

    model = bz.Clustering(components=10)
    data = bz.simulate(model, rows=50, columns=25, seed=0)
    answer = bz.sandwich(model, data, gap=1.0)
    print(answer.lower, answer.log_ml, answer.upper, answer.certificate)

Importing bracketz changes no JAX setting; names load when they are first used.
"""

import ast
import importlib
from functools import cache
from pathlib import Path as _File
from typing import TYPE_CHECKING

from bracketz._version import __version__

# Every public name, once. Type checkers and editors read these lines as they are; ``__getattr__``
# reads where a name lives from the same lines, so that JAX is imported when somebody asks for
# something.
if TYPE_CHECKING:
    from bracketz import check, models, plots, testbed
    from bracketz.adapters.functions import FunctionModel, from_functions
    from bracketz.adapters.numpyro import NumPyroModel, from_numpyro
    from bracketz.adapters.pymc import PyMCModel, from_pymc
    from bracketz.adapters.stan import StanModel, from_stan
    from bracketz.core.betting import betting_bound
    from bracketz.core.capabilities import (
        Collapsed,
        Conjugate,
        Constrained,
        ConstrainedPrior,
        Enumerable,
        ExactEvidence,
        LikelihoodFit,
        MeanField,
        PointFit,
        Predictive,
        RowLatents,
        ScoredChain,
        TransitionDensity,
        Variational,
    )
    from bracketz.core.conditional import Conditional
    from bracketz.core.kernel import Kernel, Reversible, ScoredKernel, Visit
    from bracketz.core.model import Model
    from bracketz.core.path import Path
    from bracketz.core.pytree import pytree_dataclass, static
    from bracketz.core.results import Certificate, Combine, Estimate, Side
    from bracketz.core.undirected import ExactDraw, Undirected
    from bracketz.data import Data, load, save
    from bracketz.data.simulate import simulate
    from bracketz.engine.checkpoint import Checkpoint
    from bracketz.engine.run import Outcome, Program, run_chains
    from bracketz.engine.session import Session
    from bracketz.errors import InputError, NumericalError
    from bracketz.estimators import *
    from bracketz.estimators.base import Estimator, estimate
    from bracketz.inference import Comparison, Sandwich, compare, sandwich, standardized
    from bracketz.inference.average import Information
    from bracketz.inference.brackets import Brackets
    from bracketz.inference.conditional import ConditionalUpper, conditional_upper
    from bracketz.inference.distance import Quality
    from bracketz.inference.each import bracket_each, simulate_each
    from bracketz.inference.evidence import evidence
    from bracketz.inference.fractional import fractional
    from bracketz.inference.glm import GLMCertificate, certify_glm, glm_draws
    from bracketz.inference.information import mutual_information
    from bracketz.inference.interval import Evidence
    from bracketz.inference.quality import Approximation, quality
    from bracketz.inference.ratio import Fractional
    from bracketz.inference.sweep import Sweep, sweep
    from bracketz.kernels import (
        HMC,
        MALA,
        Compose,
        FromBlackJAX,
        GibbsScan,
        Metropolis,
        MultiScaleWalk,
        Repeat,
    )
    from bracketz.models import *
    from bracketz.models.boltzmann.held_out import HeldOutBound, raise_bound
    from bracketz.models.factored import Factored, Prepared
    from bracketz.models.held_out import HeldOut
    from bracketz.models.missing_data import Incomplete
    from bracketz.models.prepared import prepare
    from bracketz.models.raised import raised
    from bracketz.numerics.conditionals import Categorical, Gaussian
    from bracketz.paths import Adapted, Linear, Prefix, Schedule, Sigmoid, Tempered
    from bracketz.testbed.tune import TunedSettings, tune


@cache
def _homes() -> tuple[dict[str, str], tuple[str, ...]]:
    """(module of each public name, modules all of whose public names are ours), read from the lines
    above."""
    homes: dict[str, str] = {}
    whole: list[str] = []
    for line in ast.walk(ast.parse(_File(__file__).read_text(encoding="utf-8"))):
        if not isinstance(line, ast.ImportFrom):
            continue
        if (module := line.module) and module.startswith("bracketz"):
            for name in line.names:
                if name.name == "*":
                    whole.append(module)
                elif name.name[0] != "_":
                    homes[name.name] = module
    return homes, tuple(whole)


def __getattr__(name: str):
    homes, whole = _homes()
    if name == "__all__":
        starred = (
            n
            for module in whole
            for n in vars(importlib.import_module(module))
            if _public(module, n)
        )
        return ["__version__", *homes, *starred]
    if name in homes:
        if homes[name] == "bracketz":
            return importlib.import_module(f"bracketz.{name}")
        return getattr(importlib.import_module(homes[name]), name)
    if name[0] != "_":
        for module in whole:
            if _public(module, name):
                return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'bracketz' has no attribute '{name}'")


def _public(module: str, name: str) -> bool:
    """Whether a name of a module is a class it lists (not a submodule)."""
    return name[0] != "_" and isinstance(vars(importlib.import_module(module)).get(name), type)


def __dir__():
    return sorted(__getattr__("__all__"))
