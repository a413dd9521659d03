"""The compiler must compute what the program says, and we must know whether JAX has started."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz.core.precision import double_precision, jax_has_started


@pytest.mark.as_shipped
def test_logarithms_survive_fusion_with_a_reduction():
    """With jaxlib 0.10.2's default settings every logarithm in here comes out as 0 (see
    precision._avoid_wrong_fusions)."""
    with double_precision():
        rng = np.random.default_rng(0)
        n = 20_000
        v, noise = np.exp(rng.normal(size=n)), np.exp(rng.normal(size=n))
        x = rng.normal(size=(n, 1, 1))
        data = jnp.asarray([[0.8], [-2.2], [0.1], [0.7]])

        def density(v, x, noise):
            prior = 3.4 * jnp.log(2.1) - 4.4 * jnp.log(v) - 2.1 / v
            state = jnp.sum(-0.5 * jnp.log(2 * jnp.pi * v) - 0.5 * x**2 / v)
            squares = jnp.sum(data**2, axis=1) / noise
            rows = -0.5 * jnp.zeros(4) * (jnp.log(2 * jnp.pi * noise) + squares)
            return prior + (state + jnp.sum(rows))

        found = np.asarray(jax.jit(jax.vmap(density))(v, x, noise))
        expected = 3.4 * np.log(2.1) - 4.4 * np.log(v) - 2.1 / v - 0.5 * np.log(2 * np.pi * v)
        expected -= 0.5 * x[:, 0, 0] ** 2 / v
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_we_know_whether_jax_has_started():
    """If this fails, JAX no longer refuses to change the number of its CPU devices once it has
    started (or refuses before). Look in its change log for another public sign of having started,
    use it in ``jax_has_started``, and look at ``use_all_cores``, which rests on it."""
    jax.devices()
    assert jax_has_started()
    code = (
        "import jax; from bracketz.core.precision import jax_has_started as started;"
        "before = jax.config.jax_num_cpu_devices; first = started(); again = started();"
        "assert jax.config.jax_num_cpu_devices == before;"
        "jax.numpy.zeros(1); print(first, again, started())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
