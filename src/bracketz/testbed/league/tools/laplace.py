"""Laplace's approximation: a normal density at the mode, by SciPy's BFGS and finite differences.

The mode is the best of several starts from the prior. No error bar: nothing in it knows how far
from normal the posterior is. More starts, for the mode to be the highest; SciPy advises no number.
"""

import math

TOOL = "laplace"
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
        value = problem.log_likelihood(theta) + problem.log_prior(theta)
        return -value if math.isfinite(value) else 1e300

    starts = problem.sample_prior(np.random.default_rng(seed), settings["starts"])
    found = min((minimize(minus, start, method="BFGS") for start in starts), key=lambda r: r.fun)
    hessian = _hessian(minus, found.x)
    sign, log_det = np.linalg.slogdet(hessian)
    if sign <= 0 or np.linalg.eigvalsh(hessian)[0] <= 0:
        raise ArithmeticError("the curvature at the mode is not that of a maximum")
    value = -found.fun + 0.5 * problem.dimension * math.log(2 * math.pi) - 0.5 * log_det
    return {"log_z": value, "kind": "none"}


def _hessian(function, x, step=1e-4):
    """By central differences."""
    import numpy as np

    size = len(x)
    steps = step * np.maximum(1.0, np.abs(x))
    out = np.empty((size, size))
    middle = function(x)
    for i in range(size):
        for j in range(i, size):
            a, b = np.zeros(size), np.zeros(size)
            a[i], b[j] = steps[i], steps[j]
            if i == j:
                value = (function(x + a) - 2 * middle + function(x - a)) / steps[i] ** 2
            else:
                corners = function(x + a + b) - function(x + a - b)
                corners += function(x - a - b) - function(x - a + b)
                value = corners / (4 * steps[i] * steps[j])
            out[i, j] = out[j, i] = value
    return out
