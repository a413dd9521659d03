"""The kit tests itself: each mutant is caught by the check that is on record for it (caught.json).

``make mutants`` hunts all of them with the whole kit and says what caught each; that takes half an
hour, nearly all of it compiling. Here every patch must land, and twelve mutants, each of another
kind, are asked for by name. The checks are deterministic for a given seed.
"""

import json
from pathlib import Path

import pytest
from hunt import PACKAGE, hunt
from mutants import MUTANTS

RECORD = json.loads((Path(__file__).parent / "caught.json").read_text())
#: Twelve mutants for twelve checks: exact and statistical, of the models, the engine, the
#: estimators.
CHOSEN = (
    "clustering-precision-missing-power",
    "clustering-stale-sum",
    "clustering-dropped-center-prior-constant",
    "clustering-predictive-without-square",
    "low-rank-left-variance-as-deviation",
    "binary-prior-constant-of-one-row",
    "extend-draws-from-prior",
    "vb-relabelings-off-by-one",
    "weight-after-move",
    "simulate-reuses-key",
    "truncated-normal-tail",
    "bennett-sign",
)


def test_every_mutant_is_on_record():
    assert {m.name for m in MUTANTS} == set(RECORD) and len(MUTANTS) >= 123
    assert all(entry["check"] for entry in RECORD.values())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_patch_lands(mutant):
    """Exactly once, in a file that still is Python afterwards."""
    text = (PACKAGE / mutant.file).read_text()
    assert text.count(mutant.old) == 1 and mutant.new != mutant.old
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")


def test_three_quarters_are_caught_by_exact_checks():
    from bracketz.check import Kind, factored, planned, selftest

    every = (*planned(), *factored.CHECKS, *selftest.CHECKS)
    kinds = {check.name: check.kind for check in every}
    exact = [entry for entry in RECORD.values() if kinds[entry["check"]] is Kind.EXACT]
    assert len(exact) >= 0.75 * len(MUTANTS)
    assert len({RECORD[name]["check"] for name in CHOSEN}) == len(CHOSEN) == 12


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_mutant_is_caught(name):
    record = RECORD[name]
    (mutant,) = (m for m in MUTANTS if m.name == name)
    found = hunt(mutant, only=record["check"], models=(record["model"],))
    assert found["caught"] == record["check"], found
