"""The command line, run in this process."""

import os
import sys

import pytest

from bracketz.cli import main


@pytest.fixture
def bracketz(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    # main() sets up its own process; here that process is the test run's, so put everything back
    # afterwards.
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", os.environ["JAX_COMPILATION_CACHE_DIR"])

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["bracketz", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        return stop.value.code, out.out, out.err

    return run
