"""Arrays on disk: written whole or not at all, read without trusting the file."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from bracketz.outputs import replaced


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Replace ``path`` in one step, so that a kill at any moment leaves the old file or the new
    one."""
    with replaced(path) as partial, open(partial, "wb") as file:
        # For all a type checker knows, a name may be one of savez's own options.
        np.savez(file, **arrays)  # type: ignore[arg-type]


#: Whatever a damaged, encrypted, renamed or hostile file makes NumPy and zipfile raise.
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    AttributeError,
    TypeError,
    SyntaxError,
    MemoryError,
    OverflowError,
    RuntimeError,  # encrypted
    NotImplementedError,  # a compression of its own
    zlib.error,
    zipfile.BadZipFile,
)


def read(path: Path) -> dict[str, np.ndarray] | None:
    """All arrays of an .npz file, or None if it is not one."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except UNREADABLE:
        return None


def read_one(path: Path) -> np.ndarray | None:
    """The array of an .npy file, or None if it is not one."""
    try:
        found = np.load(path, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else None
    except UNREADABLE:
        return None
