"""What docs/extending.md promises: its files, put where it says, are known everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bracketz

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text()


def section(title: str) -> str:
    """A recipe: what stands under a heading."""
    return re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], flags=re.M)[0]


def file_of(title: str) -> str:
    """The file of a recipe: its first Python block, without its use."""
    block = re.search(r"```python\n(.*?)```", section(title), flags=re.S)
    assert block is not None
    return block[1].partition("\n\n# In use.")[0].rstrip() + "\n"


def line_of(title: str) -> str:
    """The one line a recipe adds."""
    block = re.search(r"```py\n(.*?)```", section(title), flags=re.S)
    assert block is not None and block[1].count("\n") == 1
    return block[1]


@pytest.fixture
def package(tmp_path):
    """A copy of bracketz to add to; ``PYTHONPATH`` is its parent."""
    source = Path(bracketz.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(source, tmp_path / "bracketz", ignore=ignore))


def run(package: Path, *arguments: str) -> str:
    """What Python prints with the copy."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=package.parent,
        env=os.environ | {"PYTHONPATH": str(package.parent), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def append(file: Path, line: str) -> None:
    file.write_text(file.read_text() + line)


@pytest.mark.slow
def test_an_estimator_is_one_file_and_one_line(package):
    (package / "estimators" / "ti.py").write_text(file_of("An estimator"))
    append(package / "estimators" / "__init__.py", line_of("An estimator"))
    listed = json.loads(run(package, "-m", "bracketz", "estimators", "--json"))["estimators"]
    assert listed[-1]["name"] == "ti" and all(listed[-1]["models"].values())
    assert listed[-1]["full_name"] == "thermodynamic integration"
    out = run(
        package,
        "-c",
        "import bracketz as bz\n"
        "from bracketz.check.evidence import make, runnable\n"
        "from bracketz.cli.names import shipped\n"
        "assert shipped('estimators')[-1] == 'ti' and shipped('models')[0] == 'clustering'\n"
        "assert 'ThermodynamicIntegration' in dir(bz)\n"
        "assert make('ti') == bz.ThermodynamicIntegration(distributions=3000)\n"
        "print(*runnable(bz.Clustering()))",
    )
    assert "ti" in out.split()


@pytest.mark.slow
def test_the_kit_judges_the_new_estimator(package):
    """It is run against the exact evidence, and a mistake in it is found."""
    right = file_of("An estimator")
    wrong = right.replace("0.5 * (before + after)", "0.6 * (before + after)")
    assert wrong != right
    append(package / "estimators" / "__init__.py", line_of("An estimator"))
    verdicts = []
    for text in (right, wrong):
        (package / "estimators" / "ti.py").write_text(text)
        verdicts.append(
            run(
                package,
                "-c",
                "import bracketz as bz\n"
                "from bracketz.check.evidence import against_truth\n"
                "from bracketz.check.subject import Subject\n"
                "tiny = Subject(bz.Clustering(), (50, 25), 'quick', 0).tiny\n"
                "print(against_truth(tiny, ['ti'], 0).statistic > 1e-3)",
            ).strip()
        )
    assert verdicts == ["True", "False"]


@pytest.mark.slow
def test_a_model_is_one_folder_and_one_line(package):
    folder = package / "models" / "location"
    folder.mkdir()
    (folder / "model.py").write_text(file_of("A model"))
    (inside,) = re.findall(r"`(from bracketz\.models\.location\.model import \w+)`", PAGE)
    (folder / "__init__.py").write_text(inside + "\n")
    append(package / "models" / "__init__.py", line_of("A model"))
    listed = json.loads(run(package, "-m", "bracketz", "models", "--json"))["models"]
    (entry,) = (m for m in listed if m["name"] == "location")
    assert entry["summary"] == "Location: numbers scattered about an unknown mean."
    assert entry["defaults"] == {"mean_variance": 4.0, "noise_variance": 1.0}
    size = ("--rows", "4", "--columns", "1", "--gap", "2", "--chains", "4", "--seed", "1")
    answer = json.loads(run(package, "-m", "bracketz", "sandwich", "location", *size, "--json"))
    assert answer["model"] == "location" and answer["converged"]
    out = run(
        package,
        "-c",
        "import bracketz\n"
        "from bracketz.cli.names import shipped\n"
        "print(bracketz.Location.name, shipped('models')[-1])",
    )
    assert out == "location location\n"


@pytest.mark.slow
def test_a_check_is_one_file_and_its_name_twice(package):
    (package / "check" / "prior.py").write_text(file_of("A check"))
    runner = package / "check" / "runner.py"
    text = runner.read_text()
    families = re.search(r"^FAMILIES = \((.*?)^\)", text, flags=re.S | re.M)
    imported = re.search(r"^from bracketz\.check import \((.*?)^\)", text, flags=re.S | re.M)
    assert families is not None and imported is not None
    for found in sorted((families, imported), key=lambda found: -found.end(1)):
        text = text[: found.end(1)] + "    prior,\n" + text[found.end(1) :]
    runner.write_text(text)
    out = run(
        package,
        "-c",
        "import bracketz as bz\n"
        "print(*(check.name for check in bz.check.planned()))\n"
        "print(bz.check.run(bz.LowRank(), only='prior').passed)",
    )
    names, passed = out.splitlines()
    assert "prior.zero" in names.split() and passed == "True"


def test_every_recipe_has_a_file_that_ends_before_its_use():
    for title in re.findall(r"^## (.*)$", PAGE, flags=re.M):
        text = file_of(title)
        assert "# In use." not in text and "answer = " not in text
        compile(text, title, "exec")
