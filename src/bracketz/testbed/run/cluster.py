"""The same tasks on a Dask cluster: started here (``workers``) or already there (``scheduler``).

Workers get a task as JSON and return its result; they never see the store. A task of a worker that
dies goes to another one. Tasks that share a compiled program follow each other, on the worker that
compiled it where possible.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bracketz.engine.cluster import connected
from bracketz.testbed.run.execute import execute_remotely, failure
from bracketz.testbed.run.runner import Ended, Executor, Watcher
from bracketz.testbed.spec.tasks import Task


@contextmanager
def cluster(workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor on ``workers`` new processes here, or on the cluster whose scheduler is at
    ``scheduler``."""
    with connected(workers, scheduler) as client:
        yield on(client)


def on(client: Any) -> Executor:
    """The executor of a connected ``distributed.Client``."""

    def executor(
        tasks: list[Task], claim: Callable[[Task], bool], watcher: Watcher
    ) -> Iterator[Ended]:
        from distributed import as_completed

        queues = _by_program(tasks)
        waiting, running = deque(queues), {}
        completed = as_completed()

        def submit(queue: deque, worker: str | None) -> bool:
            """Send the next task of a queue that nobody else has taken; prefer ``worker``."""
            while queue:
                task = queue.popleft()
                if claim(task):
                    future = client.submit(
                        _run,
                        task.to_json(),
                        key=f"bracketz-{task.id}",
                        pure=False,
                        workers=[worker] if worker else None,
                        allow_other_workers=worker is not None,
                    )
                    running[future.key] = (task, queue)
                    completed.add(future)
                    return True
            return False

        def fill() -> None:
            capacity = max(1, len(client.nthreads()))
            while waiting and len(running) < capacity:
                submit(waiting.popleft(), None)

        fill()
        while running:
            future = next(completed)
            task, queue = running.pop(future.key)
            worker = None
            try:
                worker, result = future.result()
                ended = Ended(task, result)
            except Exception as error:  # the task failed, or killed every worker it was tried on
                ended = Ended(task, None, failure(error))
            future.release()
            if not submit(queue, worker if worker in client.nthreads() else None):
                fill()
            yield ended

    return executor


def _by_program(tasks: list[Task]) -> list[deque]:
    queues: dict[tuple, deque] = {}
    for task in tasks:
        queues.setdefault(task.program, deque()).append(task)
    return list(queues.values())


def _run(content: str):
    """On a worker: (its address, the result)."""
    from distributed import get_worker

    return get_worker().address, execute_remotely(content)
