"""Two ledgers: what contradicts, and what does not."""

import json
import sys

import agree
import pytest


def ledger(**states):
    return {name: {"id": name, "state": state, "ours": "5"} for name, state in states.items()}


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("holds", "holds", "same"),
        ("within noise", "within noise", "same"),
        ("holds", "within noise", "loose"),
        ("not run", "does not hold", "loose"),
        ("not decided", "holds", "loose"),
        ("holds", "does not hold", "against"),
        ("does not hold", "holds", "against"),
    ],
)
def test_only_opposite_verdicts_contradict(one, other, found):
    same, loose, against = agree.compared(ledger(a=one), ledger(a=other))
    assert (same, len(loose), len(against)) == (
        found == "same",
        found == "loose",
        found == "against",
    )


@pytest.mark.parametrize(
    ("other", "code"),
    [(ledger(a="within noise"), 0), (ledger(a="does not hold"), 1), (ledger(b="holds"), 1)],
)
def test_the_exit_code(tmp_path, monkeypatch, capsys, other, code):
    files = []
    for name, rows in (("one", ledger(a="holds")), ("other", other)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(list(rows.values())))
    monkeypatch.setattr(sys, "argv", ["agree.py", *map(str, files)])
    assert agree.main() == code
    assert capsys.readouterr().out
