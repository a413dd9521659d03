"""nautilus, importance nested sampling with neural networks.

Its documentation: discarding the exploration phase makes the estimates unbiased, and a larger
effective sample size makes them precise.
"""

TOOL = "nautilus"
PACKAGES = ["nautilus-sampler"]
LOCK = "nautilus.txt"
CLAIMS = "a value, and an error bar from its effective sample size"
SETTINGS = {
    "default": {},
    "accurate": {"n_eff": 50_000, "discard_exploration": True},
}


def load():
    import nautilus  # noqa: F401


def run(problem, settings, seed):
    import nautilus

    sampler = nautilus.Sampler(
        problem.prior_transform,
        problem.log_likelihood,
        n_dim=problem.dimension,
        pass_dict=False,
        vectorized=True,
        seed=seed,
    )
    sampler.run(verbose=False, **settings)
    # As its paper has it: the relative error of Z is 1 / sqrt(n_eff).
    return {
        "log_z": float(sampler.log_z),
        "error": float(sampler.n_eff) ** -0.5,
        "kind": "error bar",
        "calls": int(sampler.n_like),
    }
