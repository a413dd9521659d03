"""dynesty, static nested sampling.

Defaults first (500 live points, bounds and sampler chosen by itself). Its FAQ advises more live
points and a smaller dlogz where the evidence is wanted, and random slices in high dimensions.
"""

TOOL = "dynesty"
PACKAGES = ["dynesty"]
LOCK = "dynesty.txt"
SETTINGS = {
    "default": {},
    "accurate": {"nlive": 2000, "dlogz": 0.01, "sample": "rslice"},
}


def load():
    import dynesty  # noqa: F401


def run(problem, settings, seed):
    import dynesty
    import numpy as np

    stop = {"dlogz": settings.pop("dlogz")} if "dlogz" in settings else {}
    sampler = dynesty.NestedSampler(
        problem.log_likelihood,
        problem.prior_transform,
        problem.dimension,
        rstate=np.random.default_rng(seed),
        **settings,
    )
    sampler.run_nested(print_progress=False, **stop)
    found = sampler.results
    return {
        "log_z": float(found.logz[-1]),
        "error": float(found.logzerr[-1]),
        "kind": "error bar",
        "calls": int(np.sum(found.ncall)),
    }
