"""The command line, run in this process."""

import pytest


@pytest.fixture
def bracketz(command, tmp_path, monkeypatch):
    """Run a command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    return command
