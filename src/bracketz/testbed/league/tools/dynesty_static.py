"""dynesty, static nested sampling.

Defaults first (500 live points, bounds and sampler chosen by itself). By its reference, more live
points are a "more accurate evidence", and what is left out of the integral is below dlogz, of which
0.01 is the default where live points are not added at the end. Tempted: it takes live points, which
its reference warns must be draws from the prior.
"""

TOOL = "dynesty"
FAMILY = "nested sampling"
PACKAGES = ["dynesty"]
LOCK = "dynesty.txt"
SETTINGS = {
    "default": {},
    "accurate": {"nlive": 2000, "dlogz": 0.01},
}
SPECIAL = {"start-at-the-data": {"start": 3.0}}


def load():
    import dynesty  # noqa: F401


def run(problem, settings, seed):
    import dynesty
    import numpy as np

    if (start := settings.pop("start", None)) is not None:
        settings["live_points"] = _all_at(problem, start)
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


def _all_at(problem, start, count=500):
    """Live points in the cube and in the problem's coordinates, N(0, 1) each, and their
    likelihoods."""
    import numpy as np
    from scipy.special import ndtr

    points = np.full((count, problem.dimension), start)
    return [ndtr(points), points, problem.log_likelihood(points)]
