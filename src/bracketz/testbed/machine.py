"""What made a number besides its settings: the machine, and the commit of this package."""

import os
import platform
import re
import subprocess
from pathlib import Path


def processor() -> str:
    """The processor's name, or what Python knows of it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.processor()


def load() -> float | None:
    """The machine's mean load of the last minute, to a tenth; None where none is kept."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def commit(package: Path = Path(__file__).parents[1]) -> str | None:
    """The commit of this package's own checkout, "+" where files differ from it; None where it is
    installed elsewhere (a repository of the user's that it is installed in says nothing)."""
    root = package.parents[1]
    if package != root / "src" / package.name or not (root / ".git").exists():
        return None
    try:
        found, changed = (
            subprocess.run(
                ["git", "-C", str(root), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            ).stdout.strip()
            for words in (("rev-parse", "--short=10", "HEAD"), ("status", "--short", "-uno"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found + ("+" if changed else "")
