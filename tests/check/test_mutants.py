"""The kit tests itself: each mutant is caught by the check that is on record for it (caught.json).

``hunt.py`` runs the whole kit on every mutant and found what is on record; here each is asked for
by name, which keeps this quick, and 40 of those with a quick check are taken;
BRACKETZ_ALL_MUTANTS=1 takes them all (``make mutants`` hunts them with the whole kit). The checks
are deterministic for a given seed.
"""

import json
import os
from pathlib import Path

import pytest
from hunt import hunt
from mutants import MUTANTS

pytestmark = pytest.mark.slow
RECORD = json.loads((Path(__file__).parent / "caught.json").read_text())
#: Checks that take more than ten seconds to compile.
SLOW = (
    "agreement.drowned",
    "variational.updates",
    "evidence.fit",
    "evidence.cms",
    "evidence.constrained",
    "geweke.exchange",
)
QUICK = [m for m in MUTANTS if RECORD[m.name]["check"] not in SLOW]
FIXED = [m for m in QUICK if not RECORD[m.name]["model"].startswith("inferred")]
INFERRED = [m for m in QUICK if m not in FIXED]  # these compile for half a minute each
CHOSEN = MUTANTS if os.environ.get("BRACKETZ_ALL_MUTANTS") else FIXED[::2][:38] + INFERRED[::8]


def test_every_mutant_is_on_record():
    assert {m.name for m in MUTANTS} == set(RECORD) and len(CHOSEN) >= 40
    caught = [entry["check"] for entry in RECORD.values() if entry["check"]]
    assert len(caught) >= 0.95 * len(MUTANTS)


def test_three_quarters_are_caught_by_exact_checks():
    from bracketz.check import Kind, planned, selftest

    kinds = {check.name: check.kind for check in (*planned(), *selftest.CHECKS)}
    exact = [e for e in RECORD.values() if e["check"] and kinds[e["check"]] is Kind.EXACT]
    assert len(exact) >= 0.75 * len(MUTANTS)


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant):
    record = RECORD[mutant.name]
    if record["check"] is None:
        pytest.skip("survives: see docs/checking.md")
    found = hunt(mutant, only=record["check"], models=(record["model"],))
    assert found["caught"] == record["check"], found
