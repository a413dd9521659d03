"""bracketz, one-sided: annealing with resampling, 64 particles per trial (bz.estimate, "ais").

The same path as bracketz-ais; particles are resampled when their effective size has halved. Their
number is no default of the package (that is one): this tool is here to show what they do. More
distributions raise the bound, more trials narrow it (docs/estimators): ten and four times as many.
"""

TOOL = "bracketz-smc"
FAMILY = "annealing and SMC"
PACKAGES = ["bracketz", "jax"]
LOCK = None
CLAIMS = "a value and a standard error; a certified lower bound"
SETTINGS = {
    "default": {"distributions": 100, "trials": 25, "particles": 64},
    "accurate": {"distributions": 1000, "trials": 100, "particles": 64},
}


def load():
    import bracketz as bz

    bz.AIS  # noqa: B018


def run(problem, settings, seed):
    import bracketz as bz
    from bracketz.testbed.league.truth import model_of

    ais = bz.AIS(distributions=settings["distributions"], particles=settings["particles"])
    answer = bz.estimate(model_of(problem), problem.y, ais, trials=settings["trials"], seed=seed)
    return {
        "log_z": answer.log_ml,
        "error": answer.standard_error,
        "low": answer.certificate.low,
        "confidence": answer.certificate.confidence,
        "kind": "certified",
    }
