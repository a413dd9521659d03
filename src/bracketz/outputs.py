"""Files we write: refused beforehand where they would harm, written beside and then renamed."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bracketz.errors import InputError

#: Lists the files of a folder that are ours, and may be replaced.
MARKER = ".bracketz"


def refuse_existing(path: Path, force: bool) -> None:
    """Whatever would keep a file from being written, found out before the work."""
    require_folder(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise InputError(f"{path} exists; add `force=True` to overwrite it, or name another file")


def require_folder(path: Path) -> None:
    """The folder a file shall go to, there and open to us."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"nothing may be written in the folder {folder}; name another")


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Where to write instead; at the end of the block that becomes ``path`` in one step, so that a
    kill or a full disk at any moment leaves the old file or the new one."""
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        yield partial
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """A text file, in UTF-8 whatever the locale."""
    with replaced(path) as partial:
        partial.write_text(text, encoding="utf-8")


def own_folder(folder: Path, names: Iterable[str] = (), force: bool = False) -> Path:
    """The folder, made where it is missing, for files of these names. One that is there and was not
    written by us (the folder's marker lists what was) is somebody's: refused, unless ``force``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, and a folder is needed; name another")
    names, marker = list(names), folder / MARKER
    try:
        ours = set(marker.read_text(encoding="utf-8").splitlines()) if marker.exists() else set()
        for name in names:
            if not force and name not in ours and (folder / name).exists():
                raise InputError(
                    f"{folder / name} exists and was not written by bracketz, as far as can be"
                    " told; name another folder, or add `force=True` to overwrite it"
                )
        folder.mkdir(parents=True, exist_ok=True)
        if names:
            write_text(marker, "".join(f"{name}\n" for name in sorted(ours | set(names))))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot use the folder {folder}: {error}") from None
    return folder
