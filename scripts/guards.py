"""Take refusals out one by one: does a test notice?

    python scripts/guards.py src/bracketz/adapters tests/adapters tests/cli/test_your_model.py

The first argument is a file or a folder of the package, the others are tests. Every ``if`` that
ends in ``raise InputError`` is a guard. In a copy of the package each gets a switch; the tests run
once, and a test that was refused by a guard runs again with that guard switched off, in the same
process: it must fail. Printed: each guard, and the first test that failed without it. Exit code 1:
a guard that no test misses. Cost: the tests, and as many again as refuse something.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: The switch of every guard, and the plugin of pytest that turns it.
PLUGIN = '''
import json, os
import pytest
from _pytest.runner import runtestprotocol

off, reached, missed = None, set(), {}

def holds(guard):
    """Called where a guard's condition is true."""
    reached.add(guard)
    return guard != off

def again(item):
    item._initrequest()
    return runtestprotocol(item, nextitem=item, log=False)

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    global off
    reached.clear()
    reports = again(item)
    failed = any(report.failed for report in reports)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    for guard in () if failed else sorted(reached - set(missed)):
        off = guard
        if any(report.failed for report in again(item)):
            missed[guard] = item.nodeid
        off = None
    item.session._setupstate.teardown_exact(nextitem)
    return True

def pytest_sessionfinish(session):
    with open(os.environ["GUARDS_FOUND"], "w") as file:
        json.dump({"missed": missed, "failed": session.testsfailed}, file)
'''


def guards(source: str) -> list[ast.If]:
    """The ifs that only refuse, in their order."""
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If)
        and isinstance(node.body[-1], ast.Raise)
        and "InputError" in ast.dump(node.body[-1])
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def switched(source: str, file: str) -> tuple[str, dict[str, str]]:
    """The source with a switch in every guard, and each guard's condition by its name."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    names = {}
    for guard in reversed(guards(source)):
        test = guard.test
        assert test.end_lineno is not None and test.end_col_offset is not None
        begin = starts[test.lineno - 1] + test.col_offset
        end = starts[test.end_lineno - 1] + test.end_col_offset
        name = f"{file}:{guard.lineno}"
        names[name] = " ".join(text[begin:end].decode().split())
        call = f' and __import__("guard_switch").holds({name!r})'
        # A walrus in the condition keeps its meaning within one more pair of parentheses.
        text = text[:begin] + b"((" + text[begin:end] + b")" + call.encode() + b")" + text[end:]
    return text.decode(), names


def main() -> int:
    target, tests = ROOT / sys.argv[1], sys.argv[2:]
    files = [target] if target.is_file() else sorted(target.rglob("*.py"))
    names: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", f"{folder}/src")
        for file in files:
            place = file.relative_to(ROOT)
            changed, found = switched(file.read_text(encoding="utf-8"), place.name)
            (Path(folder) / place).write_text(changed, encoding="utf-8")
            names |= dict(sorted(found.items(), key=lambda item: int(item[0].rpartition(":")[2])))
        Path(folder, "guard_switch.py").write_text(PLUGIN, encoding="utf-8")
        result = Path(folder, "found.json")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([f"{folder}/src", folder]),
            "GUARDS_FOUND": str(result),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "guard_switch", *tests]
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr)
        if not result.exists():
            print("the tests did not run", file=sys.stderr)
            return 2
        found = json.loads(result.read_text())
    missed = found["missed"]
    for name, condition in names.items():
        by = missed.get(name)
        print(f"{name}: {f'missed by {by}' if by else 'NOT MISSED'}: {condition[:70]}")
    print(f"{len(missed)} of {len(names)} guards are missed when they are taken out")
    if found["failed"]:
        print(f"{found['failed']} tests failed with every guard in place")
    return int(len(missed) < len(names) or found["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
