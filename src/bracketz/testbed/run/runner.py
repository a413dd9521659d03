"""Running an experiment: what is done is skipped, what fails is recorded, and the rest goes on.

In this process tasks run one after another, those that share a compiled program in a row. On a Dask
cluster (``testbed.run.cluster``) the same tasks run on workers; the values are the same bits.
Only this process writes to the store, one transaction per task, so Ctrl-C and SIGKILL lose at most
the task under way.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bracketz.engine.session import Session
from bracketz.testbed.run.execute import execute, failure
from bracketz.testbed.run.forecast import Forecast
from bracketz.testbed.spec.experiment import Spec
from bracketz.testbed.spec.tasks import Task, expand
from bracketz.testbed.store.store import Store, TaskResult


class Ended(NamedTuple):
    """A task that has come to its end: a result, or a message why there is none."""

    task: Task
    result: TaskResult | None
    message: str | None = None


class Watcher(Protocol):
    """Who watches an experiment; the command line's draws bars."""

    def begin(self, total: int, done: int) -> None: ...
    def session(self, task: Task) -> Session: ...
    def ended(self, ended: Ended, done: int, seconds_left: float | None) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


class Nobody:
    """Nobody watches."""

    def begin(self, total, done):
        pass

    def session(self, task):
        return Session()

    def ended(self, ended, done, seconds_left):
        pass

    def note(self, text):
        pass

    def end(self):
        pass


#: Runs tasks and yields them as they end. ``claim`` must be asked before a task is begun.
Executor = Callable[[list[Task], Callable[[Task], bool], Watcher], Iterable[Ended]]


def in_process(
    tasks: list[Task], claim: Callable[[Task], bool], watcher: Watcher
) -> Iterator[Ended]:
    """One task after another, here."""
    for task in tasks:
        if not claim(task):
            continue
        try:
            yield Ended(task, execute(task, watcher.session(task)))
        except Exception as error:  # a task may fail in any way; the experiment goes on
            yield Ended(task, None, failure(error))


@dataclass(frozen=True)
class Standing:
    """How an experiment stands after a run."""

    experiment: int
    total: int
    done: int
    failed: int
    ran: int
    seconds: float

    @property
    def complete(self) -> bool:
        return self.done == self.total


def run_experiment(
    spec: Spec, store: Store, executor: Executor = in_process, watcher: Watcher | None = None
) -> Standing:
    """Bring an experiment to its end, from wherever it stands.

    Tasks that failed in an earlier run are tried again. Tasks that another living process is
    running are waited for.
    """
    watcher = watcher or Nobody()
    began = time.monotonic()
    entries = expand(spec)
    experiment = store.register(spec, entries)
    tasks = list({entry.task.id: entry.task for entry in entries}.values())
    forecast = Forecast.from_store(store, tasks)
    waiting = [task for task in tasks if store.status(task.id) != "done"]
    finished = len(tasks) - len(waiting)
    mine: set[str] = set()
    tried: set[str] = set()
    beaten = time.monotonic()

    def claim(task: Task) -> bool:
        nonlocal beaten
        if task.id in tried or not store.claim(task.id, retry_failed=True):
            return False
        mine.add(task.id)
        tried.add(task.id)
        if time.monotonic() - beaten > 60:
            beaten = time.monotonic()
            store.beat(list(mine))
        return True

    watcher.begin(len(tasks), finished)
    try:
        while waiting:
            for ended in executor(waiting, claim, watcher):
                mine.discard(ended.task.id)
                if ended.result is not None:
                    store.finish(ended.task.id, ended.result)
                    forecast.learn(
                        ended.task, ended.result.run_seconds, ended.result.compile_seconds
                    )
                else:
                    store.fail(ended.task.id, ended.message or "failed without a message")
                    forecast.forget(ended.task)
                finished += 1
                watcher.ended(ended, finished, forecast.seconds_left())
            waiting = [
                t
                for t in waiting
                if t.id not in tried and store.status(t.id) not in ("done", "failed")
            ]
            if waiting:
                watcher.note(f"waiting for {len(waiting)} tasks that another process is running")
                time.sleep(1.0)
    finally:
        for task_id in mine:
            store.release(task_id)
        watcher.end()
    final = [store.status(task.id) for task in tasks]
    return Standing(
        experiment,
        len(tasks),
        final.count("done"),
        final.count("failed"),
        len(tried),
        time.monotonic() - began,
    )
