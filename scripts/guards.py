"""Take refusals out one by one: does a test notice?

    python scripts/guards.py src/bracketz/adapters/functions.py tests/adapters/test_functions.py

Every ``if`` whose body does nothing but raise ``InputError`` is made ``if False`` in turn, in a
copy of the package, and the tests run on the copy. Printed: each guard, and whether a test failed
without it. Exit code 1: one was not missed. Cost: one run of the tests per guard.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def guards(source: str) -> list[ast.If]:
    """The ifs that only refuse, in their order."""
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If)
        and isinstance(node.body[-1], ast.Raise)
        and "InputError" in ast.dump(node.body[-1])
    ]
    return sorted(found, key=lambda node: node.lineno)


def without(source: str, guard: ast.If) -> str:
    """The source with one guard that never holds."""
    condition = ast.get_source_segment(source, guard.test)
    assert condition is not None
    lines = source.splitlines(keepends=True)
    before = "".join(lines[: guard.test.lineno - 1])
    at = len(before) + len(lines[guard.test.lineno - 1].encode()[: guard.test.col_offset].decode())
    return f"{source[:at]}False and ({condition}){source[at + len(condition) :]}"


def main() -> int:
    file, tests = Path(sys.argv[1]), sys.argv[2:]
    source = (ROOT / file).read_text()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", f"{folder}/src")
        copy = Path(folder) / file
        environment = os.environ | {"PYTHONPATH": f"{folder}/src"}
        for guard in guards(source):
            copy.write_text(without(source, guard))
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True
            )
            noticed = done.returncode == 1
            missed += not noticed
            condition = ast.get_source_segment(source, guard.test) or ""
            print(
                f"{file.name}:{guard.lineno}: {'noticed' if noticed else 'NOT NOTICED'}: "
                f"{' '.join(condition.split())[:70]}",
                flush=True,
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
