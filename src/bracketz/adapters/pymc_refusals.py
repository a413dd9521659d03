"""What of PyMC has no log evidence, no exact draw or no JAX function: a sentence for each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from bracketz.adapters.pymc_backend import (
    CIRCULAR,
    IMPROPER,
    LKJ_CORRELATION,
    MINIBATCH,
    MODEL,
    TensorType,
    ancestors,
    default_transform,
)
from bracketz.errors import InputError, unknown

ROLES = ("prior", "likelihood")


def require_supported(model: Any, potentials: Mapping[str, str]) -> None:
    """Refuse a model whose evidence would be wrong, before anything is compiled."""
    if not isinstance(model, MODEL):
        raise InputError(f"`model` must be a pm.Model, got {type(model).__name__}")
    # First the likelihoods that PyMC has changed behind the author's back.
    _require_complete(model)
    _require_whole_data(model)
    if not model.observed_RVs:
        raise InputError(
            "the PyMC model has no observed variable, so there is no log evidence: give `observed`"
            " to the variables that are data"
        )
    if not model.free_RVs:
        raise InputError(
            "the PyMC model has no free variable: its log evidence is the log likelihood itself,"
            " model.compile_logp()({})"
        )
    _require_roles(model, potentials)
    for rv in model.free_RVs:
        _require_density(rv)
    for rv in (*model.free_RVs, *model.observed_RVs):
        _require_array(rv)
    for rv in model.free_RVs:
        _require_support(rv, model.rvs_to_transforms[rv])


def _require_complete(model) -> None:
    """Missing values: PyMC cuts ``y`` into ``y_observed`` and the parameter ``y_unobserved``."""
    observed = {rv.name for rv in model.observed_RVs}
    for rv in model.free_RVs:
        name = rv.name.removesuffix("_unobserved")
        if rv.name != name and f"{name}_observed" in observed and name in model.named_vars:
            raise InputError(
                f"observed variable `{name}` has missing values, which PyMC turns into parameters;"
                " that is not supported: leave those entries out of the model"
            )


def _require_whole_data(model) -> None:
    for rv in model.observed_RVs:
        graphs = [rv, model.rvs_to_values[rv]]
        for variable in ancestors(graphs):
            if variable.owner is not None and type(variable.owner.op).__name__ in MINIBATCH:
                raise InputError(
                    f"observed variable `{rv.name}` is a minibatch (pm.Minibatch or total_size),"
                    " whose log likelihood is a random estimate: give all the data"
                )


def _require_roles(model, potentials: Mapping[str, str]) -> None:
    names = [potential.name for potential in model.potentials]
    for name, role in potentials.items():
        if name not in names:
            raise (
                unknown("potential", name, names)
                if names
                else InputError(
                    f"`potentials` names '{name}', and the PyMC model has no potentials"
                )
            )
        if role not in ROLES:
            raise InputError(
                f"`potentials` must say 'prior' or 'likelihood' of '{name}', got {role!r}"
            )
    for name in names:
        if name not in potentials:
            raise InputError(
                f"potential `{name}` is a factor that belongs neither to the prior nor to the"
                " likelihood: say which by `potentials`, as in"
                f" from_pymc(model, potentials={{'{name}': 'likelihood'}})"
            )


def _require_density(rv) -> None:
    if np.issubdtype(rv.dtype, np.integer) or rv.dtype == "bool":
        raise InputError(
            f"free variable `{rv.name}` is discrete, and annealing moves by gradients: sum it out"
            " by hand, or by pm.Mixture or pymc_extras.marginalize"
        )
    if type(rv.owner.op).__name__ == LKJ_CORRELATION:
        raise InputError(
            f"free variable `{rv.name}` is a pm.LKJCorr, whose density PyMC does not normalise: use"
            " pm.LKJCholeskyCov"
        )
    for variable in ancestors([rv]):
        if variable.owner is not None and isinstance(variable.owner.op, IMPROPER):
            raise InputError(
                f"free variable `{rv.name}` has an improper prior (pm.Flat or pm.HalfFlat), under"
                " which the log evidence is not defined: give it a proper one, such as"
                " pm.Normal or pm.HalfNormal with a large scale"
            )


def _require_array(rv) -> None:
    if not isinstance(rv.type, TensorType):
        raise InputError(
            f"variable `{rv.name}` is not a plain array but a {type(rv.type).__name__} (as in"
            " pymc.dims, or sparse data), which is not supported: use the distributions of pymc"
            " itself"
        )
    if rv.dtype in ("float32", "float16"):
        raise InputError(
            f"variable `{rv.name}` is {rv.dtype}: build the model with"
            " pytensor.config.floatX = 'float64', in which bracketz computes"
        )


def _require_support(rv, transform) -> None:
    """A transform of the author's own cuts the support; PyMC does not renormalise."""
    if isinstance(transform, CIRCULAR):
        raise InputError(
            f"free variable `{rv.name}` is an angle, whose unconstrained value is not unique"
            " (PyMC's circular transform): use the angle of two normal variables"
        )
    if transform is not None and type(transform) is not type(default_transform(rv)):
        raise cut(rv.name)


def cut(name: str) -> InputError:
    """The refusal of a prior that is not normalised over what its transform reaches."""
    return InputError(
        f"free variable `{name}` has a transform that is not the usual one of its distribution"
        " (such as ordered), under which its prior no longer integrates to 1: leave out"
        " `transform`, or order the values by a pm.Deterministic"
    )


@contextmanager
def translated(doing: str, way_out: str) -> Iterator[None]:
    """What PyMC, PyTensor or JAX raise in ``doing``, as one sentence; the cause stays attached."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = lines[0].split(". ")[0].rstrip(".:")[:150] if lines else type(error).__name__
        raise InputError(f"{doing} failed ({said}): {way_out}") from error
