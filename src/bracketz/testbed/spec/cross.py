"""Every data set under every fitted model: the part ``[cross]`` of a spec.

A fit sees a data set as observed: y alone, without the exact sample that made it. So models can be
compared on data that one of them made, hyperparameters inferred (``inferred-clustering`` and its
like), as in the paper's section "How much accuracy is required?".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bracketz.errors import InputError
from bracketz.estimators.registry import ESTIMATORS
from bracketz.testbed.spec.checked import MAX_TRIALS, Table, distinct, shown
from bracketz.testbed.spec.construct import estimator_from_spec, model_from_spec

if TYPE_CHECKING:
    from bracketz.testbed.spec.experiment import Problem


@dataclass(frozen=True)
class FittedModel:
    """A model that is fitted to every data set of the experiment."""

    label: str
    name: str  # as on the command line
    hyperparameters: dict[str, Any]  # as given; the model's own defaults fill the rest


@dataclass(frozen=True)
class Cross:
    """The fits, and the estimator that scores them."""

    estimator: str
    knobs: dict[str, Any]
    rung: int
    trials: int
    fits: tuple[FittedModel, ...]
    #: The knob of a second, shorter run of each fit, which tells whether it has settled.
    shorter: int | None = None


def read_cross(table: Table, problems: Sequence["Problem"], trials: int) -> Cross:
    """The section, checked; the estimator's knob has its own name there (``distributions`` for
    AIS)."""
    name = table.text("estimator", "ais")
    rung = table.whole(ESTIMATORS.find(name).knob, minimum=0)
    shorter = table.whole("shorter", None, minimum=0)
    if shorter is not None and shorter >= rung:
        raise InputError(
            f"{table.name('shorter')} must be below {ESTIMATORS.find(name).knob}, {rung:,}; got"
            f" {shorter:,}"
        )
    trials = table.whole("trials", trials, minimum=2, maximum=MAX_TRIALS)
    knobs = table.table("knobs").values
    given = table.take("fits")
    if not isinstance(given, list) or not given:
        raise InputError(f"{table.name('fits')} must be a list of models, got {shown(given)}")
    table.finish()
    estimator = estimator_from_spec(name, knobs, rung, table.where)
    if shorter is not None:
        estimator_from_spec(name, knobs, shorter, table.where)
    fits = []
    for i, entry in enumerate(given):
        inner = Table(
            {"model": entry} if isinstance(entry, str) else entry, f"{table.name('fits')}[{i}]"
        )
        fits.append(_fit(inner, estimator, problems))
    distinct([fit.label for fit in fits], table.name("fits"), "label")
    return Cross(name, knobs, rung, trials, tuple(fits), shorter)


def _fit(table: Table, estimator, problems: Sequence["Problem"]) -> FittedModel:
    name = table.text("model")
    label = table.label("label", name)
    hyperparameters = table.table("hyperparameters").values
    table.finish()
    model = model_from_spec(name, hyperparameters, f"{table.where}.hyperparameters")
    if refusal := estimator.refusal(model, simulated=False):
        raise InputError(f"{table.where}: {refusal}")
    try:
        estimator.settings(model)
        for problem in problems:
            model.check_shape((problem.rows, problem.columns))
    except InputError as error:
        raise InputError(f"{table.where}: {error}") from None
    return FittedModel(label, name, hyperparameters)
