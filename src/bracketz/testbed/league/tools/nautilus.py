"""nautilus, importance nested sampling with neural networks.

By default four networks are trained for every bound, each on a core of its own if there are four;
on one core this, not the likelihood, takes nearly all of its time. Its FAQ ("How many networks
should I use?") says that with fewer cores than networks, fewer may be faster. It says also that
publications should discard the exploration phase, which makes the estimate unbiased, and that its
statistical error is 1 / sqrt(n_eff). So the second setting does both. Its crash course, among the
documented examples, has 1000 live points.
"""

TOOL = "nautilus"
FAMILY = "nested sampling"
PACKAGES = ["nautilus-sampler"]
LOCK = "nautilus.txt"
CLAIMS = "a value, and an error bar from its effective sample size"
SETTINGS = {
    "default": {},
    "accurate": {"n_networks": 1, "discard_exploration": True},
}
SPECIAL = {"nautilus-crash-course": {"n_live": 1000}}
#: What its run takes; the rest is the sampler's.
OF_RUN = ("discard_exploration",)


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
        **{name: value for name, value in settings.items() if name not in OF_RUN},
    )
    sampler.run(verbose=False, **{name: settings[name] for name in OF_RUN if name in settings})
    return {
        "log_z": float(sampler.log_z),
        "error": float(sampler.n_eff) ** -0.5,
        "kind": "error bar",
        "calls": int(sampler.n_like),
    }
