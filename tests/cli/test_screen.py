"""What a person sees at 80 columns: help, lists, completion, progress."""

import dataclasses
import io
import json
import math
import re
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from bracketz.cli import main, progress
from bracketz.cli.names import complete_models, shipped

COMMANDS = [
    ("models",),
    ("estimators",),
    ("simulate",),
    ("estimate",),
    ("sandwich",),
    ("evidence",),
    ("fractional",),
    ("information",),
    ("quality",),
    ("tune",),
    ("demo",),
    ("compare",),
    ("check",),
    ("selftest",),
    ("reproduce",),
    ("experiment", "run"),
    ("experiment", "status"),
    ("experiment", "report"),
    ("experiment", "export"),
    ("league", "tools"),
    ("league", "problems"),
    ("league", "install"),
    ("league", "truth"),
    ("league", "run"),
    ("league", "report"),
]


@pytest.fixture
def screen(bracketz, monkeypatch):
    """What a command prints at 80 columns on standard output; it must succeed."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        code, out, _ = bracketz(*words)
        assert not code
        return out

    return run


def too_long(text):
    return [line for line in text.split("\n") if len(line) > 80]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_flags_as_flags(screen, words):
    out = screen(*words, "--help")
    assert "--json" in out and "<bool>" not in out
    assert set(re.findall(r"--no-[a-z]+", out)) <= {"--no-reference"}
    assert f"Usage: bracketz {' '.join(words)}" in out and not too_long(out)


def test_help_shows_the_defaults_of_the_models(screen):
    from bracketz.models.registry import INFERRED, MODELS

    directed: dict = dict(MODELS) | dict(INFERRED)
    shapes = {cls.default_shape for cls in directed.values()}
    assert shapes == {(50, 25)}
    components = {name: cls().components for name, cls in directed.items()}
    assert {n for n, k in components.items() if k == 5} == {"low-rank", "inferred-low-rank"}
    assert set(components.values()) == {5, 10}
    for command in ("simulate", "sandwich", "check"):
        out = screen(command, "--help")
        for default in ("(50; of a grid", "(25; of a grid", "(the model's: 10, low-rank 5)"):
            assert f"[default: {default}" in " ".join(out.split())


def test_the_help_of_estimate_lists_the_knobs_of_every_estimator(screen):
    from bracketz.estimators.registry import ESTIMATORS

    out = screen("estimate", "--help")
    knobs = {line.split()[0]: line for line in out.split("\n") if "--" in line}
    for name, cls in ESTIMATORS.items():
        assert f"--{cls.knob} " in knobs[name]
    assert "--resample-threshold 0.5" in out


def test_lists_fit(screen):
    for words in (("models",), ("estimators",)):
        assert not too_long(screen(*words))
    out = screen("models")
    assert "inferred-binary-attributes" in out and "attribute_probability=0.3" in out


def test_estimators_tell_names_side_cost_and_where_they_do_not_run(screen):
    out = screen("estimators")
    assert "likelihood weighting" in out and "distributions - 1 sweeps" in out and "upper*" in out
    assert "hme has side none on observed data" in out
    assert "not bic, vb, vb-sym, chib, cms, nested" in " ".join(out.split())
    listed = {e["name"]: e for e in json.loads(screen("estimators", "--json"))["estimators"]}
    assert all(e["full_name"] != name and e["cost"] for name, e in listed.items())
    runs = listed["vb"]["models"]
    assert runs["clustering"] is True and runs["inferred-clustering"] is False
    assert listed["hme"]["side_observed"] == "none" and listed["shme"]["side_observed"] is None


def test_completion_knows_what_is_registered():
    from bracketz.estimators.registry import ESTIMATORS
    from bracketz.models.registry import SHIPPED

    assert shipped("estimators") == list(ESTIMATORS)
    assert sorted(shipped("models")) == sorted(SHIPPED)
    assert complete_models("low-rank,clu") == ["low-rank,clustering"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("bracketz sand", ["sandwich"]),
        ("bracketz sandwich lo", ["low-rank"]),
        ("bracketz estimate clustering re", ["reverse-ais"]),
        ("bracketz check clustering --level st", ["standard"]),
        ("bracketz reproduce gr", ["grosse2015"]),
        # Nothing: the shell completes files.
        ("bracketz sandwich clustering --data si", []),
        ("bracketz experiment run sp", []),
    ],
)
def test_completion_in_the_shell(screen, monkeypatch, line, words):
    monkeypatch.setenv("_BRACKETZ_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert screen().split() == words


def test_completion_can_be_installed(screen):
    out = screen("--help")
    assert "--install-completion" in out and "--show-completion" in out


@pytest.fixture
def terminal():
    """Standard error as a terminal of 80 columns, for a progress: what has been drawn, line by
    line."""
    drawn = io.StringIO()

    def attach(watcher):
        watcher.console = Console(file=drawn, force_terminal=True, width=80, _environ={})

        def lines():
            text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn.getvalue())
            return [line.rstrip() for line in re.split("[\r\n]+", text) if line.strip()]

        return lines

    return attach


LONG = "inferred-binary-attributes on binary-attributes data ais distributions 20"


def test_an_experiment_keeps_its_labels_and_counts(terminal):
    bars = progress.ExperimentBars()
    lines = terminal(bars)
    bars.begin(1280, 0)
    watcher = bars.session(SimpleNamespace(describe=lambda: LONG)).progress
    watcher.begin("ais", 2999, 0)
    watcher.advance(1999, -12345.6)
    bars._bar.refresh()
    one = [line for line in lines() if line.startswith("this one")][-1]
    assert LONG in lines() and "1999/2999" in one and re.search(r"log weight -12,345.6, \d+ s", one)
    assert any(line.startswith("all tasks") and "0/1280" in line for line in lines())
    assert max(map(len, lines())) <= 80
    result = SimpleNamespace(values=[-3.0, -5.0], run_seconds=1.0)
    ended = SimpleNamespace(
        task=SimpleNamespace(describe=lambda: LONG), result=result, message=None
    )
    bars.ended(ended, 1, 90.0)
    bars.end()
    assert any(line.endswith(": mean log evidence -4.0, 1.00 s") for line in lines())


def test_a_long_label_leaves_room_for_the_bar(terminal):
    bar = progress.ProgressBar()
    lines = terminal(bar)
    label = "binary-attributes, 12 components: simulated 2, lower 16384"
    bar.begin(label, 16383, 0)
    bar.advance(8191, -12345.6)
    bar._bar.refresh()
    bar.end()
    assert label in lines() and any("8191/16383" in line and "━━" in line for line in lines())


def test_a_spinner_says_what_takes_so_long_and_goes(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    bar = progress.ProgressBar()
    lines = terminal(bar)
    with bar.working("compiling both directions"):
        bar._spinner._start.join()
        assert "compiling both directions 0 s" in lines()[-1]
        bar.begin("lower 32", 31, 0)
        assert bar._spinner is None  # the bar has taken its place
        with bar.working("conditionals.ratios"):
            bar._bar.refresh()
        assert "conditionals.ratios" in lines()[-1]
        bar.end()
    assert bar.console.file.getvalue().endswith("\x1b[2K")  # the last thing drawn is wiped


def test_what_is_over_at_once_draws_nothing(terminal):
    bar = progress.ProgressBar()
    lines = terminal(bar)
    with bar.working("compiling"):
        pass
    assert lines() == []


@pytest.mark.parametrize("quiet", [False, True])
def test_without_a_terminal_nothing_is_drawn(capsys, monkeypatch, quiet):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.waiting("loading JAX", quiet):
        time.sleep(0.05)
    out = capsys.readouterr()
    assert out.out == "" and out.err == ""


def test_a_comparison_fits(capsys, monkeypatch):
    import bracketz as bz
    from bracketz.cli.tables import print_comparison
    from bracketz.core.results import Seconds
    from bracketz.inference.comparison import Candidate, Comparison
    from bracketz.inference.interval import Interval

    monkeypatch.setenv("COLUMNS", "80")
    model = bz.Clustering(components=2)
    found = bz.evidence(model, bz.simulate(model, 6, 2).y, first=32, max_effort=32)
    candidates = tuple(
        Candidate(
            f"{name} with {k} components",
            name,
            k,
            dataclasses.replace(
                found.shifted(value - found.log_ml),
                standard_error=10.2,
                upper=None if high is None else high,
                interval=Interval(0.95, value - 3, high),
                reason="chains did not meet" if high is None else None,
            ),
        )
        for name, k, value, high in (
            ("low-rank", 3, -13443.7, -13440.0),
            ("binary-attributes", 10, -13444.7, -13440.0),
            ("binary-attributes", 12, -14444.7, None),
        )
    )
    print_comparison(Comparison(candidates, 0.95, 0, 0, Seconds(3.0, 4.0), -12.0, 3), True)
    out = capsys.readouterr().out
    assert "…" not in out and not too_long(out)
    assert "-14444.70 ± 10 " in out and "1001.0" in out and "bare mention" in out
    assert "no bound" in out and "chains did not meet" in out


def test_ctrl_c_says_how_to_go_on(screen, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bracketz.check.run", interrupted)
    monkeypatch.setattr(sys, "argv", ["bracketz", "check", "clustering"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130 and capsys.readouterr().err.startswith("stopped; ")


def test_numbers_are_never_rounded_to_more_than_is_known():
    from bracketz.cli.tables import outwards
    from bracketz.wording import plus_minus

    assert outwards(-504.61, -504.59) == ("-504.7", "-504.5")
    assert outwards(-math.inf, None) == ("-inf", "no bound")
    errors = {0.0004: "± 0.0004", 0.03: "± 0.03", 0.25: "± 0.25", 2.31: "± 2.3", 14.0: "± 14"}
    assert {e: plus_minus(e) for e in errors} == errors
    assert plus_minus(math.inf) == plus_minus(math.nan) == "(no error bar)"
