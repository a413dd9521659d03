"""Bounds over simulated data sets: what the certificate promises, and the sandwich itself."""

import functools

import numpy as np
from scipy import stats

from bracketz.check.pairs import affordable, both_directions
from bracketz.check.report import Check, Finding, Kind
from bracketz.check.statistics import bonferroni
from bracketz.check.subject import Subject
from bracketz.core.results import Certificate, Combine
from bracketz.data.simulate import simulate
from bracketz.inference.sandwich import sandwich
from bracketz.paths import Tempered
from bracketz.plots.kit import calibration
from bracketz.wording import percent

CONFIDENCE = 0.8


def certificate(subject: Subject) -> Finding:
    """Certificates made of a few short chains miss no more often than they may; each bound passes
    the truth by b no more often than e^-b, and is on its own side on average."""
    instance = subject.enumerable
    count = affordable(instance, subject.sizes.data_sets // 3)
    runs = both_directions(instance, Tempered().through(4), count, subject.key("certificate"))
    assert runs.truth is not None
    lower = np.array([Combine.ARITHMETIC(row)[0] for row in runs.forward]) - runs.truth
    upper = np.array([Combine.HARMONIC(row)[0] for row in runs.reverse]) - runs.truth
    spans = [
        Certificate.from_weights(up, down, CONFIDENCE)
        for up, down in zip(runs.forward, runs.reverse, strict=True)
    ]
    misses = sum(
        not span.low <= truth <= span.high for span, truth in zip(spans, runs.truth, strict=True)
    )
    p_values = [stats.binom.sf(misses - 1, count, 1 - CONFIDENCE)]
    for b in (0.25, 0.5, 1.0, 2.0):
        for wrong in (int(np.sum(lower > b)), int(np.sum(upper < -b))):
            p_values.append(stats.binom.sf(wrong - 1, count, np.exp(-b)))
    for surplus in (lower, -upper):
        z = surplus.mean() / max(surplus.std(ddof=1) / np.sqrt(count), 1e-12)
        p_values.append(stats.t.sf(z, count - 1))
    return Finding(
        bonferroni(p_values),
        f"{misses} of {count} certificates of {percent(CONFIDENCE)} missed; bounds are"
        f" {lower.mean():+.3f} and {upper.mean():+.3f} nats from the truth on average.",
        picture=functools.partial(calibration, lower, upper),
    )


def closing(subject: Subject) -> Finding:
    """The sandwich as users run it: bounds and BAR on one data set, closed to 0.2 nats."""
    instance = subject.enumerable
    rows, columns = instance.shape
    data = simulate(instance.model, rows, columns, seed=subject.seed)
    truth = instance.model.exact_evidence(data.y)
    answer = sandwich(
        instance.model, data, gap=0.2, chains=64, first=64, max_effort=4096, seed=subject.seed
    )
    # Markov's inequality on both sides, and BAR by its own error bar with room for the shared exact
    # sample.
    p_values = [
        min(1.0, np.exp(truth - answer.lower)),
        min(1.0, np.exp(answer.upper - truth)),
        2
        * stats.norm.sf(
            max(0.0, abs(answer.log_ml - truth) - 0.1) / max(answer.standard_error, 1e-9)
        ),
    ]
    far = max(truth - answer.lower, answer.upper - truth, 0.0)
    if answer.converged and far > 1.0:
        p_values.append(0.0)
    return Finding(
        bonferroni(p_values),
        f"the truth {truth:.3f} against [{answer.lower:.3f}, {answer.upper:.3f}], BAR"
        f" {answer.log_ml:.3f} ± {answer.standard_error:.3f}.",
    )


CHECKS = (
    Check(
        "bounds.certificate",
        Kind.STATISTICAL,
        "the bounds are combined by the wrong mean, the margin has the wrong sign, or the"
        " reverse run does not start from an exact sample.",
        certificate,
        thorough=True,
    ),
    Check(
        "bounds.sandwich",
        Kind.STATISTICAL,
        "the two directions anneal between different distributions.",
        closing,
        thorough=True,
    ),
)
