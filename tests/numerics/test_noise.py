"""Box-Muller normals: exact identities, then distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bracketz.numerics.logarithm import log
from bracketz.numerics.noise import THREEFRY, _sin_cos, standard_normal


@pytest.mark.slow
def test_generator_gives_jax_s_own_bits():
    """Same keys, splits, folds and bits of every width as threefry2x32: results do not depend on
    which is used."""
    ours, theirs = (jax.random.key(1234567890123, impl=impl) for impl in (THREEFRY, "threefry2x32"))

    def all_of(key):
        keys = [
            key,
            jax.random.fold_in(key, 7),
            *jax.random.split(key, 3),
            jax.random.split(key, (2, 2))[1, 0],
        ]
        for dtype in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64):
            for k in keys:
                yield jax.random.bits(k, (3, 5), dtype)
        for k in keys:
            yield jax.random.uniform(k, (101,))
            yield jax.random.normal(k, (7,))
            yield jax.random.gamma(k, 2.5)

    for a, b in zip(all_of(ours), all_of(theirs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_logarithm_to_rounding():
    """Against NumPy, over all exponents, densely around 1, and at the seams sqrt(2) 2^e."""
    rng = np.random.default_rng(0)
    seams = np.sqrt(2.0) * 2.0 ** np.arange(-1000, 1000)
    x = np.concatenate(
        [
            2.0 ** rng.uniform(-1020, 1020, 200_000),
            rng.uniform(0.4, 2.5, 200_000),
            1 + rng.uniform(-1e-9, 1e-9, 10_000),
            *(np.nextafter(seams, to) for to in (0, np.inf)),
            seams,
            [1.0, np.finfo(float).tiny, np.finfo(float).max],
        ]
    )
    ours, exact = np.asarray(log(x)), np.log(x)
    assert np.all(np.abs(ours - exact) <= 2 * np.spacing(np.abs(exact)))


def test_sine_and_cosine_to_rounding():
    x = np.linspace(-np.pi / 2, np.pi / 2, 10_001)
    sine, cosine = _sin_cos(jnp.asarray(x))
    np.testing.assert_allclose(sine, np.sin(x), atol=3e-16)
    np.testing.assert_allclose(cosine, np.cos(x), atol=3e-16)


def test_normals_are_normal_and_independent():
    """A million draws: Kolmogorov-Smirnov p above 1e-5, moments and pair correlations within 5
    sigma."""
    draws = np.asarray(standard_normal(jax.random.key(0), (1000, 1001)))
    assert draws.shape == (1000, 1001) and draws.dtype == np.float64
    flat = draws.ravel()
    assert stats.kstest(flat, "norm").pvalue > 1e-5
    n = flat.size
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(flat**power) - mean) < 5 * np.sqrt(variance / n)
    half = (n + 1) // 2  # sine and cosine of one angle sit half an array apart
    a, b = flat[: n - half], flat[half:]
    for x, y in ((a, b), (a**2, b**2), (flat[:-1], flat[1:])):
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(len(x))
    # All four quadrants of the angle.
    for sign_a in (-1, 1):
        for sign_b in (-1, 1):
            assert abs(np.mean((sign_a * a > 0) & (sign_b * b > 0)) - 0.25) < 5 * np.sqrt(
                0.1875 / len(a)
            )
