"""Which tests run which line, so that an edit of the line is judged by them.

    python scripts/covering.py FILE [--jobs 2] [PYTEST'S WORDS ...]

Runs all tests once under ``coverage``, a context for each test, and writes what each line of the
package was run by and how long each test takes; about one and a half times ``make test``.
``scripts/mutate.py --lines FILE`` reads it. A function that JAX has compiled is not run again: a
line that is traced stands beside the first test of its process that traced it, or the first few.
"""

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bracketz"
#: Inside every process of pytest: coverage with the running test as its context, and seconds.
PLUGIN = """
import json, os
from pathlib import Path
import coverage, pytest
HERE = Path(__file__).resolve().parent
watch = coverage.Coverage(data_file=str(HERE / f"{os.getpid()}.coverage"), source=[%r],
                          config_file=False, messages=False)
watch.start()
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    watch.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        watch.switch_context("")
def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" in os.environ or not hasattr(report, "node"):
        with open(HERE / f"{os.getpid()}.seconds", "a") as file:
            file.write(json.dumps([report.nodeid, report.when, report.duration]) + "\\n")
def pytest_unconfigure(config):
    watch.stop()
    watch.save()
"""


def learn(target: Path, jobs: int, words: list[str]) -> None:
    """Run the tests, and write {"lines": {file: {line: [number of a test]}}, "tests": [[test,
    seconds]]}."""
    import coverage

    with tempfile.TemporaryDirectory(prefix="bracketz-covering-") as name:
        folder = Path(name)
        (folder / "covering_plugin.py").write_text(PLUGIN % str(PACKAGE))
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGE.parent)]),
            "COVERAGE_CORE": "ctrace",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "covering_plugin", "-n", str(jobs)]
        command += ["-m", "not as_shipped", *words]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        if code not in (0, 1):  # 1: some failed, which the hunt leaves out
            raise SystemExit(f"pytest ended with {code}: nothing is written")
        seconds: dict[str, float] = {}
        for file in folder.glob("*.seconds"):
            for text in file.read_text().splitlines():
                test, _, took = json.loads(text)
                seconds[test] = seconds.get(test, 0.0) + took
        tests = sorted(seconds)
        number = {test: k for k, test in enumerate(tests)}
        lines: dict[str, dict[int, set[int]]] = {}
        for file in folder.glob("*.coverage"):
            data = coverage.CoverageData(str(file))
            data.read()
            for measured in data.measured_files():
                path = Path(measured).relative_to(PACKAGE).as_posix()
                own = lines.setdefault(path, {})
                for line, contexts in data.contexts_by_lineno(measured).items():
                    known = {number[test] for test in contexts if test in number}
                    own.setdefault(line, set()).update(known)
    found = {file: {k: sorted(v) for k, v in own.items()} for file, own in sorted(lines.items())}
    times = [[test, round(seconds[test], 2)] for test in tests]
    texts = {file: fingerprint((PACKAGE / file).read_text(encoding="utf-8")) for file in found}
    target.write_text(json.dumps({"tests": times, "lines": found, "texts": texts}))
    runs = sum(bool(tests) for own in found.values() for tests in own.values())
    print(f"{len(tests)} tests run {runs} lines of {len(found)} files: {target}")


class Lines:
    """What ``learn`` wrote."""

    def __init__(self, file: Path):
        known: dict[str, Any] = json.loads(file.read_text())
        self._tests = known["tests"]
        self._lines = known["lines"]
        self._texts = known["texts"]
        self._file = file

    def tests(self, file: str, line: int, source: str) -> dict[str, float]:
        """Test -> seconds, of those that run the statement at a line of a file's text."""
        if self._texts.get(file, fingerprint(source)) != fingerprint(source):
            raise SystemExit(f"{file} has changed since {self._file} was written: write it again")
        own = self._lines.get(file, {})
        numbers = {n for at in statement(source, line) for n in own.get(str(at), ())}
        return {self._tests[n][0]: self._tests[n][1] for n in sorted(numbers)}


def fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def statement(source: str, line: int) -> range:
    """The lines of the smallest statement at a line; of one with a body, those of its head."""
    best = range(line, line + 1)
    size = None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        end = _begin(body[0]) - 1 if body else node.end_lineno or node.lineno
        found = range(_begin(node), max(end, node.lineno) + 1)
        if line in found and (size is None or len(found) < size):
            best, size = found, len(found)
    return best


def _begin(node: ast.stmt) -> int:
    """The first line, of a decorator if there is one."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options, words = parser.parse_known_args()
    learn(options.file.resolve(), options.jobs, words)


if __name__ == "__main__":
    main()
