"""Running one task: a pure function of the task, in whatever process it is called."""

import functools
import json
import math
import os
import platform
import sys
from typing import Any

from bracketz._version import __version__
from bracketz.data.identity import identity, is_description
from bracketz.engine.cluster import prepare_process
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError
from bracketz.testbed.machine import commit, load, processor
from bracketz.testbed.spec.construct import estimator_from_spec, model_from_spec
from bracketz.testbed.spec.tasks import Task, canonical
from bracketz.testbed.store.store import TaskResult

#: A run shorter than SHORT seconds is timed up to REPEATS times more and the fastest counts: the
#: first run of a program pays for warming up, which would bend the short end of every curve.
SHORT, REPEATS = 0.1, 2


def _model(wanted: dict[str, Any]):
    """The model a task names. Arrays are not in the task: the class makes them, and they must be
    the same bytes."""
    given = {
        k: v
        for k, v in wanted["hyperparameters"].items()
        if v is not None and not is_description(v)
    }
    model = model_from_spec(wanted["model"], given)
    if identity(model)["hyperparameters"] != wanted["hyperparameters"]:
        raise InputError(
            f"{wanted['model']} has other arrays now than when the experiment was planned"
        )
    return model


@functools.lru_cache(maxsize=8)
def _simulated(content: str):
    """(model, its data), made once for all tasks that share them."""
    from bracketz.data.simulate import simulate

    c = json.loads(content)
    model = _model(c)
    return model, simulate(model, c["rows"], c["columns"], seed=c["data_seed"])


def _problem(task: Task):
    """(model, data) of a task. Data that another model made are observed: y without the exact
    sample."""
    from bracketz.data.dataset import Data

    own = {"model": task.model, "hyperparameters": task.hyperparameters}
    size = {"rows": task.rows, "columns": task.columns, "data_seed": task.data_seed}
    maker, data = _simulated(canonical((task.made_by or own) | size))
    return (maker, data) if task.made_by is None else (_model(own), Data(data.y))


def execute(task: Task, session: Session | None = None) -> TaskResult:
    """The task's values, bit for bit the same wherever it runs on this kind of machine."""
    import jax

    from bracketz.estimators.base import estimate

    model, data = _problem(task)
    estimator = estimator_from_spec(task.estimator, task.knobs, task.rung)
    answer = estimate(model, data, estimator, trials=task.trials, seed=task.seed, session=session)
    if not finite(answer.log_ml_trials):
        bad = next(v for v in answer.log_ml_trials if not math.isfinite(v))
        raise NumericalError(f"a trial of {task.estimator} gave {bad}, and measures need numbers")
    fastest = answer.seconds.run
    for _ in range(REPEATS):
        if fastest > SHORT:
            break
        again = estimate(model, data, estimator, trials=task.trials, seed=task.seed)
        fastest = min(fastest, again.seconds.run)
    devices = jax.devices()
    return TaskResult(
        values=tuple(answer.log_ml_trials),
        side=str(answer.side),
        details={name: tuple(values) for name, values in answer.details.items()},
        run_seconds=fastest,
        compile_seconds=answer.seconds.compile,
        device=f"{len(devices)} x {devices[0].device_kind}",
        versions=versions(),
    )


def execute_remotely(content: str) -> TaskResult:
    """``execute`` for a task as JSON: what a Dask worker is sent."""
    prepare_process()
    return execute(Task.from_json(content))


@functools.cache
def versions() -> dict[str, Any]:
    """What made a result: versions, commit, the kind of machine and its load when this process
    began; no names of hosts or users."""
    import jax
    import jaxlib
    import numpy

    return {
        "bracketz": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
        "commit": commit(),
        "processor": processor(),
        "load": load(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }


def failure(error: BaseException) -> str:
    """One line that says what went wrong in a task."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}"[:500]


def finite(values) -> bool:
    return all(math.isfinite(v) for v in values)
