"""Run the kit on every mutant and say what caught it.

    python tests/check/hunt.py [--jobs 2] [--json FILE] [--table FILE] [NAME ...]

Each mutant is a patch on a copy of the package, checked in a process of its own at level standard,
stopping at the first failure, as a user would; what passes there goes through ``bracketz
selftest``. ``--table`` writes the Markdown table of docs/mutants.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bracketz

sys.path.insert(0, str(Path(__file__).parent))
from mutants import MUTANTS, Mutant, apply

PACKAGE = Path(bracketz.__file__).parent
PROGRAM = """
import json, sys
from bracketz import check
from bracketz.models.registry import SHIPPED
name, options = sys.argv[1], json.loads(sys.argv[2])
own = name == "selftest"
report = check.selftest.run(**options) if own else check.run(SHIPPED.find(name)(), **options)
print("REPORT" + json.dumps(report.to_json()))
"""


def hunt(
    mutant: Mutant, only: str | None = None, models: tuple[str, ...] = (), level: str = "standard"
) -> dict:
    """The first failing check on any of the mutant's models, or of bracketz itself: {caught, model,
    kind, detail, ...}."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "bracketz"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        apply(mutant, copy)
        environment = {
            # Most of a mutant's programs are another's, too.
            "JAX_COMPILATION_CACHE_DIR": os.path.join(tempfile.gettempdir(), "bracketz-hunt-cache"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            **os.environ,
            "PYTHONPATH": folder,
            "JAX_ENABLE_X64": "1",
            "JAX_PLATFORMS": "cpu",
        }
        for model in models or (*mutant.models, "selftest"):
            options = json.dumps({"level": level} | ({"only": only} if only else {}))
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, model, options],
                env=environment,
                capture_output=True,
                text=True,
                cwd=folder,
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT")]
            if not lines:
                return {
                    "caught": "crash",
                    "kind": "crash",
                    "model": model,
                    "detail": done.stderr[-400:],
                }
            report = json.loads(lines[0].removeprefix("REPORT"))
            for entry in report["checks"]:
                if not entry["passed"]:
                    return {
                        "caught": entry["name"],
                        "kind": entry["kind"],
                        "model": model,
                        "detail": entry["detail"],
                    }
    return {"caught": None, "kind": None, "model": None, "detail": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or m.name in options.names]
    found = {}

    def one(mutant):
        found[mutant.name] = hunt(mutant)
        where = found[mutant.name]
        print(
            f"{mutant.name:45s} {where['caught']} ({where['kind']}, {where['model']})", flush=True
        )
        if options.json:
            options.json.write_text(json.dumps(found, indent=2))

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, chosen))
    caught = [f for f in found.values() if f["caught"]]
    exact = [f for f in caught if f["kind"] == "exact"]
    print(f"{len(caught)} of {len(chosen)} caught, {len(exact)} of them by exact checks")
    if options.table:

        def by(mutant):
            caught = found[mutant.name]["caught"]
            return f"`{caught}`" if caught else "**survives**"

        rows = [f"| {m.name} | {m.bug} | {by(m)} | {found[m.name]['kind'] or ''} |" for m in chosen]
        options.table.write_text(
            "\n".join(["| mutant | bug | caught by | kind |", "|---|---|---|---|", *rows]) + "\n"
        )


if __name__ == "__main__":
    main()
