"""An environment for each tool, made from its lock file, so that nobody's pins bind anybody's."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bracketz.caches import cache_folder
from bracketz.errors import InputError
from bracketz.outputs import write_text
from bracketz.testbed.league.catalogue import ToolEntry

#: Says which lock made an environment, so that a newer lock makes a new one.
MARK = "league.json"


def home() -> Path:
    """``BRACKETZ_LEAGUE``, or a folder beside the compiled programs."""
    return Path(os.environ.get("BRACKETZ_LEAGUE") or cache_folder() / "league")


def python_of(tool: ToolEntry) -> Path | None:
    """The interpreter a tool runs by; None where its environment has not been made."""
    if tool.lock is None:
        return Path(sys.executable)
    folder = _folder(tool)
    mark = folder / MARK
    if not mark.is_file() or json.loads(mark.read_text())["lock"] != tool.lock.read_text():
        return None
    return folder / "bin" / "python"


def ready(tool: ToolEntry) -> Path | None:
    """``python_of``, and None as well where the tool lacks something that pip does not bring."""
    return python_of(tool) if tool.missing() is None else None


def install(tool: ToolEntry, say: Callable[[str], None] = lambda text: None) -> Path:
    """Make a tool's environment, unless it is there; its interpreter.

    Raises:
        InputError: the lock file is missing, pip cannot install from it, or the tool needs more
            than pip brings, which the message names.
    """
    python = _made(tool, say)
    # After the environment: what the system lacks is one command away, and not ours to install.
    if (sentence := tool.missing()) is not None:
        raise InputError(f"{tool.name} is {sentence}")
    return python


def _made(tool: ToolEntry, say: Callable[[str], None]) -> Path:
    if (found := python_of(tool)) is not None:
        return found
    assert tool.lock is not None
    if not tool.lock.is_file():
        raise InputError(f"{tool.name} has no lock file {tool.lock}; write one, see docs/league.md")
    folder = _folder(tool)
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    say(f"{tool.name}: a new environment")
    _run([sys.executable, "-m", "venv", str(folder)], tool)
    say(f"{tool.name}: installing {len(tool.lock.read_text().split())} packages")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    _run([*pip, "--requirement", str(tool.lock)], tool)
    # Last: an environment without its mark is one that was never finished.
    write_text(folder / MARK, json.dumps({"tool": tool.name, "lock": tool.lock.read_text()}))
    return folder / "bin" / "python"


def _folder(tool: ToolEntry) -> Path:
    assert tool.lock is not None
    return home() / tool.lock.stem


def _run(command: list[str], tool: ToolEntry) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        last = lines[-1] if lines else f"exit code {done.returncode}"
        raise InputError(f"the environment of {tool.name} cannot be made: {last.strip()}")
