"""The truths that are kept: of these data, with what made them, and beside closed forms."""

import itertools
import json
import math

import numpy as np
import pytest

from bracketz.errors import InputError
from bracketz.testbed.league import truth as truths
from bracketz.testbed.league.catalogue import HOME, catalogue
from bracketz.testbed.league.datasets import simulate

KNOWN = catalogue().problems
SHIPPED = HOME / "truths"
KEPT = [name for name in sorted(KNOWN) if (SHIPPED / f"{name}.json").is_file()]

#: Prior draws that do.
BY_DRAWS = {
    "schools-noncentred": 20_000,
    "ar-2": 20_000,
    "gp-3": 4_000,
    "start-at-the-data": 4_000,
    "clustering-8": 100_000,
    "binary-attributes-8": 40_000,
}


@pytest.mark.parametrize("name", KEPT)
def test_kept_truths(name):
    """Of the data as they are simulated today (``read`` refuses others); exact where they say so;
    certificates hold: at 95 % each, more than 3 of 10 misses have a probability below 0.001."""
    found = truths.read(KNOWN[name])
    misses = 0
    for seed, truth in found.items():
        if truth.by == "sandwich":
            assert truth.log_z == truth.bennett and truth.error == truth.bennett_error
        elif seed < 2:
            exact = simulate(KNOWN[name], seed).exact()
            assert truth.log_z == pytest.approx(exact, abs=1e-5) and truth.error == 0
        low, high = truth.certificate
        misses += not low <= truth.log_z <= high
    assert misses <= 3 and list(found) == list(range(len(found)))
    about = json.loads((SHIPPED / f"{name}.json").read_text())
    assert about["command"].startswith("bracketz league truth") and about["versions"]["jax"]


def test_a_sandwich_that_misses_the_needle_is_known_to_disagree():
    """Gap and error say that all is well, and the closed form that it is not."""
    found = truths.read(KNOWN["spike-and-slab-10"]).values()
    assert any(t.accepted and not t.agrees and abs(t.bennett - t.log_z) > 0.5 for t in found)


def test_truths_of_other_data_are_refused(tmp_path):
    problem = KNOWN["regression-5"]
    kept = json.loads((SHIPPED / "regression-5.json").read_text())
    kept["truths"][0]["data"] = "0" * 16
    (tmp_path / "regression-5.json").write_text(json.dumps(kept))
    with pytest.raises(InputError, match="is of other data"):
        truths.read(problem, tmp_path)


def test_examples_of_the_tools_pages_are_theirs():
    """The evidence that the page of JAXNS calls exact."""
    assert simulate(KNOWN["jaxns-quick-start"], 0).exact() == pytest.approx(-0.274366, abs=1e-6)
    assert simulate(KNOWN["dynesty-crash-course"], 0).exact() == pytest.approx(-3 * np.log(20))
    assert simulate(KNOWN["nautilus-crash-course"], 0).exact() == pytest.approx(-6.34, abs=0.02)
    assert simulate(KNOWN["bridgesampling-help"], 0).exact() == pytest.approx(np.log(2 * np.pi))


def normal_log_density(x, covariance):
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * (x @ np.linalg.solve(covariance, x) + log_det)


def test_enumerations_one_by_one():
    """Four rows: every labelling, every matrix of bits, by dense covariances and the Beta and
    Dirichlet integrals."""
    rng = np.random.default_rng(3)
    clusters, attributes = KNOWN["clustering-8"].module, KNOWN["binary-attributes-8"].module
    y = rng.normal(size=(4, 2), scale=2.0)
    total = []
    for labels in itertools.product(range(3), repeat=4):
        same = np.equal.outer(labels, labels)
        log_p = math.lgamma(3) - math.lgamma(7)
        log_p += sum(math.lgamma(labels.count(k) + 1) for k in range(3))
        total.append(log_p + sum(normal_log_density(c, np.eye(4) + 9.0 * same) for c in y.T))
    found = clusters.exact({"y": y}, clusters.constants(rows=4, spread=3.0))
    assert found == pytest.approx(np.logaddexp.reduce(total), abs=1e-9)
    y, total = rng.normal(size=(4, 3), scale=2.0), []
    for bits in itertools.product((0, 1), repeat=8):
        z = np.array(bits).reshape(4, 2)
        counts = z.sum(0)
        log_p = sum(math.lgamma(n + 1) + math.lgamma(5 - n) - math.lgamma(6) for n in counts)
        covariance = 4.0 * z @ z.T + 0.7**2 * np.eye(4)
        total.append(log_p + sum(normal_log_density(column, covariance) for column in y.T))
    found = attributes.exact({"y": y}, attributes.constants(rows=4, columns=3))
    assert found == pytest.approx(np.logaddexp.reduce(total), abs=1e-9)


def test_closed_forms_and_quadratures_by_brute_force():
    """Prior draws, weighted by the likelihood, where that works: within five standard errors."""
    for name, count in BY_DRAWS.items():
        data = simulate(KNOWN[name], 0)
        problem = data.for_tools()
        drawn = problem.sample_prior(np.random.default_rng(5), count)
        values = problem.log_likelihood(drawn)
        weights = np.exp(values - values.max())
        found = np.log(weights.mean()) + values.max()
        error = weights.std() / weights.mean() / len(weights) ** 0.5
        assert abs(found - data.exact()) < 5 * error and error < 0.2, name
