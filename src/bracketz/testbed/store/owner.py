"""Who runs a task: a process, named so that others can tell whether it still lives. No host name is
kept."""

import hashlib
import os
import platform
import time
from pathlib import Path

#: Seconds after which a claim from another machine counts as abandoned.
SILENCE = 900.0


def machine() -> str:
    return hashlib.sha256(f"{platform.node()}/{_boot()}".encode()).hexdigest()[:12]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process began, to tell it from a later one with the same number; "" if there is
    none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (
            "" if fields[0] in "ZX" else fields[19]
        )  # killed, and not yet collected by its parent
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "unknown"


def this_process() -> str:
    return f"{machine()}:{os.getpid()}:{_started(os.getpid())}"


def alive(owner: str | None, beat: float | None) -> bool:
    if owner is None or beat is None:
        return False
    place, pid, started = owner.split(":")
    if place == machine():
        return _started(int(pid)) == started
    return time.time() - beat < SILENCE
