"""dynesty, dynamic nested sampling, all of its effort for the evidence (pfrac 0).

As its documentation does where evidence is the goal: wt_kwargs={"pfrac": 0.0}. The second setting
stops by the evidence, too (stopping_function: pfrac 0, at a fifth of its default evid_thresh), and
has twice the live points.
"""

TOOL = "dynesty-dynamic"
FAMILY = "nested sampling"
PACKAGES = ["dynesty"]
LOCK = "dynesty.txt"
SETTINGS = {
    "default": {},
    "accurate": {
        "nlive_init": 1000,
        "nlive_batch": 1000,
        "stop_kwargs": {"pfrac": 0.0, "evid_thresh": 0.02},
    },
}


def load():
    import dynesty  # noqa: F401


def run(problem, settings, seed):
    import dynesty
    import numpy as np

    sampler = dynesty.DynamicNestedSampler(
        problem.log_likelihood,
        problem.prior_transform,
        problem.dimension,
        rstate=np.random.default_rng(seed),
    )
    sampler.run_nested(print_progress=False, wt_kwargs={"pfrac": 0.0}, **settings)
    found = sampler.results
    return {
        "log_z": float(found.logz[-1]),
        "error": float(found.logzerr[-1]),
        "kind": "error bar",
        "calls": int(np.sum(found.ncall)),
    }
