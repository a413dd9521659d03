"""Shipped models of a prior and a likelihood on the command line: sizes travel in the file."""

import json

import numpy as np
import pytest


def test_a_simulated_grid_remembers_its_size(bracketz, tmp_path):
    size = ("--set", "rows=2", "--set", "columns=3", "--set", "expected=9")
    assert bracketz("simulate", "cox", *size, "--out", "a.npz")[0] == 0
    with np.load(tmp_path / "a.npz") as kept:
        assert kept["y"].shape == (2, 3) and "model.basis" not in kept
        assert json.loads(str(kept["meta"]))["hyperparameters"]["columns"] == 3
    effort = ("--first", "16", "--max-effort", "16", "--chains", "4")
    code, out, _ = bracketz("sandwich", "cox", "--data", "a.npz", *effort, "--json")
    answer = json.loads(out)
    assert code in (0, 1) and answer["model"] == "cox"
    assert answer["certificate"]["low"] < answer["certificate"]["high"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sandwich", "cox", "--rows", "4"), "knows the size of its data"),
        (("sandwich", "cox", "--set", "basis=1"), "unknown hyperparameter of cox 'basis'"),
        (("sandwich", "cox", "--set", "length=-1"), "length must be a positive number"),
        (("sandwich", "grouped-logistic", "--set", "groups=0"), "groups must be at least 1"),
        (("sandwich", "decoder", "--set", "observation=poisson"), "unknown observation 'poisson'"),
        (("estimate", "decoder", "cms", "--data", "y.csv"), "lacks TransitionDensity"),
    ],
)
def test_what_is_refused(bracketz, tmp_path, words, said):
    (tmp_path / "y.csv").write_text("1,0,1,1,0,0\n")
    code, _, err = bracketz(*words)
    assert code == 2 and said in " ".join(err.split())
