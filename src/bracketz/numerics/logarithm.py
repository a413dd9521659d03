"""A logarithm that a CPU computes several numbers at a time.

XLA calls the system's scalar function for every float64 logarithm, and a Gibbs sweep takes one for
every candidate value. This one is a few dozen operations that vectorise, several times faster, and
as accurate.
"""

from fractions import Fraction

import jax
import jax.numpy as jnp

#: Bits of sqrt(1/2): subtracting them from those of x puts the exponent's boundary there instead of
#: at 1.
_SQRT_HALF = 0x3FE6A09E667F3BCD
#: log 2 in two parts: 32 bits, whose products with an exponent are exact, and the rest.
_LOG2_HIGH = int(0.6931471805599453 * 2**32) / 2**32
_LOG2_LOW = float(Fraction("0.693147180559945309417232121458") - Fraction(_LOG2_HIGH))


def log(x):
    """Natural logarithm of positive, normal float64 numbers, to 2 units in the last place.

    With x = 2^e m, m in [sqrt(1/2), sqrt(2)), and s = (m - 1) / (m + 1), |s| <= 0.172,

        log x = e log 2 + 2 (s + s^3/3 + s^5/5 + ...),

    cut off after s^21, where the remainder is below 1e-17 of the sum. Anything but such numbers
    (zero, negative, infinite, not a number) gives nonsense: use ``jnp.log`` where they can occur.
    """
    x = jnp.asarray(x)
    if x.dtype != jnp.float64:
        return jnp.log(x)
    bits = jax.lax.bitcast_convert_type(x, jnp.int64)
    exponent = (bits - _SQRT_HALF) >> 52
    m = jax.lax.bitcast_convert_type(bits - (exponent << 52), jnp.float64)
    f = m - 1
    s = f / (2 + f)
    z = s * s
    series = jnp.zeros_like(s)
    for n in range(10, 0, -1):
        series = (series + 2 / (2 * n + 1)) * z
    e = exponent.astype(jnp.float64)
    # f - s f = 2 s exactly in exact arithmetic, and with less rounding: f carries the leading
    # digits.
    return e * _LOG2_HIGH + (f - s * (f - series) + e * _LOG2_LOW)
