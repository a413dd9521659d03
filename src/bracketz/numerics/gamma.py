"""Gamma variables without waiting for the unluckiest.

A rejection loop over many chains at once runs until the last of them accepts, and on a GPU each
round of it is a dozen launches and a wait for the answer. Here each variable gets several
candidates in one go, so that one round nearly always suffices.
"""

import jax
import jax.numpy as jnp

from bracketz.numerics.logarithm import log

#: Candidates per variable and round: both fail with probability 0.05^2 = 0.0024 at shape 1, and far
#: less often at larger ones. On a GPU one is slower and more gain nothing; on a CPU each costs.
CANDIDATES = 2


def log_gamma(key, shapes):
    """log g, g ~ Gamma(shape, 1), for an array of positive shapes; exact for any of them.

    For a >= 1, with d = a - 1/3, x standard normal and v = (1 + x / sqrt(9 d))^3, the variable d v
    is a gamma variable of shape a if it is kept with probability

        exp(x^2 / 2 + d (1 - v + log v))    (0 where v <= 0),

    which is 0.951 on average at a = 1 and grows with a (Marsaglia and Tsang, 2000). For a < 1 it is
    drawn at a + 1 and multiplied by u^(1/a), u uniform; in logs, since u^(1/a) underflows where a
    is small. The first candidate kept is the draw; where none is, there is another round, so the
    draw is exact however few candidates there are. Cost: ``CANDIDATES`` normals, uniforms and pairs
    of logarithms per variable.
    """
    shapes = jnp.asarray(shapes, dtype=float)
    small = shapes < 1.0
    d = jnp.where(small, shapes + 1.0, shapes) - 1 / 3
    width = 1 / jnp.sqrt(9 * d)
    tiny = jnp.finfo(d.dtype).tiny

    def attempt(key):
        """(whether a candidate was kept, log v of the first that was)."""
        key_x, key_u = jax.random.split(key)
        x = jax.random.normal(key_x, (CANDIDATES, *shapes.shape))
        u = 1 - jax.random.uniform(key_u, x.shape)  # in (0, 1]
        root = 1 + width * x
        log_v = 3 * log(jnp.maximum(root, tiny))
        kept = (root > 0) & (log(u) < x**2 / 2 + d * (1 - root**3 + log_v))
        found, value = kept[-1], log_v[-1]
        for k in reversed(range(CANDIDATES - 1)):
            found, value = found | kept[k], jnp.where(kept[k], log_v[k], value)
        return found, value

    key, key_first, key_small = jax.random.split(key, 3)

    def unfinished(carry):
        return ~jnp.all(carry[1])

    def again(carry):
        key, done, value = carry
        key, key_round = jax.random.split(key)
        found, new = attempt(key_round)
        return key, done | found, jnp.where(done, value, new)

    _, _, log_v = jax.lax.while_loop(unfinished, again, (key, *attempt(key_first)))
    lowered = jnp.where(small, log(1 - jax.random.uniform(key_small, shapes.shape)) / shapes, 0.0)
    return jnp.log(d) + log_v + lowered
