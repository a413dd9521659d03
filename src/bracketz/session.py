"""What surrounds a run: its time budget, its checkpoint file and whoever watches its progress."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from bracketz import npz
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


class Checkpoint:
    """Chains on disk. The file is replaced in one step, so a kill at any moment leaves it whole.

    ``identity`` says what determines the run's result; a file written by another run is refused.
    """

    def __init__(self, path: str | Path, identity: dict, *, resume: bool = False, every_seconds: float = 5.0):
        self.path = Path(path)
        self.identity = json.loads(json.dumps(identity))
        self.every_seconds = every_seconds
        self._streams: dict[str, tuple[int, list[np.ndarray]]] = {}
        self._saved_at = time.monotonic()
        if self.path.exists():
            if not resume:
                raise InputError(f"checkpoint {self.path} exists; add --resume to continue it, or remove it")
            self._load()

    def _load(self) -> None:
        arrays = npz.read(self.path)
        try:
            header = json.loads(str(arrays["header"]))  # type: ignore[index]
            for name, (step, count) in header["streams"].items():
                leaves = [arrays[f"{name}:{j}"] for j in range(count)]  # type: ignore[index]
                self._streams[name] = (step, leaves)
            written_by = header["identity"]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{self.path} is not a bracketz checkpoint; name another file") from None
        if written_by != self.identity:
            keys = sorted(self.identity.keys() | written_by.keys())
            differing = [k for k in keys if self.identity.get(k) != written_by.get(k)]
            raise InputError(
                f"checkpoint {self.path} belongs to another run (it differs in {', '.join(differing)});"
                " name another file"
            )

    def restore(self, stream: str):
        return self._streams.get(stream)

    def due(self) -> bool:
        return time.monotonic() - self._saved_at >= self.every_seconds

    def save(self, stream: str, step: int, leaves: list[np.ndarray]) -> None:
        self._streams[stream] = (step, leaves)
        arrays = {f"{n}:{j}": a for n, (_, ls) in self._streams.items() for j, a in enumerate(ls)}
        header = {
            "identity": self.identity,
            "streams": {n: [s, len(ls)] for n, (s, ls) in self._streams.items()},
        }
        npz.write(self.path, arrays | {"header": np.array(json.dumps(header))})
        self._saved_at = time.monotonic()


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
            raise InputError(f"max-seconds must be positive, got {max_seconds}")
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
    def task(self, label: str, total: int | None, done: int) -> Iterator[Callable[[int, float], None]]:
        self.progress.begin(label, total, done)
        try:
            yield self.progress.advance
        finally:
            self.progress.end()
