"""Shared set-up: double precision, all cores, one compilation cache for the whole test run.

Nearly all of the suite's time is compiling, so XLA is asked not to optimise: a third of the time,
and the same program up to rounding. (Level 1, which was tried first, crashes LLVM on one program.)
Nor does it cut programs into pieces to compile side by side, since every core has a test of its
own, and JAX does not note which line of Python an instruction comes from: a sixth less again.
Tests marked ``as_shipped`` are about what users run, compiled as users compile it; ``make test``
gives them a run of their own (BRACKETZ_AS_SHIPPED=1).
"""

import gc
import math
import os
import sys
import tempfile
import time

import jaxlib

os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", os.path.join(tempfile.gettempdir(), "bracketz-tests-cache")
)
# Compiled Stan programs, too.
os.environ.setdefault("BRACKETZ_CACHE", os.environ["JAX_COMPILATION_CACHE_DIR"])
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
known = jaxlib.__version__.startswith("0.10.")  # to know these settings
if known and not os.environ.get("BRACKETZ_AS_SHIPPED"):
    QUICKLY = (
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
        " --xla_cpu_parallel_codegen_split_count=1"
    )
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICKLY}".strip()

import jax
import pytest

from bracketz import simulate
from bracketz.engine.devices import use_all_cores
from tiny_instances import DISCRETE, TINY

use_all_cores()
gc.set_threshold(100_000, 50, 1000)  # a twentieth of the time
#: When the pieces of memory were counted.
LOOKED = [time.monotonic()]


def unit_of_work(nodeid: str) -> str:
    """What one worker runs as a whole: the testbed, which shares an experiment; a file, which
    shares compiled programs; or, where every test starts a process of its own, a test."""
    file = nodeid.partition("::")[0]
    if "testbed/" in file:
        return "testbed"
    return nodeid if file.endswith("test_mutants.py") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Units in the order of collection. (Marks do not do it: pytest 9.2 ignores the groups of
    pytest-xdist 3.8.)"""
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return unit_of_work(nodeid)

    config.option.loadscopereorder = False
    return ByUnit(config, log)


def pytest_collection_modifyitems(items):
    """The longest unit first and the shortest last, so that all workers end together."""
    units = {item: unit_of_work(item.nodeid) for item in items}
    items.sort(key=lambda item: (units[item] != "testbed", units[item] == item.nodeid))


@pytest.fixture(autouse=True)
def double_precision():
    """And what the command line sets for its own process does not reach the next test's."""
    before = os.environ.get("JAX_ENABLE_X64")
    with jax.enable_x64(True):
        yield
    if before is None:
        os.environ.pop("JAX_ENABLE_X64", None)


@pytest.fixture(autouse=True)
def forget_compiled_programs():
    """A process may map 65,530 pieces of memory, each compiled program takes many, and beyond it
    JAX crashes."""
    yield
    if time.monotonic() - LOOKED[-1] < 5:  # a look takes 20 ms
        return
    LOOKED[-1] = time.monotonic()
    if pieces_of_memory() > 30_000:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def short_pilots(monkeypatch):
    """Those of hyperparameters take a second, and are of little use."""
    monkeypatch.setattr("bracketz.models.hyper_pilot.SWEEPS", 20)
    monkeypatch.setattr("bracketz.models.hyper_pilot.DISTRIBUTIONS", 24)


def pieces_of_memory() -> float:
    """How many this process has mapped; unknown where there is no /proc."""
    try:
        return sum(1 for _ in open("/proc/self/maps"))
    except OSError:
        return math.inf


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command of bracketz in this process: (exit code, stdout, stderr)."""
    from bracketz.cli import main

    # main() sets up its own process; here that process is the test run's, so put everything back
    # afterwards.
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", os.environ["JAX_COMPILATION_CACHE_DIR"])

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["bracketz", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        return stop.value.code, out.out, out.err

    return run


@pytest.fixture(params=TINY)
def tiny(request):
    """(name, model, data) of each tiny instance."""
    model, shape = TINY[request.param]
    return request.param, model, simulate(model, *shape, seed=12)


@pytest.fixture(params=DISCRETE)
def discrete(request):
    """Tiny instances with a finite state space."""
    model, shape = TINY[request.param]
    return request.param, model, simulate(model, *shape, seed=12)
