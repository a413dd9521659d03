"""The same tasks on a Dask cluster: started here (``workers``) or already there (``scheduler``).

Workers get a task as JSON and return its result; they never see the store. A task of a worker that
dies goes to any other, be it one that joins later: tasks are bound to no worker. Those that share a
compiled program follow each other, and workers share what they compile on disk.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bracketz.engine.cluster import Gone, await_work, connected, fetch
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

        def submit(queue: deque) -> bool:
            """Send the next task of a queue that nobody else has taken."""
            while queue:
                task = queue.popleft()
                if claim(task):
                    future = client.submit(
                        execute_remotely, task.to_json(), key=f"bracketz-{task.id}", pure=False
                    )
                    running[future.key] = (task, queue)
                    completed.add(future)
                    return True
            return False

        def fill() -> None:
            capacity = max(1, len(client.nthreads()))
            while waiting and len(running) < capacity:
                submit(waiting.popleft())

        fill()
        while running:
            await_work(client, completed.has_ready, watcher.note)
            future = next(completed)
            task, queue = running.pop(future.key)
            try:
                ended = Ended(task, fetch(client, future, watcher.note))
            except Gone:
                raise
            except Exception as error:  # the task failed, or killed every worker it was tried on
                ended = Ended(task, None, failure(error))
            future.release()
            if not submit(queue):
                fill()
            yield ended

    return executor


def _by_program(tasks: list[Task]) -> list[deque]:
    queues: dict[tuple, deque] = {}
    for task in tasks:
        queues.setdefault(task.program, deque()).append(task)
    return list(queues.values())
