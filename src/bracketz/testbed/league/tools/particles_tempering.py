"""particles (Chopin): waste-free tempering SMC with random-walk Metropolis moves.

Waste-free SMC estimates the variance of its own log evidence from a single run.
"""

TOOL = "particles"
PACKAGES = ["particles"]
LOCK = "particles.txt"
SETTINGS = {
    "default": {"N": 100, "len_chain": 100},
    "accurate": {"N": 400, "len_chain": 400},
}


def load():
    import particles.smc_samplers  # noqa: F401


def run(problem, settings, seed):
    import numpy as np
    import particles
    from particles import smc_samplers as ssp

    np.random.seed(seed % 2**32)

    class Prior:
        """Draws and density, for an array in a record of one field."""

        def rvs(self, size=1):
            drawn = problem.sample_prior(np.random.default_rng(np.random.randint(2**31)), size)
            out = np.empty(size, dtype=[("x", float, (problem.dimension,))])
            out["x"] = drawn
            return out

        def logpdf(self, theta):
            return problem.log_prior(theta["x"])

    class Model(ssp.StaticModel):
        def loglik(self, theta, t=None):
            return np.nan_to_num(problem.log_likelihood(theta["x"]), nan=-np.inf)

    fk = ssp.AdaptiveTempering(Model(prior=Prior()), len_chain=settings["len_chain"])
    smc = particles.SMC(fk=fk, N=settings["N"], collect=[ssp.Var_logLt()])
    smc.run()
    # The collector gives M P times the variance (its MCMC_variance says so), M chains of length P.
    variance = float(smc.summaries.var_logLt[-1]) / (settings["N"] * settings["len_chain"])
    return {
        "log_z": float(smc.logLt),
        "error": max(variance, 0.0) ** 0.5,
        "kind": "error bar",
    }
