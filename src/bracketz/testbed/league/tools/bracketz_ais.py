"""bracketz, one-sided: annealed importance sampling with its pilot (bz.estimate, "ais").

The value is the log of a mean of weights, a lower bound in expectation; beside it a standard error,
and a certified lower bound, one side of an interval. The default is what bz.AIS() and bz.estimate
do. More distributions raise the bound and more trials narrow it (docs/estimators): ten and four
times as many.
"""

TOOL = "bracketz-ais"
FAMILY = "annealing and SMC"
PACKAGES = ["bracketz", "jax"]
LOCK = None
CLAIMS = "a value and a standard error; a certified lower bound"
SETTINGS = {
    "default": {"distributions": 1000, "trials": 25},
    "accurate": {"distributions": 10_000, "trials": 100},
}


def load():
    import bracketz as bz

    bz.AIS  # noqa: B018


def run(problem, settings, seed):
    import bracketz as bz
    from bracketz.testbed.league.truth import model_of

    ais = bz.AIS(distributions=settings["distributions"])
    answer = bz.estimate(model_of(problem), problem.y, ais, trials=settings["trials"], seed=seed)
    return {
        "log_z": answer.log_ml,
        "error": answer.standard_error,
        "low": answer.certificate.low,
        "confidence": answer.certificate.confidence,
        "kind": "certified",
    }
