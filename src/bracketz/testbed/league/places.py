"""Which cores a run has: those that no other run of a league on this machine holds."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def place(count: int) -> Iterator[list[int]]:
    """``count`` of the cores this process may use, the last ones first. Where others hold them all,
    the last ones are shared, which a row's load shows."""
    mine = sorted(os.sched_getaffinity(0))
    blocks = [mine[end - count : end] for end in range(len(mine), count - 1, -count)] or [mine]
    folder = Path(tempfile.gettempdir()) / f"bracketz-league-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for block in blocks:
        with ExitStack() as held:
            try:
                for core in block:
                    # The lock ends with the process, however that ends.
                    file = held.enter_context(open(folder / f"core-{core}", "w"))
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield block
            return
    yield blocks[0]
