"""A real Dask scheduler and real worker processes on loopback: the same bits, also when a worker is
killed."""

import json
import os
import signal
import subprocess
import sys
import time
import types

import pytest
from small_experiment import BARE, SMALL, values

from bracketz.engine.cluster import Gone, fetch
from bracketz.errors import InputError
from bracketz.testbed.run.cluster import cluster, on
from bracketz.testbed.run.runner import Nobody, run_experiment
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.store.store import Store

distributed = pytest.importorskip(
    "distributed", reason="Dask is an optional extra: pip install 'bracketz[dask]'"
)
pytestmark = pytest.mark.slow


@pytest.fixture
def dask(tmp_path):
    """(scheduler's address, the two worker processes)."""
    file = tmp_path / "scheduler.json"
    words = [
        [
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        ],
        *[
            [
                "dask_worker",
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--scheduler-file",
                str(file),
            ]
        ]
        * 2,
    ]
    processes = []
    try:
        for module, *options in words:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *options]
            processes.append(
                subprocess.Popen(
                    command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
            while not file.exists():
                assert processes[0].poll() is None
                time.sleep(0.05)
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Killer(Nobody):
    """After the third task kills both workers, and calls another one when it is asked for."""

    def __init__(self, client, call):
        self.client, self.call = client, call
        self.killed, self.said = [], []

    def ended(self, ended, done, seconds_left):
        if done >= 3 and not self.killed:
            self.killed = list(self.client.run(os.getpid).values())
            for pid in self.killed:
                os.kill(pid, signal.SIGKILL)

    def note(self, text):
        self.said.append(text)
        self.call()


@pytest.fixture
def another(dask):
    """Starts one more worker; those started so far."""
    late = []

    def start():
        late.append(subprocess.Popen(dask[1][0].args))

    start.late = late
    yield start
    for process in late:
        process.kill()
        process.wait()


def test_with_all_workers_killed_the_next_one_goes_on_to_the_same_bits(
    dask, another, small_store, tmp_path
):
    address, workers = dask
    path = tmp_path / "dask.db"
    with distributed.Client(address) as client, Store.open(path, create=True) as store:
        client.wait_for_workers(2, timeout=60)
        killer = Killer(client, another)
        outcome = run_experiment(parse(SMALL), store, on(client), killer)
        assert outcome.complete and outcome.failed == 0
        assert sorted(killer.killed) == sorted(worker.pid for worker in workers)
        assert len(another.late) == 1 and "no worker is left" in killer.said[0]
    assert values(path) == values(small_store)


def test_a_result_lost_with_its_worker_is_computed_again(dask, another, monkeypatch):
    """The task was done, its result not yet here: seen once, as a test that hung for ever."""
    monkeypatch.setattr("bracketz.engine.cluster.FETCH_SECONDS", 0.5)
    address, workers = dask
    said = []
    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        future = client.submit(pow, 2, 10, pure=False)
        distributed.wait(future)
        for worker in workers:
            worker.kill()

        def note(text):
            said.append(text)
            another()

        assert fetch(client, future, note) == 1024
    assert len(said) == 1 and "no worker is left" in said[0]


@pytest.mark.parametrize("status", ["pending", "error"])
def test_a_connection_lost_on_the_way_is_no_failure_of_the_task(status):
    """But a task that itself raises such an error has failed."""

    def result(timeout):
        raise ConnectionError("reset by peer")

    future = types.SimpleNamespace(done=lambda: True, status=status, result=result)
    kind = Gone if status == "pending" else ConnectionError
    with pytest.raises(kind):
        fetch(types.SimpleNamespace(), future, print)


def test_a_scheduler_that_goes_is_one_sentence(dask, tmp_path):
    address, _ = dask

    class Ender(Nobody):
        def ended(self, ended, done, seconds_left):
            if done == 1:
                os.kill(int(pid), signal.SIGKILL)

    with distributed.Client(address) as client, Store.open(tmp_path / "s.db", create=True) as store:
        client.wait_for_workers(2, timeout=60)
        pid = client.run_on_scheduler(os.getpid)
        with pytest.raises(InputError, match=r"the Dask scheduler at .* has gone"):
            run_experiment(parse(BARE), store, on(client), Ender())
        assert any(store.status(task.id) == "done" for task in store.tasks(1))


def test_workers_started_here_and_the_command_line(tmp_path):
    # A fit whose program the experiment has anyway: every process traces all that it runs.
    fit = 'fits = [{ model = "clustering", hyperparameters = { components = 2 } }]'
    spec = f"{BARE}[cross]\ndistributions = 20\n{fit}\n"
    (tmp_path / "spec.toml").write_text(spec)
    with Store.open(tmp_path / "here.db", create=True) as store:
        assert run_experiment(parse(spec), store).complete
    command = [
        sys.executable,
        "-m",
        "bracketz",
        "experiment",
        "run",
        "spec.toml",
        "--store",
        "r.db",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--workers", "2"], cwd=tmp_path, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["done"] == answer["tasks"] == answer["ran"]
    assert values(tmp_path / "r.db") == values(tmp_path / "here.db")


def test_no_scheduler_is_one_sentence():
    for address in ("tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1"):
        with (
            pytest.raises(InputError, match=r"no Dask scheduler answers at .*tcp://host:port"),
            cluster(scheduler=address),
        ):
            pass
