"""What stands beside results: processor, load and commit."""

import subprocess

from bracketz.testbed import machine
from bracketz.testbed.run.execute import versions


def repository(folder):
    for words in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_commit_is_this_packages_own(tmp_path):
    head = repository(tmp_path)
    inside = tmp_path / "src" / "bracketz"
    inside.mkdir(parents=True)
    assert machine.commit(inside) == head[:10]
    (inside / "a.py").write_text("1")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    assert machine.commit(inside) == head[:10] + "+"


def test_a_users_repository_says_nothing(tmp_path):
    repository(tmp_path)
    assert machine.commit(tmp_path / ".venv" / "lib" / "site-packages" / "bracketz") is None


def test_what_a_task_is_kept_with():
    found = versions()
    assert found["processor"] and found["load"] >= 0
