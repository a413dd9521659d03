"""Compare models on observed data: an interval for each log evidence, and whether they part."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from bracketz.core.model import Model
from bracketz.core.results import Seconds
from bracketz.core.validation import require_model
from bracketz.data.dataset import Data, as_data
from bracketz.data.identity import identity, model_label
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.comparison import Candidate, Comparison
from bracketz.inference.evidence import observed
from bracketz.inference.procedure import Settings
from bracketz.models.factored import Factored
from bracketz.models.missing_data import Incomplete


def compare(
    models: Mapping[str, Model] | Sequence[Model],
    data=None,
    *,
    gap: float = 1.0,
    twins: int = 2,
    starts: int = 16,
    chains: int = 64,
    confidence: float = 0.95,
    seed: int = 0,
    reference: bool | None = None,
    first: int | None = None,
    max_effort: int | None = None,
    log_jacobian: float = 0.0,
    session: Session | None = None,
) -> Comparison:
    """The log evidence of every model from both sides (``evidence``), best first, and a verdict.

    Every candidate has random streams of its own; equal models of one name share them and have the
    same answer. Candidates of one kind and size are told apart by the fields in which they differ.

    Args:
        models: by name, or a list; shipped ones (``InferredClustering`` and its like have their
            hyperparameters inferred) and your own.
        data: the observations all of them describe; NaN entries of a table are left out exactly
            where a model can do so. None: those the models were made with, which must be the same.
        gap: between the bounds of a model, to aim at (nats).
        twins: data sets to simulate from each fitted model, and to put through the same procedure.
        starts, chains, confidence: as of ``evidence``.
        seed: everything random follows from it.
        reference, first, max_effort: as of ``evidence``.
        log_jacobian: added to every bound (``standardized`` gives it).
        session: time budget, checkpoint and progress.

    Returns:
        An interval per model, best first, with a verdict.

    Raises:
        InputError: no model, models made with different data, a model that cannot describe the
            data, or a value out of range.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> bz.compare({"two clusters": bz.Clustering(2)}, y, twins=0).verdict
        'one model: nothing to compare it with.'
    """
    settings = Settings(gap, twins, starts, chains, confidence, seed, reference, first, max_effort)
    return compared(models, data, settings, log_jacobian, session or Session())


def compared(
    models, data, settings: Settings, log_jacobian: float, session: Session, prefix: str = ""
) -> Comparison:
    """``compare``; ``prefix`` begins the names of all streams."""
    given = named_models(models)
    y = data.y if isinstance(data, Data) else data
    unseen = 0
    if y is not None and not isinstance(y, dict) and np.asarray(y).dtype.kind == "f":
        holes = np.isnan(np.asarray(y))
        unseen = int(holes.sum())
        if unseen:
            given = {name: _incomplete(model, holes) for name, model in given.items()}
            y = np.where(holes, 0.0, y)
    seen = {name: as_data(y, model).y for name, model in given.items()}
    _refuse_other_data(seen)
    found: list[Candidate] = []
    for name, model in given.items():
        answer = observed(model, seen[name], settings, session, f"{prefix}{name}: ")
        answer = answer.shifted(log_jacobian)
        session.progress.note(f"{prefix}{name}: log evidence {answer.log_ml:.2f}, {answer.kind}")
        label, size = model_label(_inner(model)), getattr(model, "components", None)
        found.append(Candidate(name, label, size, answer, len(found)))
    seconds = [c.evidence.seconds for c in found]
    return Comparison(
        tuple(sorted(found, key=lambda c: -c.log_ml)),
        settings.confidence,
        settings.twins,
        settings.seed,
        Seconds(sum(s.run for s in seconds), sum(s.compile for s in seconds)),
        log_jacobian,
        unseen,
    )


def named_models(models: Any) -> dict[str, Model]:
    """Models by name, whatever they were given as."""
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, Sequence) and all(isinstance(m, Model) for m in models):
        named = dict(zip(_names(models), models, strict=True))
    else:
        raise InputError(
            "compare takes models first, by name or as a list, and then the data; got"
            f" {type(models).__name__}"
        )
    if not named:
        raise InputError("compare needs at least one model")
    for model in named.values():
        require_model(model)
    return named


def _incomplete(model: Model, holes: np.ndarray) -> Model:
    if isinstance(model, Factored):
        raise InputError(
            f"{model.label} cannot leave out missing entries: fill them in, or remove their rows"
        )
    return Incomplete(model, ~holes)


def _inner(model: Model) -> Model:
    return model.model if isinstance(model, Incomplete) else model


def _refuse_other_data(seen: dict[str, Any]) -> None:
    """Evidences of different data say nothing about each other."""
    hashes = {name: _hash(y) for name, y in seen.items()}
    first = next(iter(hashes))
    for name, found in hashes.items():
        if found != hashes[first]:
            raise InputError(
                f"{name} was made with other observations than {first}, and evidences of different"
                " data cannot be compared; make both with the same"
            )


def _hash(y) -> str:
    """Of the observed values in their order, whatever arrays they come in."""
    flat = [np.ravel(np.asarray(leaf, dtype=float)) for leaf in jax.tree.leaves(y)]
    return hashlib.sha256(np.concatenate(flat).tobytes()).hexdigest()


def _names(models: Sequence[Model]) -> list[str]:
    """What each candidate is called: its kind (without "inferred-" unless that is the difference)
    and size.

    Where several of one kind and size remain, the fields in which they differ follow in brackets:
    "clustering (mixture_concentration 0.1) with 2 components". Names also keep the random streams
    and the checkpointed chains of candidates apart, so only equal models share one.
    """
    kinds = [(model_label(_inner(m)), getattr(m, "components", None)) for m in models]
    fields = [identity(_inner(m))["hyperparameters"] for m in models]

    def same(a, b):
        return type(_inner(models[a])) is type(_inner(models[b])) and fields[a] == fields[b]

    names: list[str] = []
    for j, (label, size) in enumerate(kinds):
        short = label.removeprefix("inferred-")
        namesakes = {
            kind for kind in kinds if (kind[0].removeprefix("inferred-"), kind[1]) == (short, size)
        }
        name = short if len(namesakes) == 1 else label
        group = [f for f, kind in zip(fields, kinds, strict=True) if kind == (label, size)]
        differing = [k for k in fields[j] if any(f.get(k) != fields[j][k] for f in group)]
        if differing:
            name += f" ({', '.join(f'{k} {_brief(fields[j][k])}' for k in differing)})"
        if size is not None:
            name += f" with {size} component{'s' * (size != 1)}"
        if any(names[i] == name and not same(i, j) for i in range(j)):
            name += f" [{j + 1}]"  # two classes of one name, with equal fields
        names.append(name)
    return names


def _brief(value) -> str:
    """A field's value in few characters, different for different values."""
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 40 else hashlib.sha256(text.encode()).hexdigest()[:8]


