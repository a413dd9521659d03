"""harmonic: the learned harmonic mean, a flow trained on NUTS draws (NumPyro's).

Half of the chains train the flow (real NVP, standardised, temperature 0.8, as in its examples), the
other half give the evidence.
"""

TOOL = "harmonic"
FAMILY = "posterior draws"
PACKAGES = ["harmonic", "numpyro", "jax"]
LOCK = "harmonic.txt"
SETTINGS = {
    "default": {"chains": 10, "draws": 1000, "warmup": 1000, "epochs": 10},
    "accurate": {"chains": 20, "draws": 5000, "warmup": 2000, "epochs": 30},
}


def load():
    import harmonic  # noqa: F401
    import numpyro  # noqa: F401


def run(problem, settings, seed):
    import harmonic
    import jax
    import numpy as np
    from numpyro.infer import MCMC, NUTS

    def potential(theta):
        return -(problem.jax.log_prior(theta) + problem.jax.log_likelihood(theta))

    key, key_begin = jax.random.split(jax.random.PRNGKey(seed))
    begin = jax.vmap(problem.jax.sample_prior)(jax.random.split(key_begin, settings["chains"]))
    sampler = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=settings["warmup"],
        num_samples=settings["draws"],
        num_chains=settings["chains"],
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(key, init_params=begin)
    draws = np.asarray(sampler.get_samples(group_by_chain=True))
    values = -np.asarray(jax.jit(jax.vmap(jax.vmap(potential)))(draws))
    chains = harmonic.Chains(problem.dimension)
    chains.add_chains_3d(draws, values)
    train, rest = harmonic.utils.split_data(chains, training_proportion=0.5)
    model = harmonic.model.RealNVPModel(problem.dimension, standardize=True, temperature=0.8)
    model.fit(train.samples, epochs=settings["epochs"], verbose=False)
    evidence = harmonic.Evidence(rest.nchains, model)
    evidence.add_chains(rest)
    value = -evidence.ln_evidence_inv
    low, high = evidence.compute_ln_inv_evidence_errors()
    return {
        "log_z": float(value),
        "error": float(0.5 * (abs(low) + abs(high))),
        "kind": "error bar",
    }
