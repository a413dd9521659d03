"""What is delivered, tried where nothing else is: wheels in empty environments.

    python scripts/delivery.py dist      # wheel and sdist into dist/, each installed and tried
    python scripts/delivery.py matrix    # Python 3.11, 3.12, 3.13; oldest, pinned and newest JAX

``dist`` tries the bare package from the wheel and from the sdist, and the extras numpyro and pymc
from the wheel. ``matrix`` writes its table to dist/matrix.md and ends with exit code 1 if a cell
fails; a Python that is not here (nor found by uv) is a line that says so, not a failure. What is
tried is small: import time, the command line, a sandwich, and a model of each extra.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13")

BARE = """
import subprocess, sys, time
start = time.perf_counter()
import bracketz as bz
seconds = time.perf_counter() - start
from pathlib import Path
home = Path(bz.__file__).parent
assert (home / "py.typed").exists(), "py.typed is missing"
assert (home / "papers" / "grosse2015" / "quick.toml").exists(), "specs are missing"
assert "site-packages" in str(home), f"this is not the installed package: {home}"
model = bz.Clustering(components=2)
answer = bz.sandwich(model, bz.simulate(model, 6, 2, seed=1), gap=2.0, chains=4)
assert answer.converged, answer.reason
import jax
print(f"bracketz {bz.__version__}, JAX {jax.__version__}, import {seconds:.3f} s")
"""
NUMPYRO = """
import bracketz as bz, numpyro, numpyro.distributions as dist
def mean(y=None):
    x = numpyro.sample("x", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(x, 1).expand([5]).to_event(1), obs=y)
model = bz.from_numpyro(mean)
answer = bz.sandwich(model, bz.simulate(model, seed=0), chains=16)
assert answer.converged, answer.reason
print("numpyro", numpyro.__version__)
"""
PYMC = """
import bracketz as bz, numpy as np, pymc as pm
with pm.Model() as mean:
    x = pm.Normal("x")
    pm.Normal("y", x, 1.0, observed=np.zeros(5))
model = bz.from_pymc(mean)
answer = bz.sandwich(model, bz.simulate(model, seed=0), chains=16)
assert answer.converged, answer.reason
print("pymc", pm.__version__)
"""


def call(*command: object, **others) -> str:
    """Standard output; what went wrong as an exception with the end of standard error."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, **others
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def empty_environment(python: str, folder: str) -> Path:
    """Its Python; made by uv where there is one, which is faster."""
    if uv := shutil.which("uv"):
        call(uv, "venv", "--quiet", "--clear", "--seed", "--python", python, folder, cwd="/")
    else:
        call(python, "-m", "venv", folder, cwd="/")
    return Path(folder) / "bin" / "python"


def build() -> tuple[Path, Path]:
    """(wheel, sdist), into dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        own = empty_environment(sys.executable, folder)
        call(own, "-m", "pip", "install", "--quiet", "setuptools>=77", "wheel", cwd=folder)
        for what in ("wheel", "sdist"):
            code = f"from setuptools import build_meta as b; b.build_{what}({str(DIST)!r})"
            call(own, "-c", code, cwd=ROOT)
    return next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))


def try_out(python: str, package: str, script: str, pins: list[str]) -> str:
    """Install into an empty environment, and run: what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        own = empty_environment(python, folder)
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if uv := shutil.which("uv"):
            install = [uv, "pip", "install", "--quiet", "--python", own]
        call(*install, *pins, package, cwd=folder)
        printed = call(own, "-c", script, cwd=folder)
        call(Path(folder) / "bin" / "bracketz", "sandwich", "--help", cwd=folder)
        return " ".join(printed.split("\n")).strip()


def dist() -> int:
    wheel, sdist = build()
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    failed = 0
    for name, package, script in (
        ("wheel", str(wheel), BARE),
        ("sdist", str(sdist), BARE),
        ("wheel[numpyro]", f"{wheel}[numpyro]", NUMPYRO),
        ("wheel[pymc]", f"{wheel}[pymc]", PYMC),
    ):
        start = time.monotonic()
        try:
            said = try_out(sys.executable, package, script, pins)
        except RuntimeError as error:
            said, failed = f"FAILED: {error}", failed + 1
        print(f"{name}: {said} ({time.monotonic() - start:.0f} s)", flush=True)
    return failed


def interpreter(version: str) -> str | None:
    """A Python of that version: by name, in pyenv, or found by uv."""
    homes = [
        f"python{version}",
        *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    ]
    for home in map(str, homes):
        try:
            found = call(home, "-c", "import sys; print('%d.%d' % sys.version_info[:2])", cwd="/")
        except (OSError, RuntimeError):
            continue
        if found.strip() == version:
            return home
    try:
        return call("uv", "python", "find", version, cwd="/").strip()
    except (OSError, RuntimeError):
        return None


def matrix() -> int:
    wheel, _ = build()
    oldest = next(
        line.split('"')[1].replace(">=", "==") + ".*"
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.strip().startswith('"jax>=')
    )
    kinds = {
        "oldest JAX": [oldest],
        "pinned": ["--constraint", str(ROOT / "constraints.txt")],
        "newest": ["--upgrade"],
    }
    rows, failed = [], 0
    for version in PYTHONS:
        python = interpreter(version)
        for kind, pins in kinds.items():
            if python is None:
                rows.append((version, kind, "not on this machine"))
                continue
            start = time.monotonic()
            try:
                said = try_out(python, str(wheel), BARE, pins)
            except RuntimeError as error:
                said, failed = f"FAILED: {' '.join(str(error).split())[-200:]}", failed + 1
            rows.append((version, kind, f"{said} ({time.monotonic() - start:.0f} s)"))
            print(*rows[-1], sep=": ", flush=True)
    head = ["| Python | JAX | |", "|---|---|---|"]
    table = "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])
    (DIST / "matrix.md").write_text(table + "\n")
    print(table)
    return failed


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("what", choices=("dist", "matrix"))
    sys.exit(min(1, {"dist": dist, "matrix": matrix}[asked.parse_args().what]()))


if __name__ == "__main__":
    main()
