"""From words on the command line to objects: models, data, estimators, sessions."""

import dataclasses
import hashlib
import os
import types
import typing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bracketz import _version
from bracketz.errors import InputError, unknown

YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _convert(text: str, annotation: Any, name: str) -> Any:
    """A word as the field's type: bool, int, float, str, or comma-separated numbers."""
    kinds = (
        typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    )
    if str in kinds:
        return text
    if bool in kinds:
        if text.lower() not in YES_OR_NO:
            raise InputError(f"{name} must be true or false, got '{text}'")
        return YES_OR_NO[text.lower()]
    try:
        if int in kinds:
            return int(text)
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        kind = "a whole number" if int in kinds else "a number, or numbers with commas between"
        raise InputError(f"{name} must be {kind}, got '{text}'") from None
    if len(numbers) == 1 and float in kinds:
        return numbers[0]
    if kinds == (float,):
        raise InputError(f"{name} must be one number, got '{text}'")
    return numbers


def make_model(name: str, components: int | None, settings: list[str]):
    """A shipped model, or one of a class ``module:Class``, with ``--components`` and
    ``--set NAME=VALUE`` applied."""
    from bracketz.models.registry import model_class

    return make_from_class(model_class(name), name, components, settings)


def require_dataclass(cls: type) -> None:
    """Refuse a class that JAX cannot look inside."""
    if not dataclasses.is_dataclass(cls):
        raise InputError(f"{cls.__name__} must be decorated with @bracketz.pytree_dataclass")


def make_from_class(
    cls: Any, name: str, components: int | None, settings: list[str], base: dict | None = None
):
    """The model with ``--components`` and ``--set NAME=VALUE`` applied over ``base``."""
    hints = typing.get_type_hints(cls)
    fields = {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.init}
    values: dict[str, Any] = dict(base or {})
    if components is not None:
        if "components" not in fields:
            raise InputError(f"{name} has no components to set")
        if components != values.get("components", components):
            # Per-component values in ``base`` no longer fit; let them take their defaults.
            values = {k: v for k, v in values.items() if not isinstance(v, list)}
        values["components"] = components
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set takes NAME=VALUE, got '{setting}'")
        if key not in fields:
            raise unknown(f"hyperparameter of {name}", key, fields)
        values[key] = _convert(text, fields[key], key)
    try:
        return cls(**values)
    except TypeError as error:
        raise InputError(f"cannot make {name}: {error}") from None


def make_estimator(name: str, words: list[str]):
    """The estimator with its knobs from words such as ``--distributions 1000``."""
    from bracketz.estimators.registry import ESTIMATORS

    cls: Any = ESTIMATORS.find(name)
    hints = typing.get_type_hints(cls)
    fields = {f.name.replace("_", "-"): f.name for f in dataclasses.fields(cls)}
    knobs: dict[str, Any] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise InputError(f"unexpected '{word}'; knobs are given as --NAME VALUE")
        option, equals, text = word[2:].partition("=")
        if option not in fields:
            raise unknown(f"option or knob of {name}", option, fields)
        if not equals:
            if not words:
                raise InputError(f"--{option} needs a value")
            text = words.pop(0)
        knobs[fields[option]] = _convert(text, hints[fields[option]], option)
    if isinstance(knobs.get("schedule"), str):
        # Asked for, so that the schedule of a pilot does not take its place.
        from bracketz.paths import schedule_named

        delta = knobs.get("delta", cls.delta)
        knobs["schedule"] = schedule_named(knobs["schedule"], delta=delta)
    return cls(**knobs)


def make_path(name: str, schedule: str | None, pilot: int):
    """The path behind ``--path``, with the schedule behind ``--schedule``; None where there is
    nothing to say."""
    from bracketz.paths import PATHS, Tempered, schedule_named

    if name not in PATHS:
        raise unknown("path", name, PATHS)
    if PATHS[name] is Tempered:
        return None if schedule is None else Tempered(schedule_named(schedule, pilot=pilot))
    if schedule not in (None, "sigmoid"):
        raise InputError(
            f"--schedule {schedule} is for the tempered path; leave it out, or take --path tempered"
        )
    return PATHS[name]()


def _digest(y: Any) -> str:
    """A hash of data: of an array's bytes, or of several arrays with their names."""
    import jax
    import numpy as np

    hashed = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_flatten_with_path(y)[0]:
        hashed.update(jax.tree_util.keystr(path).encode() + np.asarray(leaf).tobytes())
    return hashed.hexdigest()


def make_session(
    what: dict,
    y,
    *,
    quiet: bool,
    max_seconds: float | None,
    checkpoint: Path | None,
    resume: bool,
):
    """A session with a Rich bar on standard error, and the checkpoint if one was named.

    ``what`` and the data ``y`` determine the run's result.
    """
    from bracketz.cli.progress import ProgressBar
    from bracketz.engine.checkpoint import Checkpoint
    from bracketz.engine.session import Session
    from bracketz.outputs import require_folder

    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE")
    store = None
    if checkpoint is not None:
        require_folder(checkpoint)
        identity = what | {
            "data": _digest(y),
            "version": _version.__version__,
        }
        store = Checkpoint(checkpoint, identity, resume=resume, every_seconds=_every_seconds())
    return Session(max_seconds=max_seconds, checkpoint=store, progress=ProgressBar(quiet))


def _every_seconds() -> float:
    """Between two writings of a checkpoint."""
    text = os.environ.get("BRACKETZ_CHECKPOINT_SECONDS") or "5"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise InputError(f"BRACKETZ_CHECKPOINT_SECONDS must be a number of seconds, got '{text}'")
    return seconds


@contextmanager
def helped(session, workers: int | None, scheduler: str | None) -> Iterator[None]:
    """A session with a Dask cluster, where one was asked for."""
    if workers is None and scheduler is None:
        yield
        return
    from bracketz.cli.own import sent_whole
    from bracketz.engine.cluster import connected

    with ExitStack() as stack:
        with session.working("starting the workers"):
            session.executor = stack.enter_context(connected(workers, scheduler))
        sent_whole()
        yield


def picture(path: Path | None, force: bool) -> Path | None:
    """The file behind ``--plot``, refused before the work where it cannot be written."""
    if path is None:
        return None
    from bracketz.outputs import refuse_existing
    from bracketz.plots.canvas import picture_file

    path = picture_file(path)
    refuse_existing(path, force)
    return path


def wind_up(session, answer=None, path: Path | None = None) -> None:
    """Last of all, when the answer is out: what happened to the checkpoint, and the picture."""
    if session.unsaved is not None:
        session.progress.note(f"{session.unsaved}; there is nothing new to resume from")
    if path is not None:
        from bracketz.plots import save_figure

        with session.working("drawing"):
            save_figure(answer.plot(), path)
