"""JAXNS 3, nested sampling in JAX; the classic expectation and its uncertainty."""

TOOL = "jaxns"
PACKAGES = ["jaxns", "jax"]
LOCK = "jaxns.txt"
SETTINGS = {"default": {}}


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

    sampler = NestedSampler(model=Model(prior_model=prior_model), **settings)
    found = sampler.run(key=jax.random.PRNGKey(seed)).to_result().trim()
    return {
        "log_z": float(found.log_Z_mean),
        "error": float(found.log_Z_uncert),
        "kind": "error bar",
        "calls": int(found.total_num_likelihood_evaluations),
    }
