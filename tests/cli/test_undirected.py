"""Undirected models on the command line: a sandwich of given numbers, and what is refused."""

import json

import numpy as np
import pytest


def test_a_grid_is_sandwiched_without_data(bracketz, tmp_path):
    words = ("--set", "coupling=0.3,0.2", "--set", "disorder=0.5", "--first", "64")
    code, out, _ = bracketz(
        "sandwich", "ising", "--rows", "3", "--columns", "4", *words, "--max-effort", "64", "--json"
    )
    answer = json.loads(out)
    assert code in (0, 1) and answer["model"] == "ising"
    assert answer["certificate"]["low"] < answer["certificate"]["high"]
    assert bracketz("simulate", "ising", "--rows", "3", "--columns", "4", "--out", "a.npz")[0] == 0
    with np.load(tmp_path / "a.npz") as kept:
        assert kept["sites"].shape == (3, 4) and not kept["y"].any()


def test_they_are_listed(bracketz):
    listed = {m["name"]: m for m in json.loads(bracketz("models", "--json")[1])["models"]}
    for name in ("ising", "potts", "rbm"):
        assert "undirected" in listed[name]["summary"]
    assert listed["ising"]["defaults"]["periodic"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evidence", "ising", "--data", "y.csv"), "take bracketz sandwich"),
        (("compare", "ising", "potts", "--data", "y.csv"), "take bracketz sandwich"),
        (("sandwich", "ising", "--data", "gap.csv"), "is missing"),
        (("sandwich", "ising", "--set", "periodic=maybe"), "must be true or false, got 'maybe'"),
        (("sandwich", "ising", "--set", "coupling=-1"), "must not be negative"),
        (("sandwich", "ising", "--components", "2"), "ising has no components"),
        (("sandwich", "potts", "--set", "field=-1"), "fields that are not negative"),
        (("sandwich", "rbm", "--rows", "30", "--columns", "40"), "evidence with --twins 0"),
        (("simulate", "rbm", "--rows", "30", "--columns", "40", "--out", "a.npz"), "no layer"),
        (("estimate", "ising", "reverse-ais", "--data", "y.csv"), "exact"),
        (("estimate", "ising", "cms", "--data", "y.csv"), "lacks TransitionDensity"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_does_not_fit_is_refused_in_a_sentence(bracketz, tmp_path, words, said):
    (tmp_path / "y.csv").write_text("a,b\n0.1,0.2\n0.3,0.4\n")
    (tmp_path / "gap.csv").write_text("a,b\n0.1,\n0.3,0.4\n")
    code, out, err = bracketz(*words)
    assert code == 2 and not out and err.startswith("error: ") and err.count("\n") == 1
    assert said in err, err
