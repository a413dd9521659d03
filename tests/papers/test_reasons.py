"""What is said of claims against the numbers that it is said of."""

import json
from pathlib import Path

import pytest

from bracketz.papers.grosse2015 import PAPER
from bracketz.papers.grosse2015.reasons import BINARY, CLUSTERING, REASONS, measures
from bracketz.testbed.spec.experiment import read

RESULTS = Path(__file__).parents[2] / "papers" / "grosse2015" / "results"
CLAIMS = {claim.id: claim for claim in PAPER.claims}


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.claims[0])
def test_the_table_shows_what_the_words_say(reason):
    table = reason.table()
    assert reason.shown(table)
    assert table.notna().all(axis=None)
    assert set(reason.claims) <= CLAIMS.keys()


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.claims[0])
def test_other_numbers_would_not_show_it(reason):
    """With every sign changed, none of the tables says the same."""
    table = reason.table()
    numbers = table.select_dtypes("number").columns
    turned = table.copy()
    turned[numbers] = -table[numbers]
    assert not reason.shown(turned)


def test_eight_particles_take_a_tenth_of_the_time():
    """Said beside a table of errors: one transition of eight, a hundred of one."""
    found = measures().set_index(["problem", "curve", "rung"]).seconds
    for problem in BINARY:
        assert found[problem, "smc 8 particles", 1] <= 0.1 * found[problem, "smc", 100]


def test_a_claim_has_one_reason():
    claims = [claim for reason in REASONS for claim in reason.claims]
    assert len(claims) == len(set(claims))


def test_the_experiment_is_of_the_models_named():
    spec = read(Path(PAPER.presets["full"]).with_name("explain.toml"))
    assert {model.label for model in spec.problems} == {*CLUSTERING, *BINARY}
    assert set(measures().problem) == {*CLUSTERING, *BINARY}
    assert set(measures().data_sets) == {3}


def test_the_models_marked_are_those_of_the_full_preset():
    experiments = {
        name: {model.label: model for model in read(Path(path)).problems}
        for name, path in (
            ("full", PAPER.presets["full"]),
            ("explain", Path(PAPER.presets["full"]).with_name("explain.toml")),
        )
    }
    for label, words in (CLUSTERING | BINARY).items():
        here = experiments["explain"][label]
        there = experiments["full"][here.name]
        assert (here.hyperparameters == there.hyperparameters) == ("full preset" in words)


def test_every_committed_claim_that_does_not_hold_has_its_reason():
    ledger = json.loads((RESULTS / "ledger.json").read_text(encoding="utf-8"))
    assert {row["id"] for row in ledger} == CLAIMS.keys()
    for row in ledger:
        if row["state"] == "does not hold":
            assert row["explanation"] is not None, row["id"]
            assert row["explanation"] == json.loads(
                json.dumps(PAPER.explanations()[row["id"]].to_json())
            )


def test_pages_count_as_the_ledger_does():
    """Of the claims that are not about the seconds of its authors' machine."""
    ledger = json.loads((RESULTS / "ledger.json").read_text(encoding="utf-8"))
    states = [row["state"] for row in ledger if not row["about_seconds"]]
    hold, fail = states.count("holds"), states.count("does not hold")
    root = RESULTS.parents[2]
    told = f"{hold} of its {len(states)} claims hold here"
    assert told in (root / "README.md").read_text(encoding="utf-8")
    page = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert f"Of {len(states)} claims {hold} hold and {fail} do not" in page
