"""Layers point one way, and the picture of them in docs/design.md is the real one."""

import ast

import layers
import pytest


@pytest.fixture(scope="module")
def arrows():
    """Reading all files takes seconds."""
    return layers.graph()


def test_every_arrow_points_down(arrows):
    assert layers.wrong(arrows) == []


def test_every_package_is_in_a_layer():
    here = {p.stem for p in layers.SOURCE.iterdir() if p.name[0] != "." and p.name != "py.typed"}
    assert here - {"__init__", "__main__", "__pycache__"} == set(layers.RANK)


def test_an_arrow_up_is_seen_wherever_it_hides(tmp_path):
    """At the top, inside a function, as a module; but not where only type checkers look."""
    file = tmp_path / "a.py"
    for line in (
        "from bracketz.cli.app import app",
        "def f():\n    from bracketz import cli",
        "import bracketz.cli.app",
    ):
        file.write_text(line)
        assert layers.imports(file) == {"cli"}
    file.write_text("if TYPE_CHECKING:\n    from bracketz.cli.app import app\n")
    assert layers.imports(file) == set()
    assert layers.wrong({"core": {"models"}, "models": {"core"}}) == [
        "core imports models, which is not below it"
    ]


def test_the_design_page_shows_the_graph(arrows, monkeypatch):
    monkeypatch.setattr(layers, "graph", lambda: arrows)
    page = layers.PAGE.read_text()
    assert layers.page(page) == page, "run python scripts/layers.py --write"


def test_the_library_names_no_option_of_the_command_line():
    """Options belong to the command line; the library names its arguments."""
    found = []
    for path in layers.SOURCE.rglob("*.py"):
        if path.relative_to(layers.SOURCE).parts[0] in ("cli", "papers"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise):
                texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                found += [f"{path.name}: {t}" for t in texts if isinstance(t, str) and "--" in t]
    assert found == []
