"""Arrays on disk: written whole or not at all, read without trusting the file."""

import os
import zipfile
from pathlib import Path

import numpy as np


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Replace ``path`` in one step, so that a kill at any moment leaves the old file or the new
    one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            # For all a type checker knows, a name may be one of savez's own options.
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read(path: Path) -> dict[str, np.ndarray] | None:
    """All arrays of an .npz file, or None if it is not one."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile):
        return None
