"""fractional, information, quality and tune as a user types them; the programs are those of
tests/inference, compiled once."""

import json

import pytest

TINY = ("clustering", "--rows", 5, "--columns", 2, "--components", 3)


def test_fractional_says_what_each_bound_rests_on(bracketz):
    code, out, _ = bracketz("fractional", *TINY, "--training", 2, "--json")
    told = json.loads(out)
    assert code == 0 and told["converged"] and len(told["training"]) == 2
    assert told["kind"] == {"lower": "certified", "upper": "certified"}
    assert told["certificate"]["low"] < told["log_ratio"] < told["certificate"]["high"]


def test_information_goes_on_with_more_data_sets(bracketz):
    words = ("information", *TINY, "--checkpoint", "kept.npz", "--json", "--datasets")
    code, out, err = bracketz(*words, 2)
    assert code == 0 and err == ""
    first = json.loads(out)
    assert first["interval_kind"] == "asymptotic" and first["certificate"] is None
    code, out, _ = bracketz(*words, 3, "--resume", "--within", "-50,50")
    second = json.loads(out)
    assert code == 0 and second["lowers"][:2] == first["lowers"] and second["datasets"] == 3
    assert second["certificate"]["low"] < second["entropy"]["estimate"]


def test_quality_prints_a_reading_per_length(bracketz):
    code, out, _ = bracketz(
        "quality", *TINY, "--distributions", "4,8", "--datasets", 2, "--chains", 25
    )
    assert code == 0 and "4 distributions" in out and "8 distributions" in out
    assert "asymptotic" in out and "own kernel" in out


def test_tune_reports_the_gain_on_fresh_data(bracketz):
    small = ("--budget", 1, "--datasets", 1, "--fresh", 2, "--repeats", 4, "--target", 4)
    code, out, _ = bracketz("tune", TINY[0], "lw", *TINY[1:], *small, "--json")
    told = json.loads(out)
    assert code == 0 and told["fresh"] == 2 and told["gain"]["ratio"] == 1.0
    assert told["settings"]["proposals"] == told["default"]["proposals"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fractional", *TINY), "either --fraction"),
        (("fractional", *TINY, "--fraction", "2"), "--fraction must lie inside (0, 1), got 2.0"),
        (("information", *TINY, "--within", "1"), "--within takes LOW,HIGH, got '1'"),
        (("quality", *TINY, "--distributions", "ten"), "whole numbers with commas, got 'ten'"),
        (("tune", *TINY[:1], "as"), "did you mean 'ais'"),
        (("tune", *TINY[:1], "ais", "--budget", "-1"), "budget must be positive, got -1.0"),
    ],
)
def test_bad_input_is_one_sentence(bracketz, words, said):
    code, out, err = bracketz(*words)
    assert code == 2 and out == "" and said in err and err.count("\n") == 1
