"""The four files of examples/extending, written by somebody who had the README and the API
reference alone; seeds are fixed, and each test says how often a fresh one would fail."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import bracketz as bz

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "extending"))

from estimator import SteppingStone
from kernel import LangevinScan, Normal
from model import Waiting

from check import UNSEEN, CentredClustering

pytestmark = pytest.mark.slow


def within(answer, exact, errors=4.0):
    """Whether a sandwich meets the exact evidence, in its certificate and in standard errors."""
    covered = answer.certificate.low < exact < answer.certificate.high
    return covered and abs(answer.log_ml - exact) < errors * answer.standard_error


def test_model_evidence_in_two_ways():
    """Closed form and grid agree to rounding. Nothing random is judged."""
    model, shape = Waiting().tiny()
    y = bz.simulate(model, *shape, seed=3).y
    assert model.exact_evidence(y) == pytest.approx(bz.Enumerable.exact_evidence(model, y))


def test_model_sandwich():
    """Bounds meet the closed form. On a fresh seed a right model fails in at most 1 % (Markov at
    confidence 0.99), plus about 1e-4 (4 standard errors)."""
    model = Waiting()
    data = bz.simulate(model, seed=1)
    answer = bz.sandwich(model, data, gap=0.5, first=256, confidence=0.99)
    assert answer.converged
    assert within(answer, model.exact_evidence(data.y))


def test_model_passes_the_kit():
    """Every check at level quick; a right model fails with probability at most 1 %."""
    report = bz.check.run(Waiting(), level="quick")
    assert report.passed, str(report)
    assert {"densities.prior", "geweke.joint", "evidence.crooks-tempered"} <= {
        result.name for result in report.results if result.passed
    }


def test_model_refuses_bad_input():
    """One sentence that names the value."""
    with pytest.raises(bz.InputError, match="decay must be positive, got -1"):
        Waiting(decay=-1.0)


@dataclass(frozen=True)
class SelfReversed(LangevinScan):
    """Wrong: a scan is not its own reversal."""

    def reversed(self):
        """Claims to be one."""
        return self


@bz.pytree_dataclass
class WronglyReversed(Normal):
    """The model with the wrong kernel."""

    def kernel(self, y, powers):
        """The right one, spoiled."""
        right = super().kernel(y, powers)
        return SelfReversed(right.log_density, right.scale)

    def tiny(self):
        """Of this class."""
        right, shape = super().tiny()
        return WronglyReversed(right.mean_sd, right.log_sd_sd, right.slope), shape


def test_kernel_reversal():
    """The kit tells the scan from a scan with the wrong reversal. A right kernel fails with
    probability below 1e-3 (one check's share of the kit's 1 %); the wrong one's p is 2e-7."""
    assert bz.check.run(Normal(), only="geweke.exchange").passed
    report = bz.check.run(WronglyReversed(), only="geweke.exchange")
    assert not report.passed
    assert "reversed() is not the time reversal" in str(report)


def test_kernel_passes_the_kit():
    """Invariance at level quick; a right kernel fails with probability below 1e-3."""
    report = bz.check.run(Normal(), level="quick", only="geweke.joint")
    assert report.passed, str(report)
    assert report.results[0].passed  # and not None: it did apply


def test_kernel_reports_acceptance():
    """The sandwich meets the quadrature (fails on a fresh seed in at most 1 % + 1e-4) and hands on
    what the kernel reports."""
    model = Normal()
    data = bz.simulate(model, seed=2)
    answer = bz.sandwich(model, data, gap=0.5, first=256, confidence=0.99)
    assert within(answer, model.exact_evidence(data.y))
    acceptance = np.array(answer.reports["acceptance"])
    assert np.all((acceptance > 0.3) & (acceptance < 0.95))


def test_estimator_against_exact_evidence():
    """Stepping stones meet a shipped model's quadrature to 4 standard errors: about 1e-3 on a fresh
    seed (Student's t, 19 degrees), as far as the bias of a finite chain is below the noise."""
    model, shape = bz.LowRank().tiny()
    data = bz.simulate(model, *shape, seed=0)
    answer = bz.estimate(model, data, SteppingStone(samples=50), trials=20)
    assert abs(answer.log_ml - model.exact_evidence(data.y)) < 4 * answer.standard_error
    assert answer.standard_error < 0.1
    assert answer.side is bz.Side.NONE
    assert answer.knobs == {"samples": 50, "stones": 32}


def test_estimator_refuses_bad_input():
    """One sentence that names the value."""
    with pytest.raises(bz.InputError, match="stones must be at least 1, got 0"):
        SteppingStone(stones=0)


def test_check():
    """An exact check: right models pass, the wrong one fails by name. No false positives."""
    assert bz.check.run(bz.Clustering(components=2), only="unseen", more=(UNSEEN,)).passed
    report = bz.check.run(CentredClustering(components=2), only="unseen", more=(UNSEEN,))
    assert [result.name for result in report.failures] == ["unseen.rows"]
    assert "rows of power 0 move log_annealed" in str(report)
    assert "because it centres the data" in str(report)
