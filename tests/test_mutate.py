"""The generator of random mutants: every kind of edit, where none may be, and who judges what."""

import ast
import json
import types

import edits
import mutate
import pytest
from covering import Lines, fingerprint, statement

#: Kind, text, and every result that the text has of that kind.
KINDS = [
    ("arithmetic", "y = a + b", {"y = a - b"}),
    ("arithmetic", "y = a * b / c", {"y = a / b / c", "y = a * b * c"}),
    ("arithmetic", "y = (a  # + not here\n     - b)", {"y = (a  # + not here\n     + b)"}),
    ("arithmetic", "y -= a", {"y += a"}),
    ("arithmetic", "y = -a", {"y = a"}),
    ("arithmetic", "y = 'Ä' + str(a)", set()),
    ("comparison", "y = a < b", {"y = a <= b", "y = a > b"}),
    ("comparison", "y = a > b", {"y = a >= b", "y = a < b"}),
    ("comparison", "y = a == b != c", {"y = a != b != c", "y = a == b == c"}),
    ("comparison", "y = a is not None", {"y = a is None"}),
    ("boolean", "y = a and b or c", {"y = a or b or c", "y = a and b and c"}),
    ("index", "y = x[0]", {"y = x[1]"}),
    ("index", "y = x[-1]", {"y = x[0]"}),
    ("index", "y = x[:, 1]", {"y = x[:, 2]", "y = x[:, 0]"}),
    ("index", "y = x[1:n]", {"y = x[2:n]", "y = x[1:n + 1]"}),
    ("index", "y = x[::-1]", {"y = x[::1]"}),
    ("index", "y = x[:-1]", {"y = x[:-2]"}),
    ("constant", "y = 0", {"y = 1"}),
    ("constant", "y = a**2", {"y = a**3"}),
    ("constant", "y = 0.5", {"y = 1.0"}),
    ("constant", "y = 300", {"y = 600"}),
    ("constant", "y = True", {"y = False"}),
    ("arguments", "y = f(a, b)", {"y = f(b, a)"}),
    ("arguments", "y = f((a + b), *c)", set()),
    ("arguments", "y = f('ÄÖ', b, a)", {"y = f(b, 'ÄÖ', a)", "y = f('ÄÖ', a, b)"}),
    ("reversal", "y = kernel.reversed().step", {"y = kernel.step"}),
    ("reversal", "y = not self.backward", {"y = (self.backward)", "y = not (not self.backward)"}),
    ("key", "a, b = jax.random.split(key)", {"a, b = jax.random.split(key); b = a"}),
    ("key", "y = fold_in(key, i)", {"y = key"}),
    ("deleted", "y = 1\ny = f()", {"y = 1\npass"}),
    ("deleted", "y = f()", set()),
    ("deleted", "f()", {"pass"}),
    ("deleted", "y += a", {"pass"}),
    ("condition", "if a:\n    pass", {"if not (a):\n    pass"}),
    ("condition", "y = 1 if a else 2", {"y = 1 if not (a) else 2"}),
    ("condition", "y = [x for x in a if b]", {"y = [x for x in a if not (b)]"}),
    ("keyword", "y = f(a, b=1)", {"y = f(a, )"}),
    ("keyword", "y = f(b=1, c=2)", {"y = f(c=2)", "y = f(b=1, )"}),
    ("keyword", "y = zip(a, b, strict=True)", set()),
    ("where", "y = jnp.where(a, b, c)", {"y = jnp.where(a, c, b)"}),
    ("reduction", "y = jnp.sum(a)", {"y = jnp.mean(a)"}),
    ("reduction", "y = sum(a) + max(b)", {"y = sum(a) + min(b)"}),
    ("reduction", "y = a.argmin()", {"y = a.argmax()"}),
    ("sign", "def f():\n    return a * b", {"def f():\n    return -(a * b)"}),
    ("arithmetic", "def f():\n    return -a", {"def f():\n    return a"}),
    ("sign", "def f():\n    return state", set()),
]
UNTOUCHED = '''
"""1 + 1"""
from a import b
__all__ = ["b"]
if TYPE_CHECKING:
    from c import d
@dataclass(frozen=True, eq=False)
class A:
    """1 + 1"""
    x: Array[0] | None
    def __repr__(self):
        return str(1 + 1)
    def plot(self):
        return 1 + 1
    def f(self, x: Array[0] | None) -> Array[1] | None:
        "1 < 2"
        raise InputError("a" + str(1 + 1))
        assert 1 < 2, "a"
        warnings.warn("a", stacklevel=2)
        said.append(f"{1 + 1}")
        return f"{1 + 1}"
'''
REAL = ("kernels/compose.py", "core/betting.py", "models/low_rank/gibbs.py")


@pytest.mark.parametrize(("kind", "before", "after"), KINDS)
def test_every_kind_of_edit(kind, before, after):
    found = [edit for edit in edits.edits(before) if edit.kind == kind]
    assert {edit.applied(before) for edit in found} == after and len(found) == len(after)


def test_what_no_number_depends_on_is_left_alone():
    assert edits.candidates(UNTOUCHED) == []


