"""Parts of adapters that run without a tool's environment, or with what the system has."""

import subprocess
import sys

import numpy as np
import pytest

from bracketz.errors import InputError
from bracketz.testbed.league import environments, worker
from bracketz.testbed.league.catalogue import catalogue
from bracketz.testbed.league.datasets import simulate

KNOWN = catalogue()
BRIDGE = worker.load(str(KNOWN.tools["bridgesampling"].file))


def test_bridge_sampling_asks_this_process_for_densities():
    """The first example of its help, with its 10,000 draws of a standard normal: log 2 pi."""
    if (sentence := BRIDGE.missing()) is not None:
        pytest.skip(sentence)
    problem = simulate(KNOWN.problems["bridgesampling-help"], 0).for_tools()
    draws = np.random.default_rng(0).normal(size=(4, 2500, 2))
    found = BRIDGE._bridge(problem, draws, seed=1)
    assert found["log_z"] == pytest.approx(np.log(2 * np.pi), abs=5 * found["error"])
    assert found["error"] < 0.02 and found["versions"]["bridgesampling"] and found["warnings"] == []
    # Half of the draws fit the proposal, the others are scored with as many of the proposal.
    assert problem.calls == 10_000


def test_what_r_says_is_the_message(monkeypatch):
    if (sentence := BRIDGE.missing()) is not None:
        pytest.skip(sentence)
    problem = simulate(KNOWN.problems["bridgesampling-help"], 0).for_tools()
    monkeypatch.setattr(BRIDGE, "SCRIPT", "stop('no luck')")
    with pytest.raises(RuntimeError, match=r"R: .*no luck"):
        BRIDGE._bridge(problem, np.zeros((1, 4, 2)), seed=1)


def test_system_packages_that_are_missing_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install" in BRIDGE.missing() and "r-cran-bridgesampling" in BRIDGE.missing()
    monkeypatch.setattr(environments, "_made", lambda tool, say: tmp_path)
    with pytest.raises(InputError, match="bridgesampling is not installed: apt-get install"):
        environments.install(KNOWN.tools["bridgesampling"])


def test_cpu_seconds_count_children():
    began = worker.cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert worker.cpu_seconds() - began > 0.01


def test_every_tool_has_more_than_its_default_and_says_where_that_is_from():
    for tool in KNOWN.tools.values():
        assert list(tool.settings)[:2] == ["default", "accurate"], tool.name
        assert len(tool.doc.split("\n\n")) > 1, tool.name
        assert set(tool.special) <= set(KNOWN.problems), tool.name


def test_a_forgotten_potential_is_forgotten_by_the_draws_alone():
    """The density is normalised, and is not that of the transform."""
    problem = simulate(KNOWN.problems["potential-forgotten"], 0).for_tools()
    drawn = problem.sample_prior(np.random.default_rng(0), 20_000)
    weights = np.exp(problem.log_prior(drawn) + 0.5 * np.sum(drawn**2 + np.log(2 * np.pi), axis=1))
    assert weights.mean() == pytest.approx(1.0, abs=0.1) and weights.std() > 1
