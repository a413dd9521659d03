"""The models by name, as ``bracketz.models`` lists them; and a user's own."""

import dataclasses
import importlib
import os
import sys

from bracketz import models
from bracketz.core.model import Model
from bracketz.core.undirected import Undirected
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.models.hierarchical import Inferred
from bracketz.registry import Registry, classes_of

_EVERY = [cls for cls in classes_of(models) if issubclass(cls, Model)]
MODELS: Registry[type[Model]] = Registry(
    "model", [m for m in _EVERY if not issubclass(m, Inferred | Undirected | Factored)]
)
#: The same with their hyperparameters in the state.
INFERRED: Registry[type[Model]] = Registry("model", [m for m in _EVERY if issubclass(m, Inferred)])
#: Those without data, whose exact samples are drawn from themselves.
UNDIRECTED: Registry[type[Model]] = Registry(
    "model", [m for m in _EVERY if issubclass(m, Undirected)]
)
#: Those of a prior and a likelihood, whose kernels a pilot tunes.
FACTORED: Registry[type[Model]] = Registry("model", [m for m in _EVERY if issubclass(m, Factored)])
#: All of them.
SHIPPED: Registry[type[Model]] = Registry(
    "model", [*MODELS.values(), *INFERRED.values(), *UNDIRECTED.values(), *FACTORED.values()]
)


def model_class(name: str) -> type[Model]:
    """A shipped model by name, or a user's class as ``module:Class`` (looked up from this
    folder)."""
    if ":" not in name:
        return SHIPPED.find(name)
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise InputError(f"'{name}' does not name a class; write module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.split(".")[0]):
            raise
        raise InputError(f"no module '{module}' in this folder or on the Python path") from None
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise InputError(
            f"'{attribute}' in {module} is not a bracketz.Model class; see docs/extending.md"
        )
    if not dataclasses.is_dataclass(found):
        raise InputError(f"{attribute} must be decorated with @bracketz.pytree_dataclass")
    return found
