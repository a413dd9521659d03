"""How a run uses JAX: double precision and all cores, without touching the caller's settings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def double_precision() -> Iterator[None]:
    """float64 inside, whatever the caller's global JAX setting is and stays."""
    with jax.enable_x64(True):
        yield


def use_all_cores() -> None:
    """Present the CPU as one device a core, unless JAX has started or the user chose otherwise."""
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    if getattr(jax.config, "jax_num_cpu_devices", -1) not in (-1, None):
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        jax.config.update("jax_num_cpu_devices", cores or 1)
    except RuntimeError:
        pass  # JAX is running already: the user's own set-up stands
