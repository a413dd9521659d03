"""Step 4 of the appendix: on easy instances all estimators agree: hardly any signal, strong signal,
one or two rows."""

from bracketz.check.evidence import TRIALS, against_truth, make, runnable, with_noise
from bracketz.check.report import Check, Discrepancy, Finding, Kind, worst
from bracketz.check.subject import Instance, Subject
from bracketz.data.simulate import simulate
from bracketz.estimators.base import estimate

#: Likelihoods this flat leave nothing to integrate: every estimator must give the constant.
DROWNED = 1e8
STRONG = 0.1


def drowned(subject: Subject) -> Finding:
    """With the signal drowned in noise the likelihood is constant in x: every estimator equals the
    exact evidence, constants and all, to rounding."""
    instance = with_noise(subject.enumerable, DROWNED)
    rows, columns = instance.shape
    data = simulate(instance.model, rows, columns, seed=subject.seed)
    truth = instance.model.exact_evidence(data.y)
    cases = []
    odd = [
        make("lw", proposals=10),
        make("hme", proposals=10, start="chain", burn_in=7),
    ]  # counts that divide nothing
    for estimator in (*map(make, runnable(instance.model)), *odd):
        name = estimator.name
        answer = estimate(instance.model, data, estimator, trials=TRIALS, seed=subject.seed)
        error = max(abs(v - truth) for v in (answer.log_ml, *answer.log_ml_trials))
        cases.append(
            Discrepancy(
                error, f"{name} is {error:.3g} nats off where nothing can go wrong but constants."
            )
        )
    return worst(cases, "no estimator runs on the model", tolerance=1e-3)


def strong(subject: Subject) -> Finding:
    """Strong signal: a tenth of the noise."""
    instance = with_noise(subject.enumerable, STRONG)
    return against_truth(instance, ("ais", "reverse-ais", "smc"), subject.seed)


def few(subject: Subject) -> Finding:
    """One row by SMC, two rows by AIS."""
    model, (_, columns) = subject.enumerable.model, subject.enumerable.shape
    found = [
        against_truth(Instance(f"{n} row(s)", model, (n, columns)), (name,), subject.seed)
        for n, name in ((1, "smc"), (2, "ais"))
    ]
    first = min(found, key=lambda finding: finding.statistic)
    return Finding(min(1.0, len(found) * first.statistic), first.detail)


CHECKS = (
    Check(
        "agreement.drowned",
        Kind.EXACT,
        "an estimator drops a constant, divides by the wrong count, or loses prior volume.",
        drowned,
        thorough=True,
    ),
    Check(
        "agreement.strong",
        Kind.STATISTICAL,
        "an estimator is wrong where the posterior is far from the prior.",
        strong,
        thorough=True,
    ),
    Check(
        "agreement.few-rows",
        Kind.STATISTICAL,
        "an index runs from the wrong row.",
        few,
        thorough=True,
    ),
)
