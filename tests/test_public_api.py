"""Every public name: found, documented with an example that runs, and in docs/api.md."""

import ast
import dataclasses
import doctest
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bracketz as bz

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import api  # noqa: E402

#: Functions and classes by the name a user writes after ``bz.``.
OBJECTS = dict(api.public_objects())
FUNCTIONS = {name: obj for name, obj in OBJECTS.items() if inspect.isfunction(obj)}
CLASSES = {name: obj for name, obj in OBJECTS.items() if isinstance(obj, type)}
#: A line of a section that begins an entry: "name: text" or "one, two: text".
ENTRY = re.compile(r"\*{0,2}\w+(, \w+)*: \S")


def documented(doc: api.Docstring) -> list[str]:
    """The names listed under Args and Attributes."""
    entries = [*doc.entries("Args"), *doc.entries("Attributes")]
    return [name.lstrip("*") for names, _ in entries for name in names.split(", ")]


def test_every_public_name_is_listed_once_and_resolves():
    names = bz.__all__
    assert len(names) == len(set(names))
    assert set(names) <= set(dir(bz))
    for name in names:
        assert getattr(bz, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        bz.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match="_no_such_name"):
        bz._no_such_name  # noqa: B018


@pytest.mark.parametrize("package", ["check", "plots", "testbed"])
def test_names_of_the_packages_resolve_once(package):
    module = getattr(bz, package)
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_public_modules_say_what_they_are():
    modules = [obj for name in bz.__all__ if isinstance(obj := getattr(bz, name), ModuleType)]
    assert modules and all(module.__doc__ for module in modules)


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_is_complete(name):
    doc = api.Docstring(api.own_docstring(OBJECTS[name]))
    assert doc.summary.endswith((".", ":")), doc.summary
    assert ">>>" in "\n".join(doc.sections["Example"])
    for section in ("Args", "Attributes", "Raises"):
        for line in doc.sections.get(section, []):
            assert line.startswith("    ") or ENTRY.match(line), f"{section}: {line!r}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_tell_what_they_take_and_return(name):
    function = FUNCTIONS[name]
    doc = api.Docstring(api.own_docstring(function))
    assert documented(doc) == list(inspect.signature(function).parameters)
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    gives = any(
        (isinstance(node, ast.Return) and node.value is not None) or isinstance(node, ast.Yield)
        for node in ast.walk(tree)
    )
    assert ("Returns" in doc.sections) == gives


@pytest.mark.parametrize("name", CLASSES)
def test_classes_tell_what_they_are_made_of(name):
    doc = api.Docstring(api.own_docstring(CLASSES[name]))
    for parameter in api.constructor(CLASSES[name]):
        assert parameter in documented(doc), parameter


@pytest.mark.parametrize("name", CLASSES)
def test_methods_say_what_they_do(name):
    """In their own words, or in those of the contract they fulfil."""
    cls = CLASSES[name]
    for member in api.public_members(cls):
        contract = getattr(bz.Conditional, member, None)
        assert inspect.getdoc(getattr(cls, member)) or inspect.getdoc(contract), member


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTS)
def test_examples_run(name, tmp_path, monkeypatch):
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=True, exclude_empty=True)
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    ran = 0
    module = sys.modules[OBJECTS[name].__module__]
    for test in finder.find(OBJECTS[name], name, module=module, globs={"__name__": "__main__"}):
        # A fresh namespace: an example has only what it imports.
        ran += len(test.examples)
        runner.run(test, out=said.append)
    plt.close("all")
    assert ran > 0
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("result", [bz.Sandwich, bz.Estimate, bz.Comparison, bz.check.Report])
def test_results_show_themselves(result):
    assert callable(result.plot) and callable(result._repr_html_)


def test_a_report_shows_its_verdicts_and_pictures():
    from matplotlib.figure import Figure

    def look(subject):
        return bz.check.Finding(0.5, "3 < 4 & so on", picture=Figure)

    def nothing(subject):
        raise bz.check.NotApplicable("nothing to see")

    checks = [
        bz.check.Check("mine.seen", bz.check.Kind.STATISTICAL, "none", look),
        bz.check.Check("mine.unseen", bz.check.Kind.EXACT, "none", nothing),
    ]
    report = bz.check.run(bz.Clustering(), only="mine", more=checks)
    (figure,) = report.plot()
    assert isinstance(figure, Figure)
    page = report._repr_html_()
    assert "mine.seen" in page and "3 &lt; 4 &amp; so on" in page and "nothing to see" in page
    failed = dataclasses.replace(
        report, results=(dataclasses.replace(report.results[0], passed=False),)
    )
    assert "FAILED" in failed._repr_html_() and "FAILED" not in page


def test_the_reference_is_what_the_docstrings_say():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == api.page(), "run python scripts/api.py --write"
