"""A model made ready to run on data: what it needs of a pilot is fitted, then frozen."""

import dataclasses
import time
from typing import Any

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored import Factored, Prepared, piloted
from bracketz.models.factored.prepared import as_it_is
from bracketz.models.hyper_pilot import DISTRIBUTIONS, search
from bracketz.models.hyper_reference import begun_at, inferred

#: A reference is taken where a pilot's chains come to this much more from it (nats).
WORTH_IT = 0.5


@dataclasses.dataclass(frozen=True)
class PreparedHyper(Prepared):
    """The same for a model with inferred hyperparameters.

    Attributes:
        reference: the law each hyperparameter begins at, in words; empty: its prior.
    """

    reference: dict[str, str] = dataclasses.field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        names = ("begins_at", "because", "reference", "mixes", "seconds")
        return {name: getattr(self, name) for name in names}


def has_pilot(model: Model, reference: bool | None = None) -> bool:
    """Whether ``prepare`` runs one."""
    if isinstance(model, Factored):
        return not model.has_own_kernel
    return inferred(model) is not None and reference is not False


def prepare(
    model: Model,
    y,
    *,
    seed: int = 0,
    reference: bool | None = None,
    chains: int | None = None,
    note=lambda sentence: None,
) -> Prepared:
    """Tune a model's kernels on data and choose where its path begins; then freeze all of it.

    A ``Factored`` model goes through a pilot from the prior (``bracketz.models.factored.pilot``),
    which tunes its kernels and fits a reference. One with inferred hyperparameters has kernels, and
    a pilot finds a reference for its hyperparameters (``bracketz.models.hyper_pilot``). Both use y
    and random numbers of their own, and nothing else. Any other model is left as it is.

    Args:
        model: the model.
        y: the data.
        seed: everything random follows from it.
        reference: begin at a fitted reference (True), at the prior (False), or wherever a pilot
            finds the path better (None).
        chains: of runs to come: a pilot of hyperparameters with as many shares their compiled
            program.
        note: told a sentence now and then.

    Returns:
        What runs, and how it came about.

    Raises:
        InputError: a reference for a model with discrete parameters or fixed hyperparameters, the
            prior as the beginning where it is known by a pool of draws, or densities that are no
            numbers.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> bz.prepare(model, bz.simulate(model, rows=6, columns=2).y).begins_at
        'prior'
    """
    use_all_cores()
    if reference and not has_pilot(model):
        raise InputError(
            "a reference is fitted for models of a prior and a likelihood, and for inferred"
            f" hyperparameters; {type(model).__name__} is neither"
        )
    if not has_pilot(model, reference):
        return Prepared(model.suited_to(y), as_it_is)
    if isinstance(model, Factored):
        if model.pooled and reference is False:
            raise InputError(
                f"the prior of {model.label} is known by a pool of draws, which chains would share:"
                " only what can begin at a fitted reference runs on it, such as ais; or give a"
                " sampler"
            )
        with double_precision():
            return piloted(model, y, seed, reference, note)
    began = time.perf_counter()
    model = model.suited_to(y)
    with double_precision():
        prior, best = search(model, y, seed=seed, chains=chains, note=note)
    because = (
        f"chains of {DISTRIBUTIONS} distributions came to {best.score:.1f} from there, half of"
        f" them, and to {prior.score:.1f} from the prior"
    )
    if reference is None and best.score < prior.score + WORTH_IT:
        because = (
            f"chains of {DISTRIBUTIONS} distributions came to {prior.score:.1f} from there, half of"
            f" them, and to {best.score:.1f} from a reference of the hyperparameters"
        )
        return PreparedHyper(
            model, as_it_is, "prior", because=because, seconds=time.perf_counter() - began
        )
    return PreparedHyper(
        begun_at(model, best.q),
        as_it_is,
        "reference",
        best.schedule,
        because="it was asked for" if reference else because,
        seconds=time.perf_counter() - began,
        reference={name: law.words for name, law in best.q._asdict().items()},
    )
