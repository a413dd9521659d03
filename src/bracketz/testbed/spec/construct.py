"""Models and estimators from what a spec says of them, or a refusal that names the key."""

import dataclasses
import typing
from typing import Any

from bracketz.errors import InputError, unknown
from bracketz.estimators.registry import ESTIMATORS
from bracketz.models.registry import model_class
from bracketz.testbed.spec.checked import LARGEST, fitting


def model_from_spec(name: str, hyperparameters: dict[str, Any], where: str = "hyperparameters"):
    """The model of this name, its hyperparameters checked against the fields of its class."""
    cls = model_class(name)
    hints = typing.get_type_hints(cls)
    fields = {f.name: hints[f.name] for f in dataclasses.fields(cls)}
    values = {}
    for key, value in hyperparameters.items():
        if key not in fields:
            raise unknown(f"hyperparameter of {name}", key, fields)
        values[key] = fitting(value, fields[key], f"{where}.{key}")
    if values.get("components", 1) > 10_000:
        raise InputError(f"{where}.components must be at most 10000, got {values['components']}")
    try:
        return cls(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except TypeError as error:
        raise InputError(f"{where} does not make a {name} model: {error}") from None


def estimator_from_spec(name: str, knobs: dict[str, Any], rung: int, where: str = "estimator"):
    """The estimator with ``knobs`` set and the knob that trades accuracy for time at ``rung``."""
    cls: Any = ESTIMATORS.find(name)
    hints = typing.get_type_hints(cls)
    fields = {f.name: hints[f.name] for f in dataclasses.fields(cls)}
    values = {}
    for key, value in knobs.items():
        key = key.replace("-", "_")
        if key == cls.knob:
            raise InputError(
                f"{where}.knobs.{key} is set by {where} itself; remove it from the knobs"
            )
        if key not in fields:
            raise unknown(f"knob of {name}", key, set(fields) - {cls.knob})
        values[key] = fitting(value, fields[key], f"{where}.knobs.{key}")
        if key == "particles" and values[key] > LARGEST // 1000:
            raise InputError(
                f"{where}.knobs.particles must be at most {LARGEST // 1000}, got {values[key]}"
            )
    try:
        return cls(**values, **{cls.knob: rung})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
