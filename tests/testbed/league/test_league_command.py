"""``bracketz league``: exit codes, JSON and refusals in one sentence."""

import json
import sys

import pytest
from toys import PROBLEM, TOOL

from bracketz.cli import main


@pytest.fixture
def bracketz(monkeypatch, capsys, tmp_path):
    """Runs a command; (exit code, standard output, standard error). No tool is installed."""
    monkeypatch.setenv("BRACKETZ_LEAGUE", str(tmp_path / "environments"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["bracketz", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


@pytest.fixture
def added(tmp_path):
    (tmp_path / "toy_problem.py").write_text(PROBLEM)
    (tmp_path / "toy_tool.py").write_text(TOOL)
    return ["--add", tmp_path / "toy_problem.py", "--add", tmp_path / "toy_tool.py"]


def test_run_and_report_with_files_of_ones_own(bracketz, added, tmp_path):
    out = tmp_path / "league"
    words = ["league", "run", "--out", out, *added, "--tools", "toy-tool", "--problems", "toy"]
    words += ["--datasets", 2, "--json"]
    code, text, _ = bracketz(*words)
    assert code == 0 and json.loads(text)["ran"] == 2
    code, text, _ = bracketz(*words)
    assert code == 0 and (json.loads(text)["ran"], json.loads(text)["done"]) == (0, 2)
    code, text, _ = bracketz("league", "report", "--out", out, *added, "--json")
    tool = json.loads(text)["tools"][0]
    assert not code and (tool["tool"], tool["near"]) == ("toy-tool", 1.0)
    code, text, _ = bracketz(*words[:-1], "--datasets", 3, "--stop-after", 0)
    assert code == 1 and "2 of 3 runs done" in text


def test_only_failures_that_are_asked_for_are_made_again(bracketz, added, tmp_path):
    words = ["league", "run", "--out", tmp_path / "league", *added, "--tools", "toy-tool"]
    words += ["--problems", "toy", "--datasets", 1, "--json"]
    assert bracketz(*words, "--settings", "default,raises,dies")[0] == 0
    code, text, _ = bracketz(*words, "--settings", "default,raises", "--retry")
    assert code == 0 and json.loads(text)["ran"] == 1
    code, text, _ = bracketz(*words, "--settings", "default,raises,dies")
    assert json.loads(text)["ran"] == 0  # the one that died has kept its row


def test_a_dry_run_says_what_is_left_and_writes_nothing(bracketz, added, tmp_path):
    out = tmp_path / "league"
    words = ["league", "run", "--out", out, *added, "--tools", "toy-tool", "--problems", "toy"]
    words += ["--settings", "default", "--datasets", 2]
    code, text, _ = bracketz(*words, "--dry-run", "--json")
    told = json.loads(text)
    assert (code, told["left"], told["unknown"]) == (0, 2, 2) and not out.exists()
    assert told["hours"] == told["hours_at_most"] == 2 * 40 / 3600
    bracketz(*words, "--datasets", 1)
    code, text, _ = bracketz(*words, "--dry-run", "--json", "--workers", 2)
    told = json.loads(text)
    assert (told["left"], told["unknown"]) == (1, 0) and told["hours"] < told["hours_at_most"]
    words = ["league", "run", "--preset", "complete", "--datasets", 1, "--out", out, "--dry-run"]
    _, text, _ = bracketz(*words)
    assert "runs are left: about" in text and "one at a time on idle cores" in text


def test_truths_of_a_problem_of_ones_own_lie_beside_it(bracketz, added, tmp_path):
    words = ["--problems", "toy", "--datasets", 1, "--chains", 64]
    bracketz("league", "truth", *added[:2], *words)
    assert json.loads((tmp_path / "truths" / "toy.json").read_text())["problem"] == "toy"
    _, text, _ = bracketz("league", "problems", *added[:2], "--json")
    (toy,) = [p for p in json.loads(text)["problems"] if p["problem"] == "toy"]
    assert toy["truths"] == 1


def test_bracketz_own_truths_are_not_written_over(bracketz):
    code, text, error = bracketz("league", "truth", "--problems", "regression-5")
    assert (code, text) == (2, "")
    assert "the truth of regression-5 comes with bracketz: name a folder" in error


def test_lists(bracketz, added):
    code, text, _ = bracketz("league", "tools", *added, "--json")
    tools = {tool["tool"]: tool for tool in json.loads(text)["tools"]}
    assert not code and tools["toy-tool"]["installed"] and not tools["dynesty"]["installed"]
    code, text, _ = bracketz("league", "problems", *added, "--json")
    problems = {p["problem"]: p for p in json.loads(text)["problems"]}
    assert not code and problems["toy"]["dimension"] == 1
    assert len([p for p in problems.values() if p["suite"] == "league"]) >= 16


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["run", "--tools", "dynasty"], "unknown tool 'dynasty'; did you mean 'dynesty'?"),
        (["run", "--problems", "regresion-5"], "did you mean 'regression-5'?"),
        (["run", "--preset", "fast"], "unknown preset 'fast'"),
        (["run", "--settings", "best"], "unknown setting 'best'"),
        (["run", "--tools", "dynesty"], "dynesty has no environment; make one with"),
        (["run", "--tools", "bracketz-ais", "--max-seconds", 0], "a run needs seconds"),
        (["run", "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"], "give one of them"),
        (["run", "--add", "nowhere.py"], "there is no file nowhere.py"),
        (["report"], "run the league first"),
        (["install", "dinesty"], "unknown tool 'dinesty'"),
        (["truth", "--problems", "regression"], "unknown problem 'regression'"),
    ],
)
def test_refusals(bracketz, tmp_path, words, sentence):
    out = [] if words[0] == "install" else ["--out", tmp_path / "out"]
    code, text, error = bracketz("league", *words, *out)
    assert (code, text) == (2, "") and sentence in error
    assert error.count("\n") == 1 and not (tmp_path / "out").exists()
