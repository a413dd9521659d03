"""The documented user model, and every Python block of the README."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_users_own_model_is_sandwiched_to_its_known_evidence():
    """Linear-Gaussian: y ~ N(0, s_w X X^T + s_n I), so log p(y) is closed-form."""
    sys.path.insert(0, str(ROOT / "examples"))
    from regression import PolynomialRegression

    import bracketz as bz
    from bracketz import sandwich, simulate

    model = PolynomialRegression()
    data = simulate(model, seed=3)
    x = np.linspace(-1, 1, 30)[:, None] ** np.arange(4)
    covariance = x @ x.T + 0.25 * np.eye(30)
    y = data.y[:, 0]
    truth = (
        -0.5 * y @ np.linalg.solve(covariance, y)
        - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    )
    for path, particles, gap in ((bz.Tempered(), 1, 0.2), (bz.Prefix(), 100, 3.0)):
        answer = sandwich(
            model, data, gap=gap, path=path, particles=particles, chains=50, max_effort=1 << 14
        )
        assert answer.converged
        assert abs(answer.log_ml - truth) < max(0.1, 4 * answer.standard_error)


@pytest.mark.slow
def test_a_users_own_class_on_the_command_line():
    command = [
        sys.executable,
        "-m",
        "bracketz",
        "sandwich",
        "regression:PolynomialRegression",
        "--json",
    ]
    done = subprocess.run(command, cwd=ROOT / "examples", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["model"] == "regression:PolynomialRegression" and answer["converged"]


@pytest.mark.slow
def test_irises_are_more_than_one_cluster(capsys, short_pilots):
    """A short run of the example: one cluster is far behind, by over 100 nats."""
    sys.path.insert(0, str(ROOT / "examples"))
    from compare_iris import main

    answer = main((1, 2), distributions=48)
    found = {c.components: c.log_ml for c in answer.candidates}
    assert answer.best.components > 1 and found[1] < answer.best.log_ml - 100
    assert "certified" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "shape"), [("iris", (150, 4)), ("wine", (178, 13)), ("digits", (100, 46))]
)
def test_data_sets_of_the_examples(name, shape):
    sys.path.insert(0, str(ROOT / "examples"))
    from datasets import table

    names, values = table(name)
    assert values.shape == shape and len(names) == shape[1] and np.isfinite(values).all()


def test_the_example_is_short():
    assert len((ROOT / "examples" / "regression.py").read_text().splitlines()) <= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            str(page.relative_to(ROOT))
            for page in sorted((ROOT / "docs").rglob("*.md"))
            if page.parent.name != "tutorials"  # make tutorials; tests/test_site.py
        ),
    ],
)
def test_python_blocks_in_the_docs_run(page, tmp_path, monkeypatch, capsys, short_pilots):
    """And where a line says what it prints, it prints that."""
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S):
        exec(compile(block, page, "exec"), {"__name__": "docs"})
        told = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.M)
        assert told == [] or capsys.readouterr().out.splitlines()[-len(told) :] == told
