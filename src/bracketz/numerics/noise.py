"""Random numbers for the sweeps: the bits of JAX's default generator, several times cheaper on a
CPU.

A sweep draws a number for every latent and derives several keys. JAX's own threefry is compiled for
the CPU as a loop of five small passes over memory, which is quick to compile and slow to run.
``THREEFRY`` is the same function of the same keys written in a straight line, as JAX itself does on
other platforms. All of ``jax.random`` works with its keys and returns the same bits as with
``threefry2x32``.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl

from bracketz.numerics.logarithm import log

#: So many numbers at once are worth a pass over memory.
IN_A_LOOP = 32

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(key, high, low):
    """Threefry-2x32 with 20 rounds (Salmon et al., 2011): a bijection of (high, low) for
    each key."""
    k = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    high, low = high + k[0], low + k[1]
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            high = high + low
            low = high ^ ((low << np.uint32(turn)) | (low >> np.uint32(32 - turn)))
        high, low = high + k[(block + 1) % 3], low + k[(block + 2) % 3] + np.uint32(block + 1)
    return high, low


def _counted(key, size, first):
    """The function at first, first + 1, ...: two words each."""
    low = jax.lax.iota(np.uint32, size) + jnp.asarray(first).astype(np.uint32)
    return _threefry(key, jnp.zeros_like(low), low)


def _seed(seed):
    return jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))


def _split(key, shape):
    """By JAX's own function, which leaves its result in memory: XLA of jaxlib 0.11 does not get to
    the end of a program in which a straight line through ``_split`` and ``_random_bits`` may be
    fused."""
    return jax.random.key_data(
        jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"), shape)
    )


def _fold_in(key, data):
    return jnp.stack(_threefry(key, np.uint32(0), jnp.asarray(data).astype(np.uint32)))


def _random_bits(key, width, shape):
    def words(size, first):
        high, low = _counted(key, size, first)
        if width == 64:
            return (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
        return (high ^ low).astype(f"uint{width}")

    size = math.prod(shape)
    if size < IN_A_LOOP:
        return words(size, 0).reshape(shape)
    # A loop of two rounds: its result is in memory. Otherwise XLA takes these cheap operations into
    # whatever uses a random number, and once more for every further use.
    half = (size + 1) // 2
    halves = jax.lax.map(lambda j: words(half, j * half), np.arange(2))
    return halves.reshape(-1)[:size].reshape(shape)


def plain(key):
    """The same key for JAX's own threefry: the same bits, compiled faster, and all of
    ``jax.random`` (some samplers know no other generator)."""
    return jax.random.wrap_key_data(jax.random.key_data(key), impl="threefry2x32")


#: For ``jax.random.key(seed, impl=THREEFRY)``.
THREEFRY = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="bracketz_threefry2x32",
    tag="btf",
)


def _sin_cos(x):
    """sin and cos for |x| <= pi/2 by their Taylor series, whose remainder is below 1e-17 there."""
    z = x * x
    sine = cosine = jnp.zeros_like(x)
    for n in range(10, -1, -1):
        sine = sine * z + (-1) ** n / math.factorial(2 * n + 1)
        cosine = cosine * z + (-1) ** n / math.factorial(2 * n)
    return sine * x, cosine


def standard_normal(key, shape: tuple[int, ...]) -> jax.Array:
    """Independent N(0, 1) entries by Box and Muller: sqrt(-2 log(1 - u)) times sine and cosine of a
    uniform angle.

    The angle 2 t, t in [-pi/2, pi/2), goes through sin 2t = 2 sin t cos t and cos 2t = 1 - 2 sin^2
    t, so that two short polynomials serve all of it and nothing branches.
    """
    size = math.prod(shape)
    half = (size + 1) // 2
    u = jax.random.uniform(key, (2, half))
    radius = jnp.sqrt(-2 * log(1 - u[0]))
    sine, cosine = _sin_cos(math.pi * (u[1] - 0.5))
    pair = radius * 2 * sine * cosine, radius * (1 - 2 * sine * sine)
    return jnp.concatenate(pair)[:size].reshape(shape)
