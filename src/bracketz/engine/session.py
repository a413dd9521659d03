"""What surrounds a run: its time budget, its checkpoint and whoever watches its progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from bracketz.engine.checkpoint import Checkpoint
from bracketz.errors import InputError


class Progress(Protocol):
    """Someone who watches; the command line's is a Rich bar."""

    def begin(self, label: str, total: int | None, done: int) -> None: ...
    def advance(self, done: int, value: float) -> None: ...
    def end(self) -> None: ...
    def note(self, text: str) -> None: ...


class Silent:
    """Nobody watches."""

    def begin(self, label, total, done):
        pass

    def advance(self, done, value):
        pass

    def end(self):
        pass

    def note(self, text):
        pass


class Session:
    """Passed down to every run. The default has no deadline, no checkpoint and no audience."""

    def __init__(
        self,
        *,
        max_seconds: float | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ):
        if max_seconds is not None and not max_seconds > 0:
            raise InputError(f"`max_seconds` must be positive, got {max_seconds}")
        self.began = time.monotonic()
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
        self.progress: Progress = progress or Silent()
        #: While True the deadline is not looked at: a first, small answer is always finished.
        self.must_finish = False

    def remaining(self) -> float:
        if self.max_seconds is None:
            return float("inf")
        return self.max_seconds - (time.monotonic() - self.began)

    def expired(self) -> bool:
        return not self.must_finish and self.remaining() <= 0

    def restore(self, stream: str):
        return self.checkpoint.restore(stream) if self.checkpoint else None

    def wants_checkpoint(self, final: bool) -> bool:
        return self.checkpoint is not None and (final or self.checkpoint.due())

    def save(self, stream: str, step: int, leaves: list[np.ndarray]) -> None:
        assert self.checkpoint is not None
        self.checkpoint.save(stream, step, leaves)

    @contextmanager
    def task(
        self, label: str, total: int | None, done: int
    ) -> Iterator[Callable[[int, float], None]]:
        self.progress.begin(label, total, done)
        try:
            yield self.progress.advance
        finally:
            self.progress.end()
