"""One run of a tool, in a process of its own, under limits of time and memory."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bracketz.testbed.league import worker
from bracketz.testbed.league.catalogue import ToolEntry
from bracketz.testbed.league.datasets import Dataset
from bracketz.testbed.league.environments import home
from bracketz.testbed.league.places import place

#: Lines of standard error that tell why a process died.
LAST = 3
OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "annot allocate", "nable to allocate", "ut of memory")


@dataclass(frozen=True)
class Limits:
    """Of one run: seconds by the clock, gibibytes of private memory, and cores, the same for every
    tool."""

    seconds: float = 60.0
    memory: float = 6.0
    cores: int = 1


def run_tool(
    tool: ToolEntry,
    python: Path,
    data: Dataset,
    settings: dict[str, Any],
    seed: int,
    limits: Limits,
) -> dict[str, Any]:
    """What the worker answered, or what became of it: ``status`` is "done", "no answer", "failed",
    "memory", "timeout" or "killed". The whole process group ends with it."""
    with (
        tempfile.TemporaryDirectory(prefix="league-") as folder,
        place(limits.cores) as cores,
    ):
        here = Path(folder)
        data.write(here / "data.npz")
        job = {
            "problem": data.problem.name,
            "problem_file": str(data.problem.file),
            "data_file": str(here / "data.npz"),
            "tool_file": str(tool.file),
            "settings": settings,
            "seed": seed,
            "answer_file": str(here / "answer.json"),
            "memory": int(limits.memory * 2**30),
            "cores": cores,
        }
        (here / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [str(python), worker.__file__, str(here / "job.json")]
        began, used = time.perf_counter(), _of_children()
        with open(here / "log", "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=here,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(tool, limits),
                start_new_session=True,
            )
            try:
                code = process.wait(timeout=limits.seconds)
                ended = "on its own"
            except subprocess.TimeoutExpired:
                ended = "by the clock"
            finally:  # its children, too, and also if we are interrupted
                _end(process)
        wall = time.perf_counter() - began
        said = (here / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if ended == "by the clock":
            answer: dict[str, Any] = {
                "status": "timeout",
                "message": f"no answer in {limits.seconds:g} s",
            }
        elif (here / "answer.json").is_file():
            answer = json.loads((here / "answer.json").read_text(encoding="utf-8"))
        else:
            answer = _death(code, said)
        # Of the whole process, where it has not told those of the run alone.
        answer.setdefault("cpu_seconds", _of_children() - used)
        return answer | {"wall_seconds": wall}


def _of_children() -> float:
    """CPU seconds of processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _death(code: int, said: list[str]) -> dict[str, Any]:
    last = " | ".join(line.strip() for line in said[-LAST:])[: worker.LONGEST]
    if any(word in last for word in OUT_OF_MEMORY):
        return {"status": "memory", "message": last}
    if code < 0:
        name = signal.Signals(-code).name
        return {"status": "killed", "message": f"by {name}; {last}".rstrip("; ")}
    return {"status": "failed", "message": last or f"exit code {code}"}


def _end(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _environment(tool: ToolEntry, limits: Limits) -> dict[str, str]:
    """Ours, without what would carry our packages into the tool's environment."""
    kept = dict(os.environ)
    if tool.lock is not None:
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "XLA_FLAGS"):
            kept.pop(name, None)
    else:
        source = str(Path(worker.__file__).parents[3])
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, [source, kept.get("PYTHONPATH")]))
    # One cache for all tools in JAX. What compiling takes is told apart.
    kept["JAX_COMPILATION_CACHE_DIR"] = str(home() / "jax-cache")
    kept["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        kept[name] = str(limits.cores)
    kept |= {"JAX_PLATFORMS": "cpu", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0"}
    return kept
