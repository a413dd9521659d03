"""Arithmetic one can rely on: double precision, and no compiler pass that is known to be wrong."""

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


def jax_has_started() -> bool:
    """Whether JAX has counted its devices and read its flags, after which neither can be changed.

    JAX has no call that asks, but it refuses to change the number of CPU devices from then on, by a
    ``RuntimeError``; so the number is changed and put back. ``tests/core/test_precision.py`` says
    what to do when that stops being true.
    """
    before = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", before + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", before)
    return False


def _avoid_wrong_fusions() -> None:
    """Keep XLA's CPU compiler from handing reductions to YNNPACK, unless JAX has started or the
    user chose.

    jaxlib 0.10.2 does so by default (as do later ones), and in some float64 fusions of several
    thousand entries the logarithms come out as 0: a density without its normalising constants
    (tests/core/test_precision.py has one). An empty list of fusion types turns it off; jaxlib
    before 0.10.1 does not know the option.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    version = tuple(int(part) for part in jaxlib.__version__.split(".")[:3] if part.isdigit())
    if version >= (0, 10, 1) and "ynn_fusion_type" not in flags and not jax_has_started():
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_experimental_ynn_fusion_type=".strip()


_avoid_wrong_fusions()
