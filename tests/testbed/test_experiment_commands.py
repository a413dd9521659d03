"""The testbed's commands keep the contract: --json, exit codes, one sentence for bad input, files
left alone."""

import json
import os

import pandas as pd
import pytest
from small_experiment import SMALL

from bracketz.testbed.analysis.status import KEYS


@pytest.fixture
def bracketz(command, monkeypatch, tmp_path, small_store):
    """Run a command in a folder with spec.toml and a finished results.db: (exit code, stdout,
    stderr)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SMALL)
    (tmp_path / "results.db").write_bytes(small_store.read_bytes())
    return command


def test_run_and_status(bracketz):
    code, out, err = bracketz("experiment", "run", "spec.toml", "--store", "results.db", "--json")
    answer = json.loads(out)
    assert code == 0 and err == "" and answer["ran"] == 0 and answer["accepted"]
    assert answer["done"] == answer["tasks"] and len(answer["truth"]) == 3
    code, out, err = bracketz("experiment", "status", "--store", "results.db", "--json")
    answer = json.loads(out)
    assert (
        code == 0 and err == "" and answer["done"] == answer["tasks"] and answer["failures"] == []
    )
    code, out, _ = bracketz("experiment", "status", "--store", "results.db")
    assert code == 0 and "clustering" in out and "accepted" in out


def test_tables_fit_80_columns(bracketz, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = bracketz("experiment", "status", "--store", "results.db")
    assert "…" not in out and max(map(len, out.split("\n"))) <= 80


def test_reproduce_ends_with_claims_accuracy_and_the_path_to_open(capsys, monkeypatch):
    from bracketz.cli import experiment_tables

    monkeypatch.setenv("COLUMNS", "80")
    models = ("clustering", "low-rank", "binary-attributes")
    line = {"seconds_to_accurate": 0.03, "best_rmse": 1234.5}
    answer = {
        "experiment": "grosse2015-quick",
        "tasks": 155,
        "done": 155,
        "ran": 0,
        "seconds": 240.0,
        "truth": [
            {"problem": m, "data_seed": 0, "log_ml": -12345.67, "lower": -12345.67}
            | {"upper": -12345.67, "gap": 120.31, "accepted": False}
            for m in models
        ],
        "cross": [
            {"problem": m, "data_seed": 0, "fit": f"inferred-{fit}", "true": fit == m}
            | {"log_ml": -12345.6, "behind": 1234.5, "standard_error": 12.3}
            | {"paper": -2345.6, "paper_behind": 123.4}
            for m in models
            for fit in models
        ],
        "failures": [],
        "accuracy": [line | {"curve": "reverse-ais", "problem": m} for m in models[:2]]
        + [{"curve": "vb", "problem": models[2], "best_rmse": 30.0, "seconds_to_accurate": None}],
        "claims": {"hold": 30, "do_not_hold": 8, "within_noise": 2, "not_run": 0}
        | {"about_seconds": {"hold": 7, "do_not_hold": 1}},
        "files": ["out/a.csv", "out/report.html"],
        "report": "out/report.html",
    }
    experiment_tables.print_answer(answer)
    out = capsys.readouterr().out
    assert "…" not in out and max(map(len, out.split("\n"))) <= 80
    assert "-12345.6 (1234.5)" in out and "30 ms (1234.5)" in out and "never (30.0)" in out
    *_, claims, theirs, last = out.rstrip().split("\n")
    assert claims == "40 claims: 30 hold, 8 do not hold, 2 within noise"
    assert theirs == "8 claims about its authors' seconds: 7 hold, 1 do not hold"
    assert last == "2 files written; open out/report.html"


def test_a_truth_that_is_not_accepted_is_exit_code_1(bracketz, tmp_path):
    (tmp_path / "strict.toml").write_text(
        SMALL.replace("distributions = 300", "distributions = 300\nagree_within = 1e-9")
    )
    code, out, _ = bracketz("experiment", "run", "strict.toml", "--store", "results.db", "--json")
    assert code == 1 and json.loads(out)["accepted"] is False


def test_another_seed_is_another_experiment(bracketz):
    code, out, _ = bracketz(
        "experiment", "run", "spec.toml", "--store", "results.db", "--seed", 4, "--json"
    )
    assert code in (0, 1) and json.loads(out)["ran"] == json.loads(out)["tasks"]


def test_export_keeps_every_bit(bracketz, tmp_path):
    from bracketz.testbed import read_frames

    code, out, _ = bracketz(
        "experiment", "export", "--store", "results.db", "--out", "tables", "--json"
    )
    assert code == 0 and len(json.loads(out)["files"]) == 10
    trials = read_frames(tmp_path / "results.db").trials
    for read, kind in ((pd.read_csv, "csv"), (pd.read_parquet, "parquet")):
        assert (
            read(tmp_path / "tables" / f"trials.{kind}").log_ml.tolist() == trials.log_ml.tolist()
        )
    code, _, err = bracketz("experiment", "export", "--store", "results.db", "--out", "tables")
    assert code == 2 and "add --force" in err
    code, _, err = bracketz(
        "experiment", "export", "--store", "results.db", "--out", "t", "--format", "xls"
    )
    assert code == 2 and "unknown format 'xls'" in err


@pytest.mark.slow
def test_report_writes_the_page(bracketz, tmp_path, without_figures):
    code, out, err = bracketz(
        "experiment", "report", "--store", "results.db", "--out", "report", "--json"
    )
    assert code == 0 and err == "" and (tmp_path / "report" / "report.html").exists()
    assert all(os.path.exists(file) for file in json.loads(out)["files"])


@pytest.mark.slow
def test_reproduce_on_a_small_preset(bracketz, tmp_path, monkeypatch, without_figures):
    from bracketz import papers

    (tmp_path / "spec.toml").write_text(SMALL.replace("seed = 3", 'seed = 3\npaper = "grosse2015"'))
    monkeypatch.setattr(papers, "spec_file", lambda paper, preset: tmp_path / "spec.toml")
    code, out, _ = bracketz("reproduce", "grosse2015", "--out", "out", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["done"] == answer["tasks"]
    ledger = json.loads((tmp_path / "out" / "ledger.json").read_text())
    assert len(ledger) >= 40 and {"claim", "paper", "ours", "holds", "query"} <= set(ledger[0])
    theirs = answer["claims"].pop("about_seconds")
    for tally, about in ((answer["claims"], False), (theirs, True)):
        states = [claim["state"] for claim in ledger if claim["about_seconds"] is about]
        counts = {key: states.count(state) for state, key in KEYS.items()}
        assert tally == counts and sum(tally.values()) == len(states) > 0
    assert answer["story"].count(". ") == 2
    assert {"curve", "problem", "best_rmse"} <= set(answer["accuracy"][0])
    assert answer["report"] in answer["files"]
    assert json.loads(bracketz("reproduce", "grosse2015", "--out", "out", "--json")[1])["ran"] == 0


@pytest.mark.parametrize(
    "words, says",
    [
        (("experiment", "run", "none.toml", "--store", "r.db"), "cannot read the spec none.toml"),
        (
            ("experiment", "run", "spec.toml", "--store", "spec.toml"),
            "spec.toml is not a bracketz store",
        ),
        (("experiment", "run", "spec.toml", "--store", "no/r.db"), "the folder no does not exist"),
        (("experiment", "run", "spec.toml", "--store", "r.db", "--workers", "0"), "got '0'"),
        (
            (
                "experiment",
                "run",
                "spec.toml",
                "--store",
                "r.db",
                "--workers",
                "1",
                "--scheduler",
                "x",
            ),
            "give one of them",
        ),
        (("experiment", "run", "spec.toml", "--store", "r.db", "--seed", "-1"), "got '-1'"),
        (("experiment", "status", "--store", "none.db"), "cannot open the store none.db"),
        (
            ("experiment", "status", "--store", "results.db", "--experiment", "smal"),
            "did you mean 'small'?",
        ),
        (
            ("experiment", "report", "--store", "results.db", "--out", "spec.toml"),
            "spec.toml is a file, and a folder is needed",
        ),
        (("reproduce", "grosse2016", "--out", "out"), "did you mean 'grosse2015'?"),
        (("reproduce", "grosse2015", "--preset", "fast", "--out", "out"), "unknown preset 'fast'"),
    ],
)
def test_bad_input_is_one_sentence(bracketz, tmp_path, words, says):
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code, out, err = bracketz(*words)
    assert (
        code == 2
        and out == ""
        and says in err
        and err.count("\n") == 1
        and err.startswith("error: ")
    )
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("words", [(), ("run",), ("status",), ("report",), ("export",)])
def test_every_command_has_help(bracketz, words):
    code, out, _ = bracketz("experiment", *words, "--help")
    assert code == 0 and (not words or ("--json" in out and "--seed" in out))
