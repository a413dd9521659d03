"""dask-jobqueue and bracketz without a SLURM: ``sbatch`` and ``scancel`` are stand-ins that run the
job script here. The values must be the same bits as in one process.

    pip install '.[dask]' dask-jobqueue
    python examples/cluster/rehearse_slurm.py     # about a minute; exit code 1 if values differ
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

SBATCH = """#!/bin/sh
for last; do :; done
setsid sh "$last" >job.log 2>&1 </dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -- "-$1" 2>/dev/null || kill "$1"
"""
SPEC = """
name = "tiny"
trials = 4
[truth]
distributions = 200
[[models]]
model = "clustering"
rows = 6
columns = 2
hyperparameters = { components = 2 }
[[estimators]]
estimator = "ais"
ladder = [10, 100]
"""


def values(store: str) -> list:
    with sqlite3.connect(store) as database:
        return database.execute("SELECT task, trial, log_ml FROM trials ORDER BY 1, 2").fetchall()


def run(store: str, *more: str) -> None:
    command = [sys.executable, "-m", "bracketz", "experiment", "run", "spec.toml"]
    subprocess.run([*command, "--store", store, *more], check=True)


def main() -> None:
    from dask_jobqueue import SLURMCluster

    folder = tempfile.mkdtemp()
    os.chdir(folder)
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    Path("spec.toml").write_text(SPEC)
    with SLURMCluster(
        cores=1,
        processes=1,
        memory="2GB",
        walltime="00:10:00",
        worker_extra_args=["--nthreads", "1"],
        interface="lo",
    ) as cluster:
        cluster.scale(jobs=1)
        run("cluster.db", "--scheduler", cluster.scheduler_address)
    run("here.db")
    same = values("cluster.db") == values("here.db")
    print("the same bits" if same else "OTHER VALUES", f"of {len(values('here.db'))} trials")
    sys.exit(not same)


if __name__ == "__main__":
    main()
