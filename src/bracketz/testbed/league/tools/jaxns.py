"""JAXNS 3, nested sampling in JAX; the classic expectation and its uncertainty.

Its default is small: 30 root points for each dimension. Its documentation goes on until the
uncertainty is below 0.1 (run_until_goal, "Custom stopping goals"). Over 40 seeds of its quick start
the adapter's cube and the page's own model do alike; see the documented examples.
"""

TOOL = "jaxns"
FAMILY = "nested sampling"
PACKAGES = ["jaxns", "jax"]
LOCK = "jaxns.txt"
SETTINGS = {"default": {}, "accurate": {"goal": 0.1}}


def load():
    import jaxns.core  # noqa: F401


def run(problem, settings, seed):
    import jax
    import jax.numpy as jnp
    from jaxns.core import NestedSampler
    from jaxns.model import Model
    from jaxns.priors import Prior
    from tensorflow_probability.substrates import jax as tfp

    size = problem.dimension

    def prior_model():
        cube = tfp.distributions.Uniform(low=jnp.zeros(size), high=jnp.ones(size))
        u = Prior(cube, name="u").realise()
        # The cube's faces have no quantile.
        return problem.jax.log_likelihood(
            problem.jax.prior_transform(jnp.clip(u, 1e-12, 1 - 1e-12))
        )

    sampler, key = NestedSampler(model=Model(prior_model=prior_model)), jax.random.PRNGKey(seed)
    if "goal" in settings:
        state = sampler.run_until_goal(
            lambda state: float(state.expected_log_Z_uncert) < settings["goal"], key=key
        )
    else:
        state = sampler.run(key=key)
    found = state.to_result().trim()
    return {
        "log_z": float(found.log_Z_mean),
        "error": float(found.log_Z_uncert),
        "kind": "error bar",
        "calls": int(found.total_num_likelihood_evaluations),
    }
