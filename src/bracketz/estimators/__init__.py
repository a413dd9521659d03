"""One file an estimator; registration is one line here."""

from bracketz.registry import load

REGISTRY = {
    "bic": "bracketz.estimators.bic:BIC",
    "lw": "bracketz.estimators.likelihood_weighting:LikelihoodWeighting",
    "hme": "bracketz.estimators.harmonic_mean:HarmonicMean",
    "ais": "bracketz.estimators.ais:AIS",
    "reverse-ais": "bracketz.estimators.reverse_ais:ReverseAIS",
    "smc": "bracketz.estimators.smc:SMC",
    "shme": "bracketz.estimators.shme:SHME",
    "vb": "bracketz.estimators.variational_bayes:VariationalBayes",
    "vb-sym": "bracketz.estimators.variational_bayes:SymmetricVariationalBayes",
    "chib": "bracketz.estimators.chib:Chib",
    "cms": "bracketz.estimators.chib:CMS",
    "nested": "bracketz.estimators.nested:Nested",
}


def find(name: str) -> type:
    """An estimator's class."""
    return load("estimator", name, REGISTRY)
