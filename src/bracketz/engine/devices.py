"""All cores, without touching the caller's settings."""

import os

import jax

from bracketz.core.precision import jax_has_started


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


#: Threads in XLA's CPU pool: NPROC if set when JAX started, else one per core.
_pool = _cores()


def use_all_cores() -> None:
    """Present the CPU as one device per core, unless JAX has started or the user chose otherwise.

    XLA's CPU thread pool must be larger than the number of devices: batched LAPACK calls hand work
    to the pool and wait for it on a pool thread, and with as many devices as threads all of them
    can be waiting (seen with jaxlib 0.10.2). XLA takes the pool's size from NPROC.
    """
    global _pool
    if jax_has_started():
        return
    chosen = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not chosen and jax.config.values["jax_num_cpu_devices"] == -1:
        jax.config.update("jax_num_cpu_devices", _cores())
    _pool = int(os.environ.setdefault("NPROC", str(_cores() + 1)))


def usable_devices() -> list:
    """JAX's devices; on a CPU fewer than its pool has threads, so that a program can always
    go on."""
    devices = jax.devices()
    return devices[: max(1, _pool - 1)] if devices[0].platform == "cpu" else devices
