"""How a chain's whole sweep becomes one GPU kernel (Pallas, compiled by Triton); the sweeps lie
with their models.

Compiled by XLA, a sweep on a GPU is a loop over the rows of some ten small kernels each: with few
chains the launches are the cost, with many the cache of every chain travels to memory and back at
every row. Here one warp takes one chain through the whole sweep with its cache in registers. The
draws are those of ``GibbsScan`` for the same noise, up to rounding; tests/models/test_pallas.py
compares them. ``GibbsScan.draw`` asks ``chosen`` and falls back on the plain scan.

Shapes are powers of two, as Triton wants them: padded components have probability 0, padded columns
are 0.
"""

import os

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

#: Numbers of a chain's cache, at the most: beyond, they do not fit into registers.
MAX_CACHE = 4096
#: Lanes of a warp.
LANES = 32
#: Runs the kernels in the interpreter, anywhere: for tests.
interpret = False


def padded(size: int) -> int:
    """The next power of two, 16 at the least."""
    return max(16, 1 << (size - 1).bit_length())


def chosen(components: int, columns: int) -> bool:
    """Whether a sweep of this size should be fused here. ``BRACKETZ_FUSED=0`` says no."""
    fits = padded(components) * (padded(columns) + 2 * padded(components)) <= MAX_CACHE
    return fits and enabled()


def enabled() -> bool:
    """Whether fused kernels are used here."""
    on_gpu = jax.default_backend() == "gpu" and os.environ.get("BRACKETZ_FUSED") != "0"
    return on_gpu or interpret


def pad(array, *shape, fill=0.0):
    """``array`` filled up to ``shape``."""
    return jnp.pad(
        array,
        [(0, to - have) for to, have in zip(shape, array.shape, strict=True)],
        constant_values=fill,
    )


def call(body, out, *arrays):
    """Run a kernel body, one warp per chain."""
    from jax.experimental.pallas import triton  # needs jaxlib's GPU parts only when compiled

    return pl.pallas_call(
        body,
        out_shape=out,
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
    )(*arrays)


def call_lanes(body, out, dtype, shared, of_chains):
    """Run a kernel body with a chain in each lane of a warp.

    ``of_chains`` are arrays with the chains as their last axis, as the result is, of shape ``out``
    and that axis; ``shared`` are whole. Lanes that are left over compute with zeros.
    """
    from jax.experimental.pallas import triton

    chains = of_chains[0].shape[-1]
    total = -(-chains // LANES) * LANES

    def whole(array):
        return pl.BlockSpec(array.shape, lambda warp: (0,) * array.ndim)

    def lanes(shape):
        return pl.BlockSpec((*shape[:-1], LANES), lambda warp: (*(0,) * (len(shape) - 1), warp))

    found = pl.pallas_call(
        body,
        grid=(total // LANES,),
        in_specs=[*map(whole, shared), *(lanes(a.shape) for a in of_chains)],
        out_specs=lanes((*out, total)),
        out_shape=jax.ShapeDtypeStruct((*out, total), dtype),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
    )(*shared, *(pad(a, *a.shape[:-1], total) for a in of_chains))
    return found[..., :chains]


def visited_row(step, rows: int, backward: bool):
    """Which of ``rows`` rows a sweep visits at a step."""
    return rows - 1 - step if backward else step
