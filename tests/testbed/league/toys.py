"""A toy tool and a toy problem, one file each, as a user would add them."""

PROBLEM = '''
"""One normal mean."""

import numpy as np

PROBLEMS = {"toy": {"hard": "nothing", "settings": {"rows": 4}}}


def constants(rows):
    return {"rows": np.array(rows)}


def dimension(c):
    return 1


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.normal(theta[..., 0])


def log_likelihood(theta, y, c, m):
    return m.sum(m.normal(y["y"], theta), axis=-1)


def simulate(theta, c, rng):
    return {"y": theta + rng.normal(size=int(c["rows"]))}


EXACT = "closed form"


def exact(y, c):
    covariance = np.eye(len(y["y"])) + 1.0
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (y["y"] @ np.linalg.solve(covariance, y["y"]) + log_det))
'''

TOOL = '''
"""Likelihood weighting; with other settings, every way to fail."""

import os
import subprocess
import sys
import time
import warnings

import numpy as np

TOOL = "toy-tool"
PACKAGES = ["numpy"]
LOCK = None
SETTINGS = {
    "default": {"draws": 20000},
    "wrong": {"shift": 2.0},
    "warns": {"shift": 2.0, "warn": "beware"},
    "raises": {"do": "raise"},
    "nothing": {"do": "nan"},
    "sleeps": {"do": "sleep"},
    "eats": {"do": "eat"},
    "dies": {"do": "die"},
}


def run(problem, settings, seed):
    do = settings.get("do")
    if do == "raise":
        raise ValueError("no luck")
    if do == "nan":
        return {"log_z": float("nan")}
    if do == "sleep":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open(os.environ["TOY_CHILD"], "w") as file:
            file.write(str(child.pid))
        time.sleep(60)
    if do == "eat":
        np.ones(2**32)
    if do == "die":
        os.kill(os.getpid(), 9)
    assert "bracketz" not in sys.modules
    assert not hasattr(problem, "theta") and "theta" not in problem.y
    if "warn" in settings:
        warnings.warn(settings["warn"])
    drawn = problem.sample_prior(np.random.default_rng(seed), settings.get("draws", 20000))
    weights = np.exp(problem.log_likelihood(drawn))
    value = np.log(weights.mean()) + settings.get("shift", 0.0)
    error = weights.std() / weights.mean() / len(weights) ** 0.5
    return {"log_z": value, "error": error, "kind": "error bar"}
'''
