"""What surrounds a run: its time budget, its checkpoint and whoever watches its progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np

from bracketz.engine.checkpoint import Checkpoint
from bracketz.errors import InputError


class Progress(Protocol):
    """Someone who watches; the command line's is a Rich bar.

    One that also has ``working(sentence)``, a context manager, is told what goes on where there are
    no steps to count (``Session.working``).
    """

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
    """Passed down to every run. The default has no deadline, no checkpoint and no audience.

    Args:
        max_seconds: soft time limit, from now on; None: none.
        checkpoint: where chains are kept; None: nowhere.
        progress: who watches (``begin``, ``advance``, ``end``, ``note``, and ``working`` if it
            likes); None: nobody.
        executor: who takes work that can be done side by side (twins): anything with ``submit``,
            such as a ``distributed.Client`` of Dask or a pool of ``concurrent.futures``; None:
            it is done here, one after the other.

    Raises:
        InputError: ``max_seconds`` is not positive.

    Example:
        >>> import bracketz as bz
        >>> session = bz.Session(max_seconds=600)
        >>> session.expired(), session.remaining() <= 600
        (False, True)
    """

    def __init__(
        self,
        *,
        max_seconds: float | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        executor: Any = None,
    ):
        if max_seconds is not None and not max_seconds > 0:
            raise InputError(f"`max_seconds` must be positive, got {max_seconds}")
        self.began = time.monotonic()
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
        self.progress: Progress = progress or Silent()
        self.executor = executor
        #: Why the checkpoint's file is not up to date; None while it is.
        self.unsaved: str | None = None
        #: While True the deadline is not looked at: a first, small answer is always finished.
        self.must_finish = False

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, negative when it has passed."""
        if self.max_seconds is None:
            return float("inf")
        return self.max_seconds - (time.monotonic() - self.began)

    def expired(self) -> bool:
        """Whether a run must stop here."""
        return not self.must_finish and self.remaining() <= 0

    def restore(self, stream: str):
        """``Checkpoint.restore``; None without a checkpoint."""
        return self.checkpoint.restore(stream) if self.checkpoint else None

    def wants_checkpoint(self, final: bool) -> bool:
        """Whether to save now.

        Args:
            final: the run has ended.

        Returns:
            False without a checkpoint.
        """
        return self.checkpoint is not None and (final or self.checkpoint.due())

    def save(self, stream: str, step: int, leaves: list[np.ndarray]) -> None:
        """``Checkpoint.save``; where the file cannot be written the run goes on, ``unsaved`` says
        why, and whoever watches is told once.

        Args:
            stream: the name of the run within its session.
            step: steps done.
            leaves: arrays of its chains.
        """
        self.save_all({stream: (step, leaves)})

    def save_all(self, streams: dict[str, tuple[int, list[np.ndarray]]]) -> None:
        """``save`` for several streams, the file written once."""
        assert self.checkpoint is not None
        told = self.unsaved is not None
        try:
            self.checkpoint.save_all(streams)
            self.unsaved = None
        except OSError as error:
            why = error.strerror or error
            self.unsaved = f"checkpoint {self.checkpoint.path} cannot be written: {why}"
            if not told:
                self.progress.note(f"{self.unsaved}; the run goes on without")

    def working(self, sentence: str) -> AbstractContextManager[None]:
        """Tell whoever watches what goes on while there are no steps to count: a context manager.

        Args:
            sentence: such as "compiling ais".

        Returns:
            What the progress's own ``working`` gives; where it has none, a context that does
            nothing.
        """
        tell = getattr(self.progress, "working", None)
        return nullcontext() if tell is None else tell(sentence)

    @contextmanager
    def task(
        self, label: str, total: int | None, done: int
    ) -> Iterator[Callable[[int, float], None]]:
        """Show a run to whoever watches: a context manager.

        Args:
            label: what it is called.
            total: its steps; None where it stops by itself.
            done: steps done already.

        Returns:
            A function (steps done, present value) to report by.
        """
        self.progress.begin(label, total, done)
        try:
            yield self.progress.advance
        finally:
            self.progress.end()
