"""``bracketz evidence``: the contract, what is printed how, and runs that were killed."""

import dataclasses
import json
import os

import numpy as np
import pytest

import bracketz as bz
from bracketz.cli.tables import print_evidence
from bracketz.engine.checkpoint import Checkpoint

KEYS = {
    "model",
    "lower",
    "log_ml",
    "standard_error",
    "upper",
    "kind",
    "certificate",
    "interval",
    "meetings",
    "total_variation",
    "twins",
    "reference",
    "distributions",
    "chains",
    "seed",
    "converged",
    "seconds",
    "version",
}
KINDS = ("Certified", "Conditional", "Heuristic")
#: Little of everything, without a ladder.
LITTLE = ("--starts", 4, "--chains", 8, "--first", 24, "--max-effort", 24)
WORDS = ("evidence", "clustering", "--components", 2, "--data", "y.csv", *LITTLE)


@pytest.fixture
def table(bracketz, tmp_path):
    """A .csv of observed data with a header."""
    y = np.random.default_rng(0).normal(size=(6, 2)) + 3 * (np.arange(6) % 2)[:, None]
    (tmp_path / "y.csv").write_text("a,b\n" + "\n".join(f"{u},{v}" for u, v in y))


def numbers(out):
    """All of an answer but the time it took."""
    return {k: v for k, v in json.loads(out).items() if k != "seconds"}


def test_the_json_is_the_contracts(bracketz, table):
    code, out, err = bracketz(*WORDS, "--twins", 1, "--plot", "p.png", "--json")
    answer = json.loads(out)
    assert code == (0 if answer["converged"] else 1) and err == "" and set(answer) >= KEYS
    assert set(answer["certificate"]) >= {"confidence", "low"}
    assert set(answer["interval"]) == {"confidence", "low", "high"}
    assert set(answer["meetings"]) >= {"pairs", "max", "mean"}
    assert set(answer["twins"]) >= {"count", "covered", "bias", "margin"}
    assert answer["kind"] == "conditional" and answer["reference"] == "prior"
    assert answer["certificate"]["low"] <= answer["lower"] and answer["seed"] == 0
    assert os.path.getsize("p.png") > 1000
    code, out, _ = bracketz(*WORDS, "--twins", 0, "--json")
    assert json.loads(out)["twins"] is None and json.loads(out)["lower"] == answer["lower"]


def test_what_each_side_rests_on_is_said_and_seen(bracketz, table, monkeypatch):
    _, out, _ = bracketz(*WORDS, "--twins", 1)
    for word in ("Certified: ", "Conditional: ", "Heuristic: ", "(certified)", "(heuristic)"):
        assert word in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = bracketz(*WORDS, "--twins", 1)
    styles = [out.split(f"{word}:")[0].rsplit("\x1b[", 1)[1] for word in KINDS]
    assert len(set(styles)) == 3


def test_without_an_upper_bound_none_is_printed(capsys):
    model = bz.Clustering(components=2)
    y = bz.simulate(model, rows=6, columns=2).y
    found = bz.evidence(model, y, starts=4, chains=8, first=24, max_effort=24)
    answer = dataclasses.replace(
        found,
        upper=None,
        upper_error=None,
        kind="certified",
        condition=None,
        interval=dataclasses.replace(found.interval, high=None),
        converged=False,
        reason="the chains did not meet",
    )
    print_evidence(answer)
    out = capsys.readouterr().out
    assert "No upper bound: the chains did not meet" in out and "Conditional: " not in out
    assert "(conditional)" not in out and "(certified)" in out


def test_a_run_killed_at_any_moment_goes_on_to_the_same_numbers(
    bracketz, table, tmp_path, monkeypatch
):
    """Before the first save, in the measurement and within twins."""
    monkeypatch.setenv("BRACKETZ_CHECKPOINT_SECONDS", "0")
    words = (*WORDS, "--twins", 2, "--json")
    whole, save, count = numbers(bracketz(*words)[1]), Checkpoint.save_all, 0

    def counted(self, kept):
        nonlocal count, streams
        count += 1
        if count == stop:
            raise KeyboardInterrupt
        save(self, kept)
        streams |= set(kept)

    monkeypatch.setattr(Checkpoint, "save_all", counted)
    stop, streams = 0, set()
    bracketz(*words, "--checkpoint", "all.npz")
    total = count
    assert {s.partition(":")[0] for s in streams} >= {"twin 1", "twin 2"}
    for stop in sorted({1, 2, total // 2, total - 1, total}):
        file, count = f"stopped{stop}.npz", 0
        code, out, err = bracketz(*words, "--checkpoint", file)
        assert code == 130 and out == "" and "--resume" in err
        count = total  # no more interruptions
        _, out, _ = bracketz(*words, "--checkpoint", file, "--resume")
        assert numbers(out) == whole


def test_twins_can_be_added_to_a_finished_run(bracketz, table):
    words = (*WORDS, "--checkpoint", "c.npz", "--json")
    first = numbers(bracketz(*words, "--twins", 1)[1])
    more = numbers(bracketz(*words, "--twins", 2, "--resume")[1])
    assert more["twins"]["each"][0] == first["twins"]["each"][0] and more["twins"]["count"] == 2


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("--gap", 0), "gap must be positive, got 0"),
        (("--twins", -1), "twins must be at least 0, got -1"),
        (("--starts", 9), "--chains must be at least --starts, 9, got 8"),
        (("--confidence", 1), "inside (0, 1), got 1"),
        (("--resume",), "--resume needs --checkpoint"),
        (("--plot", "y.csv"), "must end in .png"),
        (("--data", "none.csv"), "no file none.csv"),
    ],
)
def test_bad_input_gets_one_sentence(bracketz, table, words, sentence):
    code, out, err = bracketz(*WORDS, *words)
    assert code == 2 and out == "" and sentence in err
    assert err.startswith("error: ") and len(err.strip().splitlines()) == 1