@pytest.mark.parametrize("file", REAL)
def test_mutants_of_real_files_parse_and_keep_their_docstrings_and_annotations(file):
    def said(text):
        tree = ast.parse(text)
        notes = [getattr(node, "annotation", None) or getattr(node, "returns", None)
                 for node in ast.walk(tree)]  # fmt: skip
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
        return docs, [ast.dump(note) for note in notes if note]

    source = (mutate.PACKAGE / file).read_text()
    found, real = edits.edits(source), said(source)
    assert len(found) > 30
    for edit in found:
        text = edit.applied(source)
        assert text != source and said(text) == real


def test_what_does_not_compile_is_never_drawn(monkeypatch):
    monkeypatch.setattr(mutate, "files", lambda: ["paths/tempered.py"])
    monkeypatch.setattr(mutate, "compiles", lambda text: False)
    assert mutate.sample(0, 10) == []
    assert edits.compiles("f(a)") and not edits.compiles("f(a")


def test_a_seed_is_a_sequence_of_mutants(monkeypatch):
    monkeypatch.setattr(mutate, "files", lambda: list(REAL))
    names = [mutant.name for mutant in mutate.sample(3, 20)]
    assert names == [mutant.name for mutant in mutate.sample(3, 20)] and len(set(names)) == 20
    assert names[:5] == [mutant.name for mutant in mutate.sample(3, 5)]
    assert names != [mutant.name for mutant in mutate.sample(4, 20)]
    only = mutate.sample(3, 20, only="betting.py:.* constant")
    assert {(mutant.file, mutant.kind) for mutant in only} == {("core/betting.py", "constant")}


def test_a_diff_is_small_and_shows_the_edit():
    mutant = mutate.sample(0, 1)[0]
    assert mutant.diff.splitlines()[0] == f"--- {mutant.file}"
    assert len(mutant.diff.splitlines()) < 40


def test_the_nearest_tests_come_first_and_models_that_use_the_file():
    assert mutate.tests_of("core/weights.py")[0] == "tests/core/test_weights.py"
    assert "tests/kernels/test_kernels.py" in mutate.tests_of("kernels/compose.py")
    assert mutate.models_of("models/low_rank/gibbs.py") == ("low-rank", "inferred-low-rank")
    assert mutate.models_of("engine/run.py") == ("selftest", "clustering")
    assert all(mutate.tests_of(file) for file in mutate.files())
    assert "xla" in mutate.quickly()


TEXT = """x = 1
y = f(
    1,
)
if x:
    @g
    def h(
        a,
    ):
        return a
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [(1, [1]), (2, [2, 3, 4]), (3, [2, 3, 4]), (5, [5]), (7, [6, 7, 8, 9]), (10, [10]), (11, [11])],
)
def test_the_statement_at_a_line(line, lines):
    assert list(statement(TEXT, line)) == lines


@pytest.fixture
def lines(tmp_path):
    """Three tests of one line, one of them hours long."""
    tests = [["tests/a.py::long", 1e4], ["tests/b.py::near", 9.0], ["tests/c.py::short", 0.1]]
    file = tmp_path / "lines.json"
    text = fingerprint((mutate.PACKAGE / "kernels/compose.py").read_text())
    known = {"kernels/compose.py": {"1": [0, 1, 2]}}, {"kernels/compose.py": text}
    file.write_text(json.dumps({"tests": tests, "lines": known[0], "texts": known[1]}))
    return Lines(file)


def test_an_edit_is_judged_by_tests_that_run_its_line(monkeypatch, lines):
    monkeypatch.setattr(mutate, "tests_of", lambda file: ("tests/b.py",))
    first = types.SimpleNamespace(file="kernels/compose.py", line=1)
    assert mutate.covering(first, lines) == ("tests/b.py::near", "tests/c.py::short")
    unknown = types.SimpleNamespace(file="core/weights.py", line=1)
    assert mutate.covering(unknown, lines) == ("tests/b.py",)
    with pytest.raises(SystemExit, match=r"compose\.py has changed since"):
        lines.tests("kernels/compose.py", 1, "other = text")


def test_the_report_counts_and_shows_survivors():
    caught = {"name": "a", "kind": "sign", "judge": "fast", "how": "test", "diff": "-a"}
    missed = {"name": "b", "kind": "sign", "judge": None, "how": None, "diff": "-b"}
    text = mutate.report([caught, missed])
    assert "1 of 2 caught (50%)" in text and "SURVIVES b\n-b" in text and "-a" not in text


def test_a_survivor_of_fewer_judges_runs_again():
    two, four = mutate.JUDGES[:2], mutate.JUDGES
    caught = {"name": "a", "judge": "fast", "asked": two}
    missed = {"name": "b", "judge": None, "asked": two}
    assert mutate.settled([caught, missed], {"a", "b"}, four) == [caught]
    assert mutate.settled([caught, missed], {"b"}, two) == [missed]
    assert mutate.settled([missed, missed | {"asked": four}], {"b"}, four)
    assert mutate.settled([missed | {"asked": four}], {"b"}, mutate.OF_LINES) == []
    assert (
        mutate.settled([{"name": "b", "judge": None, "judges": 4}], {"b"}, two) == []
    )  # of before
