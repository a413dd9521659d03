"""Chains on disk, so that a killed run goes on where it was."""

import hashlib
import json
import time
from pathlib import Path

import numpy as np

from bracketz.engine import npz
from bracketz.errors import InputError


class Checkpoint:
    """Chains on disk. The file is replaced in one step, so a kill at any moment leaves it whole.

    Args:
        path: the file.
        identity: what determines the run's result, as plain JSON values; a file written by another
            run is refused.
        resume: go on from the file if it exists.
        every_seconds: how often to write while a run goes on; its end is always written.

    Raises:
        InputError: the file exists and ``resume`` was not asked for, it is no checkpoint, or it
            belongs to another run.

    Example:
        >>> import bracketz as bz, tempfile
        >>> kept = bz.Checkpoint(f"{tempfile.mkdtemp()}/run.ckpt", {"seed": 0}, resume=True)
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> session = bz.Session(checkpoint=kept)
        >>> answer = bz.estimate(model, data, bz.AIS(distributions=9), trials=2, session=session)
        >>> kept.path.exists()
        True
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
            header = json.loads(str(arrays.pop("header")))
            for name, (step, count) in header["streams"].items():
                leaves = [arrays[f"{name}:{j}"] for j in range(count)]
                self._streams[name] = (step, leaves)
            written_by, seal = header["identity"], header.pop("seal", None)
            whole = seal == _seal(header, arrays)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"{self.path} is not a bracketz checkpoint; name another file"
            ) from None
        if not whole:
            raise InputError(
                f"checkpoint {self.path} is damaged or was changed by hand, so its numbers cannot"
                " be gone on from; remove it, or name another file"
            )
        if written_by != self.identity:
            keys = sorted(self.identity.keys() | written_by.keys())
            differing = [k for k in keys if self.identity.get(k) != written_by.get(k)]
            raise InputError(
                f"checkpoint {self.path} belongs to another run (it differs in"
                f" {', '.join(differing)}); name another file"
            )

    def restore(self, stream: str):
        """Where a stream was.

        Args:
            stream: the name of the run within its session.

        Returns:
            (steps done, arrays of its chains), or None if nothing is kept of it.
        """
        return self._streams.get(stream)

    def due(self) -> bool:
        """Whether ``every_seconds`` have passed since the file was written."""
        return time.monotonic() - self._saved_at >= self.every_seconds

    def save(self, stream: str, step: int, leaves: list[np.ndarray]) -> None:
        """Write the file, with this stream as it is now and the others as they were.

        Args:
            stream: the name of the run within its session.
            step: steps done.
            leaves: arrays of its chains.
        """
        self.save_all({stream: (step, leaves)})

    def save_all(self, streams: dict[str, tuple[int, list[np.ndarray]]]) -> None:
        """``save`` for several streams, the file written once."""
        self._streams.update(streams)
        arrays = {f"{n}:{j}": a for n, (_, ls) in self._streams.items() for j, a in enumerate(ls)}
        header = {
            "identity": self.identity,
            "streams": {n: [s, len(ls)] for n, (s, ls) in self._streams.items()},
        }
        sealed = header | {"seal": _seal(header, arrays)}
        self._saved_at = time.monotonic()
        npz.write(self.path, arrays | {"header": np.array(json.dumps(sealed))})


def _seal(header: dict, arrays: dict[str, np.ndarray]) -> str:
    """A hash of everything in the file: a number that was changed is found out."""
    hashed = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hashed.update(f"{name} {array.dtype} {array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()
