"""scripts/fuzz.py: the same lines from the same seed, nothing of the app left out, and a judge who
sees what is planted."""

import dataclasses
import itertools

import fuzz
import pytest
from fuzz import Line, Outcome, judge


@pytest.fixture(scope="module")
def lines():
    return fuzz.Generator(0).lines(2000)


def test_the_same_seed_gives_the_same_lines(lines):
    assert fuzz.Generator(0).lines(2000) == lines
    assert fuzz.Generator(1).lines(2000) != lines
    assert len(lines) == 2000


def test_every_command_and_every_option_is_fuzzed(lines):
    app = fuzz.commands()
    changed = {(line.command, name) for line in lines for name in line.changed}
    groups = {name.rpartition(" ")[0] for name in app if name}
    for command, options in app.items():
        if command in groups:
            continue
        kept = fuzz.REFUSED.get(command, ())
        left = [o.name for o in options if o.name not in kept and (command, o.name) not in changed]
        assert not left, (command, left)
    assert {line.environment for line in lines} == {"", *fuzz.ENVIRONMENTS}


def test_an_option_that_nobody_has_heard_of_is_fuzzed_by_its_kind():
    new = fuzz.Option("width", ("--width",), "int", argument=False, required=False)
    assert fuzz.values("sandwich", new) == fuzz.WHOLE


LINE = Line("models", [], [["--json"]], changed=["seed"])


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome(0, '{"a": 1}'), None),
        (Outcome(2, "", "error: no\n"), None),
        (Outcome(1, "", "error: the arithmetic broke\n"), None),
        (Outcome(None, raised="KeyError@cli/app.py:root", err="KeyError: 3"), "traceback"),
        (Outcome(1, "", "Traceback (most recent call last):\n  x\nKeyError: 3\n"), "traceback"),
        (Outcome(0, '{"a": NaN}'), "nan in json"),
        (Outcome(0, '{"a": '), "json does not parse"),
        (Outcome(0, '{"a": 1}', changed=("thesis.txt",)), "changed file"),
        (Outcome(2, "", "error: no\n", added=("new.npz",)), "left behind"),
        (Outcome(2, "", "no\n"), "no error line"),
        (Outcome(2, "", "error: two\nlines\n"), "error on several lines"),
        (Outcome(0, '{"a": 1}', "error: no\n"), "error with exit code 0"),
        (Outcome(3), "exit code"),
        (Outcome(1), "silent failure"),
        (Outcome(None, hung=True), "hang"),
        (Outcome(None, died="exit status -11"), "crash"),
        (Outcome(2, "", "error: \x1b[31m\n"), "escape sequence"),
    ],
)
def test_the_judge_sees_what_is_planted(outcome, kind):
    assert [found for found, _ in judge(LINE, outcome)][:1] == ([] if kind is None else [kind])


def test_the_judge_knows_what_must_be_refused_and_what_must_not():
    bad, good = (dataclasses.replace(LINE, known=known) for known in (fuzz.BAD, fuzz.GOOD))
    assert judge(bad, Outcome(0, "{}"))[0][0] == "not refused"
    assert judge(good, Outcome(2, "", "error: no\n"))[0][0] == "refused"


def test_a_nan_in_a_table_is_one_unless_it_was_given():
    table = Line("estimate", ["clustering", "lw"], [["--data", "nan.csv"]])
    assert judge(table, Outcome(0, "│ log evidence │ nan │"))[0][0] == "nan in a table"
    assert not judge(table, Outcome(0, "nan.csv: 3 finance rows"))


def test_files_may_change_where_they_are_named_and_force_is_given():
    words = [["--plot", "mine.png"], ["--force"]]
    forced = Line("sandwich", ["clustering"], words)
    assert not judge(forced, Outcome(0, "x", changed=("mine.png",)))
    assert judge(forced, Outcome(0, "x", changed=("other.png",)))
    assert judge(Line("sandwich", ["clustering"], words[:1]), Outcome(0, "", changed=("mine.png",)))


def test_a_finding_is_shrunk_to_the_option_that_causes_it():
    class Pretends:
        def run(self, line):
            return Outcome(None, raised="KeyError@x" if ["--bad", "1"] in line.options else "")

    options = [["--a", "1"], ["--bad", "1"], ["--json"]]
    finding = fuzz.Finding("traceback", "KeyError@x", Line("models", [], options))
    assert fuzz.shrunk(finding, Pretends()).options == [["--bad", "1"]]


def test_all_files_have_names_of_their_own():
    names = [name for name, _, _ in fuzz.fuzz_files.ALL]
    assert not [a for a, b in itertools.pairwise(sorted(names)) if a == b]
