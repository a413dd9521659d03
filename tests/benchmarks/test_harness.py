"""The harness: rows and their verdicts, tables, JSON, the summary, exit codes; and each benchmark
with tiny settings."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import report
import suite
from report import Report, Row, Table, at_least, at_most

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("value", "goal", "verdict"),
    [
        (1.0, at_most(1.0), "met"),
        (1.1, at_most(1.0), "MISSED"),
        (1.1, at_most(1.0, stretch=True), "not met"),
        (999.0, at_least(1000.0), "MISSED"),
        (1000.0, at_least(1000.0), "met"),
        (math.nan, at_least(1.0), "MISSED"),
        (math.nan, at_most(1.0), "MISSED"),
        (5.0, None, ""),
    ],
)
def test_verdict_follows_from_value_and_goal(value, goal, verdict):
    row = Row("b", "case", "ratio", value, "x", goal)
    assert row.verdict == verdict
    assert row.missed == (verdict == "MISSED")


def some_report():
    rows = [
        Row("b", "one", "ratio", 0.5, "x", at_most(1.0)),
        Row("b", "two", "ratio", math.nan, "x", at_least(10.0), "could not be had"),
        Row("b", "two", "time", 12345.0, "s"),
    ]
    return Report(
        "b",
        rows,
        [Table("numbers", ["name", "value"], [["a", "1"], ["bcd", "23"]])],
        ["a note"],
        {"x": 1},
    )


def test_json_and_back():
    text = json.dumps(some_report().to_json(), allow_nan=False)
    again = Report.from_json(json.loads(text))
    assert str(again) == str(some_report())
    assert [row.reached for row in again.rows] == [True, False, None]
    assert again.details == {"x": 1}


def test_table_aligns_words_left_and_numbers_right():
    assert str(some_report().tables[0]).splitlines() == [
        "numbers",
        "name  value",
        "-----------",
        "a         1",
        "bcd      23",
    ]


def test_text_shows_goals_next_to_values():
    text = str(some_report())
    assert "0.5 x" in text and "<= 1" in text and "met" in text
    assert "could not be had" in text and "MISSED" in text
    assert "12,345" not in text  # no goal: for the JSON and the benchmark's own tables


def test_summary_counts_goals_but_not_stretch_goals():
    stretch = Report("c", [Row("c", "three", "ratio", 2.0, "", at_most(1.0, stretch=True))])
    text = suite.summary([some_report(), stretch])
    assert "1 of 2 goals reached" in text
    assert "<= 1 (stretch)" in text and "not met" in text


def test_main_prints_json_and_tells_a_missed_goal_by_its_exit_code(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["b.py", "--json"])
    assert report.main(lambda options: some_report(), "doc") == report.MISSED
    answer = json.loads(capsys.readouterr().out)
    assert answer["benchmark"] == "b" and answer["seconds"] >= 0
    assert {"cores", "jax", "python", "devices"} <= answer["machine"].keys()
    monkeypatch.setattr(sys, "argv", ["b.py"])
    assert report.main(lambda options: Report("b", some_report().rows[:1]), "doc") == 0
    assert "met" in capsys.readouterr().out


def test_suite_goes_on_after_a_broken_benchmark(tmp_path, monkeypatch, capsys):
    good = (
        "import json, sys; sys.path.insert(0, {!r}); import report;"
        " print(json.dumps(report.Report('good', []).to_json()))"
    )
    (tmp_path / "good.py").write_text(good.format(str(BENCHMARKS)))
    (tmp_path / "bad.py").write_text("raise SystemExit(7)")
    monkeypatch.setattr(suite, "HERE", tmp_path)
    monkeypatch.setattr(suite, "BENCHMARKS", {"bad": "?", "good": "?"})
    monkeypatch.setattr(sys, "argv", ["suite.py", "--out", str(tmp_path / "out" / "all.json")])
    assert suite.main() == report.BROKEN
    answer = json.loads((tmp_path / "out" / "all.json").read_text())
    assert answer["broken"] == ["bad"] and [r["benchmark"] for r in answer["reports"]] == ["good"]
    assert "bad broke, with exit code 7" in capsys.readouterr().out


def test_suite_names_existing_files():
    assert all((BENCHMARKS / f"{name}.py").is_file() for name in suite.BENCHMARKS)


def test_plain_machines_do():
    """What the benchmark of a GPU needs is there without Rich, Numba, Typer, pandas or
    Matplotlib."""
    names = ["rich", "numba", "typer", "pandas", "matplotlib"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({names}));"
        f" sys.path.insert(0, {str(BENCHMARKS)!r});"
        " import report, programs, device; report.machine()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["paper.py", "--trials", "2", "--only", "clustering/ais"],
        ["growth.py"],
        ["glm.py"],
        ["startup.py"],
        ["sweep.py", "--chains", "4"],
        ["schedule.py"],
        ["device.py"],
        ["honesty.py", "--only", "betting"],
        ["your_model.py", "--without-others"],
    ],
    ids=lambda command: command[0],
)
def test_benchmark_runs_with_tiny_settings(command, tmp_path):
    if command[0] == "glm.py":
        pytest.importorskip("sklearn")
    picture = tmp_path / "picture.png"
    plot = ["--plot", str(picture)] if command[0] in ("growth.py", "glm.py") else []
    words = [sys.executable, str(BENCHMARKS / command[0]), *command[1:], *plot, "--smoke", "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode in (0, report.MISSED)
    answer = Report.from_json(json.loads(done.stdout))
    assert answer.rows and answer.tables
    assert all(math.isfinite(row.value) for row in answer.rows)
    assert not plot or picture.stat().st_size > 10_000
