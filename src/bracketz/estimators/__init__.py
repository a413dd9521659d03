"""One file an estimator; registration is one line here."""

REGISTRY = {
    "lw": "bracketz.estimators.likelihood_weighting:LikelihoodWeighting",
    "hme": "bracketz.estimators.harmonic_mean:HarmonicMean",
    "ais": "bracketz.estimators.ais:AIS",
    "reverse-ais": "bracketz.estimators.reverse_ais:ReverseAIS",
    "smc": "bracketz.estimators.smc:SMC",
    "shme": "bracketz.estimators.shme:SHME",
}
