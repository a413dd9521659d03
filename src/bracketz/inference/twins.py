"""Twins: data like the observed ones, simulated at a fitted state, which is then an exact posterior
sample of theirs. The procedure is not told it; runs that are know the truth.

A twin needs nothing of another one, so a session with an executor has them done side by side, with
the same numbers. On a card they are one batch (``bracketz.engine.abreast``).
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import partial

import jax
import numpy as np

from bracketz.core.model import Model, State
from bracketz.core.precision import double_precision
from bracketz.core.weights import bennett
from bracketz.engine.abreast import abreast
from bracketz.engine.cluster import fetch, prepare_process
from bracketz.engine.devices import usable_devices, use_all_cores
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError
from bracketz.inference.interval import Twin, Twins
from bracketz.inference.ladder import Clock
from bracketz.inference.procedure import Design, Measured, Procedure, Settings
from bracketz.models.factored import Prepared

#: Keeps twins apart from every run's randomness.
TWINS = 0x7717


@dataclass(frozen=True)
class Task:
    """One twin, and what to do with it."""

    model: Model
    settings: Settings
    design: Design
    exact: State
    y: State
    seed: int
    prefix: str  # of its streams

    @property
    def stream(self) -> str:
        """Under which a result that came from elsewhere is kept."""
        return f"{self.prefix}result"


def try_twins(
    procedure: Procedure, y, ready: Prepared, found: Measured, design: Design, clock: Clock
) -> Twins:
    """The procedure on twins of y, from the states it ``found`` there. What was decided for y is
    not decided again."""
    settings, session, prefix = procedure.settings, procedure.session, procedure.prefix
    tasks = []
    for number in range(1, settings.twins + 1):
        key = jax.random.key(settings.seed, impl="threefry2x32")
        key = jax.random.fold_in(jax.random.fold_in(key, TWINS), number)
        with double_precision():
            end = jax.tree.map(lambda a, k=number: a[k % len(a)], found.ends)
            made = procedure.model.twin(key, ready.restore(end), y)
            exact, data = jax.tree.map(np.asarray, made)
        seed = int(np.random.default_rng([settings.seed, TWINS, number]).integers(1 << 31))
        name = f"{prefix}twin {number}: "
        tasks.append(Task(procedure.model, settings, design, exact, data, seed, name))
    done = []
    for twin in (_here if session.executor is None else _elsewhere)(tasks, session, clock):
        done.append(twin)
        session.progress.note(
            f"{prefix}twin {len(done)} of {len(tasks)}: {twin.log_ml - twin.truth:+.2f} off"
        )
    return Twins(tuple(done), procedure.model.twin_told)


def _here(tasks: list[Task], session: Session, clock: Clock) -> Iterator[Twin]:
    """One after the other, or on a card all at once."""
    if usable_devices()[0].platform == "cpu" or len(tasks) == 1:
        return (_try(task, session, clock) for task in tasks)
    return iter(abreast([partial(_try, task, session, clock) for task in tasks]))


def _elsewhere(tasks: list[Task], session: Session, clock: Clock) -> Iterator[Twin]:
    """Sent to the session's executor; what has come back is kept in the checkpoint."""
    kept = [session.restore(task.stream) for task in tasks]
    sent = {
        number: session.executor.submit(_try_remotely, task)
        for number, task in enumerate(tasks)
        if kept[number] is None
    }
    for number, task in enumerate(tasks):
        if number not in sent:
            yield _unpacked(kept[number][1][0])
            continue
        with session.working(f"{task.prefix}with a worker"):
            try:
                if hasattr(session.executor, "nthreads"):  # Dask's
                    back = fetch(session.executor, sent[number], session.progress.note)
                else:
                    back = sent[number].result()
                twin, seconds = back
            except (InputError, NumericalError):
                raise
            except Exception as error:  # not sent, or its worker died
                raise InputError(
                    f"a twin did not come back from the workers ({type(error).__name__}:"
                    f" {str(error).splitlines()[0] if str(error) else 'no reason given'}); run"
                    " without workers to have twins tried here"
                ) from error
        clock.run += seconds.run
        clock.compile += seconds.compile
        if session.checkpoint is not None:
            session.save(task.stream, 1, [np.array(astuple(twin), dtype=float)])
        yield twin


def _unpacked(numbers: np.ndarray) -> Twin:
    low, high, *rest = (float(x) for x in numbers)
    return Twin(low, None if np.isnan(high) else high, *rest)


def _try_remotely(task: Task) -> tuple[Twin, Clock]:
    use_all_cores()
    prepare_process()
    clock = Clock()
    session = Session()
    session.must_finish = True
    return _try(task, session, clock), clock


def _try(task: Task, session: Session, clock: Clock) -> Twin:
    """What the procedure says of a twin, and what runs of its own say that begin at the sample,
    too."""
    procedure, design = Procedure(task.model, task.settings, session, task.prefix), task.design
    own, runs = procedure.begin(task.y, task.seed)
    seen = procedure.measure(runs, design, clock)
    starts = task.settings.starts
    states = jax.tree.map(lambda a: np.stack([np.asarray(a)] * starts), own.adopt(task.exact))
    path, forward = runs.forward(design.effort)
    ahead = runs.run(forward, path.num_edges, f"truth, forward {design.effort}", clock)
    back = procedure.reverse(runs, design, states, "truth, reverse", clock)
    truth = bennett(ahead.log_values, back)
    return Twin(
        low=seen.interval.low,
        high=seen.interval.high,
        log_ml=seen.point.log_ml,
        truth=truth.log_ml,
        truth_error=truth.standard_error,
    )
