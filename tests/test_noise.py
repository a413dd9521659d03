"""Box-Muller normals: exact identities, then distribution."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from bracketz.noise import _sin_cos, standard_normal


def test_sine_and_cosine_to_rounding():
    x = np.linspace(-np.pi / 4, np.pi / 4, 10_001)
    sine, cosine = _sin_cos(jnp.asarray(x))
    np.testing.assert_allclose(sine, np.sin(x), atol=3e-16)
    np.testing.assert_allclose(cosine, np.cos(x), atol=3e-16)


def test_normals_are_normal_and_independent():
    """A million draws: Kolmogorov-Smirnov p above 1e-5, moments and pair correlations within 5 sigma."""
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
            assert abs(np.mean((sign_a * a > 0) & (sign_b * b > 0)) - 0.25) < 5 * np.sqrt(0.1875 / len(a))
