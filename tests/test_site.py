"""The documentation: built strictly, its questions answered in three clicks, its tutorials as run.

The site in a browser, page by page, is ``make docs`` (scripts/read_site.py).
"""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import read_site
import tutorials

import bracketz as bz
from bracketz.inference.comparison import Candidate, Comparison
from bracketz.inference.interval import Evidence

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_the_site_is_whole(site):
    """Strict: no broken link or reference. Five questions, three clicks each; nothing from
    elsewhere; maths without a script; every public name and every command has an entry."""
    assert read_site.clicks_that_fail(site) == []
    assert read_site.requests_elsewhere(site) == []
    formulas = (site / "theory" / "path.html").read_text().count("<math")
    assert formulas > 10 and "arithmatex" not in (site / "theory" / "path.html").read_text()
    api = "".join(page.read_text() for page in (site / "reference" / "api").glob("*.html"))
    shown = set(re.findall(r"bz\.([\w.]+)", api))
    missing = [n for n in bz.__all__ if isinstance(getattr(bz, n), type) and n not in shown]
    assert missing == []
    commands = (site / "reference" / "cli.html").read_text()
    for words in ("bracketz sandwich", "bracketz experiment run", "--max-effort", "--twins"):
        assert words in commands


@pytest.mark.parametrize("page", [p.name for p in sorted((DOCS / "tutorials").glob("[!i]*.md"))])
def test_tutorials_show_what_their_code_printed(page):
    """A page whose code has changed since it was run is refused: make tutorials."""
    text = (DOCS / "tutorials" / page).read_text(encoding="utf-8")
    stamp = re.search(r"\*Run on (\d{4}-\d\d-\d\d) .*<!-- code: (\w+) -->\n$", text)
    assert stamp, f"{page} was never run"
    assert stamp[2] == tutorials.code_of(text), f"{page} has other code than was run"


def test_a_page_is_run_from_top_to_bottom(tmp_path, monkeypatch):
    blocks = ("python\nx = 2\n", "python\nprint(x + 1)\n", "console\n$ echo a\n")
    page = "\ntext\n\n".join(f"```{block}```\n" for block in blocks)
    monkeypatch.chdir(tmp_path)
    run = tutorials.run_page(page)
    assert '```python\nprint(x + 1)\n```\n\n```text title="Output"\n3\n```\n' in run
    assert "$ echo a\na\n```" in run
    assert tutorials.run_page(run) == run and tutorials.code_of(run) == tutorials.code_of(page)
    assert tutorials.code_of(page.replace("x + 1", "x + 2")) != tutorials.code_of(page)


def test_a_click_that_leads_nowhere_is_found(tmp_path):
    for question, clicks in read_site.questions():
        assert 1 <= len(clicks) <= 3, question
        for page, _ in clicks:
            (tmp_path / page).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / page).write_text("<p>nothing</p>")
    (tmp_path / "index.html").write_text("<table><a href='faq.html'>FAQ</a></table>")
    found = read_site.clicks_that_fail(tmp_path)
    assert any("index.html has no link to faq.html" in sentence for sentence in found)
    assert any("does not say" in sentence for sentence in found)
    (tmp_path / "faq.html").write_text("<script src='https://example.org/x.js'></script>")
    assert len(read_site.requests_elsewhere(tmp_path)) == 1


def _section(page: str, title: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", re.split(rf"\n## {title}\n", page)[1].split("\n## ")[0]))


def test_the_json_page_lists_every_key():
    """Of the dataclasses that become the objects."""
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")

    def keys(cls, without=()):
        return {f.name for f in dataclasses.fields(cls)} - set(without)

    assert keys(bz.Estimate) | {"trials"} <= _section(page, "estimate")
    assert keys(bz.Sandwich) | {"gap"} <= _section(page, "sandwich")
    assert keys(Evidence) | {"statement"} <= _section(page, "evidence")
    rows = {"low", "high", "difference", "bayes_factor", "log_bayes_factor", "probability"}
    compare = _section(page, "compare")
    assert keys(Comparison, ["candidates"]) | {"models", "decided", "verdict"} | rows <= compare
    assert keys(Candidate, ["evidence", "place"]) <= compare


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 90
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links and all((ROOT / link).exists() for link in links)


def test_the_version_is_one():
    """In the package, the citation, the container file and the changelog."""
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {bz.__version__}\n" in citation
    assert f"bracketz:{bz.__version__} ." in (ROOT / "Containerfile").read_text()
    assert f"\n## {bz.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_importing_takes_a_moment():
    """Under 0.2 s: the best of three, on a machine that may be busy."""
    code = (
        "import time; t = time.perf_counter(); import bracketz;"
        " print(time.perf_counter() - t, 'jax' in __import__('sys').modules)"
    )
    tries = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(3)]
    assert all(line.split()[1] == "False" for line in tries)
    assert min(float(line.split()[0]) for line in tries) < 0.2


def test_workflows_call_the_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    called = set()
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in re.findall(r"make ([a-z -]+)", file.read_text()):
            called |= set(line.split())
    assert called and called <= targets
