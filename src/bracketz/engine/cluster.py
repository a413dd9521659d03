"""Other processes: a Dask cluster, started here or already there."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from bracketz.caches import cache_folder
from bracketz.errors import InputError

CONNECT_SECONDS = 5
#: Between two looks at the workers.
LOOK_SECONDS = 2.0
#: For a result of a task that is done to come here; the next time twice as long.
FETCH_SECONDS = 5.0


class Gone(InputError):
    """The scheduler does not answer any more."""

    def __init__(self, client: Any):
        scheduler = getattr(client, "scheduler", None)
        where = getattr(scheduler, "address", None) or "its address"
        super().__init__(
            f"the Dask scheduler at {where} has gone; when it is back, run the same command again"
            " (an experiment keeps what it has finished, and a checkpoint, if there is one, the"
            " twins)"
        )


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """A ``distributed.Client`` of ``workers`` new processes here, or of the cluster whose scheduler
    is at ``scheduler``."""
    if workers is not None and scheduler is not None:
        raise InputError(
            "`workers` starts a cluster here and `scheduler` names another; give one of them"
        )
    try:
        import distributed
    except ImportError:
        raise InputError(
            "`workers` and `scheduler` need Dask; pip install 'bracketz[dask]'"
        ) from None
    if scheduler is None:
        # One thread per worker: a task already uses every core JAX shows it.
        with (
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
                silence_logs=50,
            ) as local,
            distributed.Client(local) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(
            f"no Dask scheduler answers at '{scheduler}' ({reason}); give tcp://host:port"
        ) from None
    with client:
        yield client


def await_work(client: Any, ready: Callable[[], bool], note: Callable[[str], None]) -> None:
    """Until ``ready()``, on whatever workers there are; says so where there are none.

    Raises:
        Gone: the scheduler has.
    """
    looked, alone = time.monotonic(), False
    while not ready():
        time.sleep(0.05)
        if time.monotonic() - looked < LOOK_SECONDS:
            continue
        looked = time.monotonic()
        try:
            workers = len(client.nthreads())
        except Exception as error:  # whatever a lost connection raises
            raise Gone(client) from error
        if client.status not in ("running", "newly-created"):
            raise Gone(client)
        if not workers and not alone:
            note("no worker is left: waiting for one to join (Ctrl-C stops)")
        alone = not workers


def fetch(client: Any, future: Any, note: Callable[[str], None]) -> Any:
    """The result of a task, on whatever workers there are.

    A task that is done loses its result if its worker dies before the result is here, and Dask
    computes it again. Whoever waits for such a result without an end does not see that no worker
    is left; so this asks again whether the task is done.

    Raises:
        Gone: the scheduler has.
        Exception: whatever the task raised.
    """
    seconds = FETCH_SECONDS
    while True:
        await_work(client, future.done, note)
        try:
            return future.result(timeout=seconds)
        except CancelledError:  # of a future whose scheduler is lost
            raise Gone(client) from None
        except OSError as error:
            if future.status == "error":  # the task's own
                raise
            if not isinstance(error, TimeoutError):  # the connection was lost on the way
                raise Gone(client) from error
            seconds *= 2


def prepare_process() -> None:
    """A compilation cache shared with other processes here, unless the user chose otherwise."""
    import jax

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
