"""Shared set-up: double precision, all cores, one compilation cache for the whole test run."""

import gc
import os
import tempfile

os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", os.path.join(tempfile.gettempdir(), "bracketz-tests-cache")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import jax
import pytest

from bracketz import simulate
from bracketz.runtime import use_all_cores
from tiny_instances import DISCRETE, TINY

use_all_cores()


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_programs():
    """A process may map 65,530 pieces of memory, each compiled program takes many, and beyond it JAX crashes."""
    yield
    jax.clear_caches()
    gc.collect()


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
