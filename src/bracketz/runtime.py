"""How a run uses JAX: double precision and all cores, without touching the caller's settings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import jaxlib


@contextmanager
def double_precision() -> Iterator[None]:
    """float64 inside, whatever the caller's global JAX setting is and stays."""
    with jax.enable_x64(True):
        yield


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _jax_has_started() -> bool:
    from jax._src import xla_bridge  # no public way to ask

    return getattr(xla_bridge, "backends_are_initialized", lambda: True)()


def _avoid_wrong_fusions() -> None:
    """Keep XLA's CPU compiler from handing reductions to YNNPACK, unless JAX has started or the user chose.

    jaxlib 0.10.2 does so by default (as do later ones), and in some float64 fusions of several thousand entries the
    logarithms come out as 0: a density without its normalising constants (tests/test_runtime.py has one). An empty list of
    fusion types turns it off; jaxlib before 0.10.1 does not know the option.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    knows = tuple(int(part) for part in jaxlib.__version__.split(".")[:3] if part.isdigit()) >= (0, 10, 1)
    if knows and "ynn_fusion_type" not in flags and not _jax_has_started():
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_experimental_ynn_fusion_type=".strip()


_avoid_wrong_fusions()

#: Threads in XLA's CPU pool: NPROC if set when JAX started, else one a core.
_pool = _cores()


def use_all_cores() -> None:
    """Present the CPU as one device a core, unless JAX has started or the user chose otherwise.

    XLA's CPU thread pool must be larger than the number of devices: batched LAPACK calls hand work to the
    pool and wait for it on a pool thread, and with as many devices as threads all of them can be waiting
    (seen with jaxlib 0.10.2). XLA takes the pool's size from NPROC.
    """
    global _pool
    if _jax_has_started():
        return
    chosen = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not chosen and getattr(jax.config, "jax_num_cpu_devices", -1) in (-1, None):
        jax.config.update("jax_num_cpu_devices", _cores())
    _pool = int(os.environ.setdefault("NPROC", str(_cores() + 1)))


def usable_devices() -> list:
    """JAX's devices; on a CPU fewer than its pool has threads, so that a program can always go on."""
    devices = jax.devices()
    return devices[: max(1, _pool - 1)] if devices[0].platform == "cpu" else devices