def standardized(y: np.ndarray) -> tuple[np.ndarray, float]:
    """Columns with mean 0 and standard deviation 1, and what that adds to the log evidence.

    With y' = (y - m) / s a density gains the factor 1/s per entry: log p(y) = log p(y') - sum of
    log s over entries. Missing entries (NaN) count for nothing.

    Args:
        y: the data, (N, D).

    Returns:
        (the columns standardised, the ``log_jacobian`` that ``compare`` adds to every bound, so
        that it bounds the evidence of the columns as they were).

    Raises:
        InputError: a column is constant.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> y, log_jacobian = bz.standardized(np.array([[1.0], [3.0]]))
        >>> y.tolist(), log_jacobian
        ([[-1.0], [1.0]], -0.0)
    """
    # Squares of what is below 1 do not overflow; a power of 2 changes no bit.
    unit = np.ldexp(1.0, np.frexp(np.nanmax(np.abs(y)))[1] - 1)
    y = np.asarray(y) / unit
    mean, scale = np.nanmean(y, axis=0), np.nanstd(y, axis=0)
    if not np.all(scale > 0):
        column = int(np.argmin(scale)) + 1
        raise InputError(f"column {column} is constant and cannot be standardised; remove it")
    entries = np.sum(~np.isnan(y), axis=0)
    return (y - mean) / scale, -float(entries @ np.log(unit * scale))
