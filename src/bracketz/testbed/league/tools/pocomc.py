"""pocoMC, preconditioned Monte Carlo: SMC in the coordinates of a normalising flow.

Its reference (Sampler): more effective particles are more accurate, active ones at most half of
them; run: n_evidence is how many importance samples the evidence is estimated by. Four times of
each.
"""

TOOL = "pocomc"
FAMILY = "annealing and SMC"
PACKAGES = ["pocomc", "torch"]
LOCK = "pocomc.txt"
SETTINGS = {
    "default": {},
    "accurate": {"n_effective": 2048, "n_active": 1024, "n_total": 16_384, "n_evidence": 16_384},
}


class _Prior:
    """What pocoMC asks of a prior."""

    def __init__(self, problem, seed):
        import numpy as np

        self._problem, self._rng = problem, np.random.default_rng(seed)
        self.dim = problem.dimension
        self.bounds = np.array([[-np.inf, np.inf]] * self.dim)

    def logpdf(self, x):
        return self._problem.log_prior(x)

    def rvs(self, size=1):
        return self._problem.sample_prior(self._rng, size)


def load():
    import pocomc  # noqa: F401


def run(problem, settings, seed):
    import pocomc

    of_run = {k: settings.pop(k) for k in ("n_total", "n_evidence") if k in settings}
    sampler = pocomc.Sampler(
        prior=_Prior(problem, seed),
        likelihood=problem.log_likelihood,
        vectorize=True,
        random_state=seed % 2**31,
        **settings,
    )
    sampler.run(progress=False, **of_run)
    value, error = sampler.evidence()
    return {"log_z": float(value), "error": float(error), "kind": "error bar"}
