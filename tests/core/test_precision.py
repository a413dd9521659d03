"""The compiler must compute what the program says."""

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.precision import double_precision


def test_logarithms_survive_fusion_with_a_reduction():
    """With jaxlib 0.10.2's default settings every logarithm in here comes out as 0 (see
    core/precision.py, _avoid_wrong_fusions)."""
    with double_precision():
        rng = np.random.default_rng(0)
        n = 20_000
        v, noise, x = (
            np.exp(rng.normal(size=n)),
            np.exp(rng.normal(size=n)),
            rng.normal(size=(n, 1, 1)),
        )
        data = jnp.asarray([[0.8], [-2.2], [0.1], [0.7]])

        def density(v, x, noise):
            prior = 3.4 * jnp.log(2.1) - 4.4 * jnp.log(v) - 2.1 / v
            state = jnp.sum(-0.5 * jnp.log(2 * jnp.pi * v) - 0.5 * x**2 / v)
            rows = (
                -0.5
                * jnp.zeros(4)
                * (jnp.log(2 * jnp.pi * noise) + jnp.sum(data**2, axis=1) / noise)
            )
            return prior + (state + jnp.sum(rows))

        found = np.asarray(jax.jit(jax.vmap(density))(v, x, noise))
        expected = 3.4 * np.log(2.1) - 4.4 * np.log(v) - 2.1 / v - 0.5 * np.log(2 * np.pi * v)
        expected -= 0.5 * x[:, 0, 0] ** 2 / v
        np.testing.assert_allclose(found, expected, atol=1e-10)
