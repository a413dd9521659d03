"""Chains on disk, so that a killed run goes on where it was."""

import json
import time
from pathlib import Path

import numpy as np

from bracketz.engine import npz
from bracketz.errors import InputError


class Checkpoint:
    """Chains on disk. The file is replaced in one step, so a kill at any moment leaves it whole.

    ``identity`` says what determines the run's result; a file written by another run is refused.
    """

    def __init__(
        self, path: str | Path, identity: dict, *, resume: bool = False, every_seconds: float = 5.0
    ):
        self.path = Path(path)
        self.identity = json.loads(json.dumps(identity))
        self.every_seconds = every_seconds
        self._streams: dict[str, tuple[int, list[np.ndarray]]] = {}
        self._saved_at = time.monotonic()
        if self.path.exists():
            if not resume:
                raise InputError(
                    f"checkpoint {self.path} exists; add `resume=True` to continue it, or remove it"
                )
            self._load()

    def _load(self) -> None:
        arrays = npz.read(self.path) or {}
        try:
            header = json.loads(str(arrays["header"]))
            for name, (step, count) in header["streams"].items():
                leaves = [arrays[f"{name}:{j}"] for j in range(count)]
                self._streams[name] = (step, leaves)
            written_by = header["identity"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.path} is not a bracketz checkpoint; name another file"
            ) from None
        if written_by != self.identity:
            keys = sorted(self.identity.keys() | written_by.keys())
            differing = [k for k in keys if self.identity.get(k) != written_by.get(k)]
            raise InputError(
                f"checkpoint {self.path} belongs to another run (it differs in"
                f" {', '.join(differing)});"
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
