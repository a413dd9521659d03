"""particles (Chopin): tempering SMC with random-walk Metropolis moves, waste-free and standard.

N = 200 and len_chain = 100 are those of its module's documentation (smc_samplers), where waste-free
is the default and "the actual number of particles" is their product: ten times as many. Waste-free
SMC estimates the variance of its own log evidence from a single run; standard SMC (wastefree=False,
10,000 particles and the library's chains of 10) does not, and claims no error.
"""

TOOL = "particles"
FAMILY = "annealing and SMC"
PACKAGES = ["particles"]
LOCK = "particles.txt"
SETTINGS = {
    "default": {"N": 200, "len_chain": 100},
    "accurate": {"N": 200, "len_chain": 1000},
    "standard": {"N": 10_000, "len_chain": 10, "wastefree": False},
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

    count, wastefree = settings.pop("N"), settings.get("wastefree", True)
    fk = ssp.AdaptiveTempering(Model(prior=Prior()), **settings)
    smc = particles.SMC(fk=fk, N=count, collect=[ssp.Var_logLt()] if wastefree else None)
    smc.run()
    if not wastefree:
        return {"log_z": float(smc.logLt), "kind": "none"}
    # The collector gives M P times the variance (its MCMC_variance says so), M chains of length P.
    variance = float(smc.summaries.var_logLt[-1]) / (count * settings["len_chain"])
    if variance <= 0:  # an estimate that may be
        return {"log_z": float(smc.logLt), "kind": "none"}
    return {"log_z": float(smc.logLt), "error": variance**0.5, "kind": "error bar"}
