"""Twins tried elsewhere: the same numbers, kept as they come, and a sentence when a worker dies."""

import json
import subprocess
import sys
from concurrent.futures import Executor, Future
from dataclasses import astuple
from types import SimpleNamespace

import pytest
from test_observed import MEAN, Y

import bracketz as bz
from bracketz.inference import twins

cloudpickle = pytest.importorskip("cloudpickle", reason="comes with Dask, an optional extra")

SETTINGS = {"gap": 0.3, "twins": 2, "seed": 2}


class Worker(Executor):
    """Does what it is sent, as bytes, when it is sent it; from call ``dies`` on it is gone."""

    def __init__(self, dies=None):
        self.calls, self.dies = 0, dies

    def submit(self, function, *args):
        self.calls += 1
        future = Future()
        if self.dies is not None and self.calls >= self.dies:
            future.set_exception(RuntimeError("the worker is gone\nand more"))
            return future
        function, args = cloudpickle.loads(cloudpickle.dumps((function, args)))
        future.set_result(cloudpickle.loads(cloudpickle.dumps(function(*args))))
        return future


@pytest.fixture(scope="module")
def here():
    return bz.evidence(MEAN, Y, **SETTINGS)


def test_the_same_twins_elsewhere(here):
    worker = Worker()
    answer = bz.evidence(MEAN, Y, session=bz.Session(executor=worker), **SETTINGS)
    assert answer.twins == here.twins and worker.calls == 2


def test_on_a_card_twins_are_one_batch(here, monkeypatch):
    """The same numbers, up to the order of sums."""
    monkeypatch.setattr(twins, "usable_devices", lambda: [SimpleNamespace(platform="gpu")])
    batched, real = [], twins.abreast
    monkeypatch.setattr(twins, "abreast", lambda work: batched.append(len(work)) or real(work))
    answer = bz.evidence(MEAN, Y, **SETTINGS)
    assert batched == [2]
    for one, other in zip(here.twins.each, answer.twins.each, strict=True):
        assert astuple(other) == pytest.approx(astuple(one), abs=1e-9)


def test_a_lost_worker_is_a_sentence_and_nothing_is_lost(here, tmp_path):
    def run(worker):
        kept = bz.Checkpoint(tmp_path / "run.ckpt", {}, resume=True)
        return bz.evidence(
            MEAN, Y, session=bz.Session(checkpoint=kept, executor=worker), **SETTINGS
        )

    with pytest.raises(
        bz.InputError, match=r"did not come back .*RuntimeError: the worker is gone\)"
    ):
        run(Worker(dies=2))
    again = Worker()
    assert run(again).twins == here.twins and again.calls == 1


MODEL = """
import jax, numpy as np
from jax.scipy.stats import norm
import bracketz as bz
mean = bz.from_functions(
    lambda x, y: norm.logpdf(y, x["mean"]),
    log_prior=lambda x: norm.logpdf(x["mean"]),
    sample_prior=lambda key: {"mean": jax.random.normal(key)},
    simulate=lambda key, x: x["mean"] + jax.random.normal(key, (3,)),
)
"""


@pytest.mark.slow
def test_a_users_file_on_dask_workers(tmp_path):
    pytest.importorskip("distributed", reason="Dask is an optional extra")
    (tmp_path / "models.py").write_text(MODEL)
    (tmp_path / "y.csv").write_text("y\n0.3\n1.0\n2.0\n")
    words = ["evidence", "models.py:mean", "--data", "y.csv", "--observe", "y", "--json"]
    words += ["--gap", "0.3", "--twins", "1"]
    found = [
        subprocess.run(
            [sys.executable, "-m", "bracketz", *words, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        for more in ([], ["--workers", "1"])
    ]
    one, two = (json.loads(done.stdout) for done in found)
    assert one["twins"] == two["twins"] and one["twins"]["count"] == 1
