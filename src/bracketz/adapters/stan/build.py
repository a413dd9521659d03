"""From a Stan program to a shared library, once: the result is kept in a cache folder.

``stanc`` writes the program as C++, which is compiled and linked with ``shim.cpp``. Both objects
are kept under a hash of all that went into them, so the second program costs one compilation and
the second run of a program costs none.
"""

import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from bracketz.caches import cache_folder
from bracketz.errors import InputError

SHIM = Path(__file__).with_name("shim.cpp")
#: Every thread has its own tape (STAN_THREADS), and no symbol of one program is seen by another.
FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-w"),
    *("-DSTAN_THREADS", "-D_REENTRANT", "-DBOOST_DISABLE_ASSERTS"),
)
LIBRARIES = ("sundials_cvodes", "sundials_idas", "sundials_kinsol", "sundials_nvecserial", "tbb")


@dataclass(frozen=True)
class Tools:
    """The folder of httpstan, and a C++ compiler with its version."""

    home: Path
    compiler: str
    version: str


@cache
def describe(text: str, folder: Path | None = None) -> Mapping[str, Any]:
    """What a program declares: nothing is compiled.

    Args:
        text: the program.
        folder: where ``#include`` looks for files.

    Returns:
        "inputs", "parameters", "generated quantities" and more, as ``stanc`` says; each by name
        with "type" and "dimensions".

    Raises:
        InputError: httpstan or the compiler is missing, or the program is not valid Stan.
    """
    with tempfile.TemporaryDirectory() as scratch:
        return json.loads(stanc(text, folder, Path(scratch), "--info"))


@cache
def build(text: str, folder: Path | None = None) -> Path:
    """Compile a program, or find it compiled.

    Args:
        text: the program.
        folder: where ``#include`` looks for files.

    Returns:
        The shared library.

    Raises:
        InputError: as ``describe``.
    """
    tools = find_tools(os.environ.get("CXX"))
    with tempfile.TemporaryDirectory() as scratch:
        generated = Path(scratch) / "program.hpp"
        stanc(text, folder, Path(scratch), "--name=bracketz_program", f"--o={generated}")
        program = generated.read_text(encoding="utf-8").replace(f"{scratch}/", "")
    shim = SHIM.read_text(encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        return link(tools, *pool.map(partial(compiled, tools), (program, shim)))


@cache
def find_tools(chosen: str | None = None) -> Tools:
    """httpstan's folder and a compiler: the ``chosen`` one, or the first on the path.

    Raises:
        InputError: one of them is missing.
    """
    spec = importlib.util.find_spec("httpstan")  # found and not imported: it is a web server
    if spec is None or spec.origin is None:
        raise InputError(
            'a Stan program needs httpstan, which is not installed: pip install "bracketz[stan]"'
        )
    for name in (chosen,) if chosen else ("g++", "clang++", "c++"):
        if compiler := shutil.which(name):
            version = run([compiler, "--version"]).stdout.partition("\n")[0]
            return Tools(Path(spec.origin).parent, compiler, version)
    raise InputError(
        f"a Stan program needs a C++ compiler, and {chosen or 'g++'} is not on the path:"
        " install one (apt install g++), or name one in the environment variable CXX"
    )


def stanc(text: str, folder: Path | None, scratch: Path, *options: str) -> str:
    """What stanc prints of a program, which it is given in an empty folder.

    Raises:
        InputError: the program is not valid; with the line and stanc's reason.
    """
    source = scratch / "program.stan"
    source.write_text(text, encoding="utf-8")
    include = [f"--include-paths={folder}"] if folder else []
    tools = find_tools(os.environ.get("CXX"))
    done = run([tools.home / "stanc", *include, *options, source])
    if done.returncode:
        raise InputError(f"the Stan program is not valid: {shortened(done.stderr)}")
    return done.stdout


def shortened(complaint: str) -> str:
    """``line 4, column 8: No function 'normall_lpdf' was found``: stanc without its picture."""
    place = re.search(r"line (\d+), column (\d+)", complaint)
    reason = " ".join(re.split(r"-{20,}", complaint)[-1].split()).removesuffix(".")
    return f"{place.group()}: {reason}" if place else reason


def compiled(tools: Tools, code: str) -> Path:
    """The object file of C++ code."""
    command = [tools.compiler, *FLAGS, "-isystem", tools.home / "include"]
    target = cache_folder() / "stan" / f"{digest(code, *command, tools.version)}.o"

    def make(out: Path) -> None:
        source = out.with_suffix(".cpp")
        source.write_text(code, encoding="utf-8")
        compile_or_refuse([*command, "-c", source, "-o", out])

    return kept(target, make)


def link(tools: Tools, *objects: Path) -> Path:
    """The shared library of objects and Stan's libraries, which it finds where httpstan is."""
    lib = tools.home / "lib"
    options = [f"-L{lib}", *(f"-l{name}" for name in LIBRARIES), f"-Wl,-rpath,{lib}"]
    target = cache_folder() / "stan" / f"{digest(*objects, *options)}.so"
    command = [tools.compiler, "-shared", *objects, *options, "-o"]
    return kept(target, lambda out: compile_or_refuse([*command, out]))


def compile_or_refuse(command: list[Any]) -> None:
    """Run the compiler; its first error in a sentence if there is one."""
    done = run(command)
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        raise InputError(f"{Path(command[0]).name} could not compile the Stan program: {first}")


def kept(target: Path, make) -> Path:
    """``target``, made beside itself and renamed if it is not there: another process never sees
    half of it."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            out = Path(scratch) / target.name
            make(out)
            os.replace(out, target)
    return target


def digest(*parts: object) -> str:
    """A name that stands for the parts and the kind of machine."""
    text = "\0".join([platform.machine(), platform.system(), *map(str, parts)])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def run(command: list[Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)
