"""bracketz, both sides of observed data: a certified lower bound and a conditional upper one.

Where the coupled chains do not meet there is no upper bound, and the interval has one side. The
second setting asks for a narrower interval, with more chains and starts (docs/observed.md).
"""

TOOL = "bracketz-evidence"
FAMILY = "annealing and SMC"
PACKAGES = ["bracketz", "jax"]
LOCK = None
CLAIMS = "a value, a standard error and an interval: certified below, conditional above"
SETTINGS = {"default": {}, "accurate": {"gap": 0.2, "chains": 256, "starts": 32}}


def load():
    import bracketz as bz

    bz.evidence  # noqa: B018


def run(problem, settings, seed):
    import bracketz as bz
    from bracketz.testbed.league.truth import model_of

    answer = bz.evidence(model_of(problem), problem.y, seed=seed, **settings)
    return {
        "log_z": answer.log_ml,
        "error": answer.standard_error,
        "low": answer.interval.low,
        "high": answer.interval.high,
        "confidence": answer.interval.confidence,
        "kind": answer.kind,
        "warnings": [] if answer.converged else [str(answer.reason)],
    }
