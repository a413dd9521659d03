"""BIC: the best log-likelihood less half the parameters times the log number of observations.

More starts, for it to be the best one; SciPy advises no number.
"""

import math

TOOL = "bic"
FAMILY = "approximation"
PACKAGES = ["scipy"]
LOCK = "numpy.txt"
CLAIMS = "a value alone"
SETTINGS = {"default": {"starts": 1}, "accurate": {"starts": 20}}


def load():
    import scipy.optimize  # noqa: F401


def run(problem, settings, seed):
    import numpy as np
    from scipy.optimize import minimize

    def minus(theta):
        value = problem.log_likelihood(theta)
        return -value if math.isfinite(value) else 1e300

    starts = problem.sample_prior(np.random.default_rng(seed), settings["starts"])
    best = min(minimize(minus, start, method="BFGS").fun for start in starts)
    rows = len(problem.y["y"])
    return {"log_z": -best - 0.5 * problem.dimension * math.log(rows), "kind": "none"}
