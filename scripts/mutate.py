"""Wrong edits made at random, each judged by tests and by the correctness kit.

    python scripts/mutate.py [--seed 0] [--count 300] [--jobs 2] [--json FILE] [--resume FILE]
                             [--list] [--only PATTERN] [--judges 4] [--cache FOLDER]
                             [--lines FILE]

A mutant is one edit (scripts/edits.py) of one file in a copy of the package; edits are drawn
uniformly from all there are, the same ones for a seed. Four judges look at it, cheap ones first,
and the first that fails ends it:

1. fast: it imports, and the fast tests that mention its file;
2. quick: ``bracketz check --level quick`` on models that use its file, then the selftest;
3. slow: the slow tests that mention its file;
4. standard: as 2 at level standard.

With ``--lines``, a file that scripts/covering.py wrote, it is known which tests run the line that
was edited: these take the place of 1 and 3, those of the nearest files first and then the short
ones, as many as fit into some minutes. (Where no test is known to run it: the nearest.)

A judge that runs out of time counts as one that failed ("hang"). A test or check counts once it
has passed on the real code; one that does not is left out. Printed: what caught how many, and the
survivors as diffs, each of which either changes nothing or is a gap in the tests. Cost: seconds to
a minute for a mutant that is caught, a quarter of an hour for a survivor; hours for 300 on 2 cores.
"""

import argparse
import ast
import collections
import dataclasses
import difflib
import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from covering import Lines
from edits import candidates, compiles

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bracketz"
TESTS = ROOT / "tests"
FOLDERS = (
    "core",
    "kernels",
    "engine",
    "models",
    "estimators",
    "inference",
    "numerics",
    "paths",
)
#: They read the source as text, where every edit shows.
OF_THE_TEXT = {"test_mutants.py", "test_layers.py", "test_package.py", "test_mutate.py"}
#: Files of tests for one file; beyond them are those that only happen to use it.
MOST = 8
NEVER = 1000
MODELS = ("clustering", "low-rank", "binary-attributes")
#: Seconds for a whole judge, and for one test.
LIMITS = {"fast": 900, "covering": 1500, "quick": 300, "slow": 3000, "standard": 1500}
ONE_TEST = {"fast": 120, "covering": 400, "slow": 400}
MARKS = {
    "fast": "not slow and not as_shipped",
    "covering": "not as_shipped",
    "slow": "slow and not as_shipped",
}
JUDGES = ("fast", "quick", "slow", "standard")
#: Where it is known which tests run a line; and the seconds of tests asked for one.
OF_LINES, SECONDS = ("covering", "quick", "standard"), 240.0

#: Tells which test runs, and that it runs on the copy.
PLUGIN = """
import os
from pathlib import Path
import bracketz
HERE = Path(__file__).resolve().parent
if not Path(bracketz.__file__).resolve().is_relative_to(HERE):
    os._exit(99)
def pytest_runtest_logstart(nodeid, location):
    (HERE / "now").write_text(nodeid)
"""
KIT = """
import json, os, sys
from pathlib import Path
import bracketz
if not Path(bracketz.__file__).resolve().is_relative_to(Path.cwd().resolve()):
    os._exit(99)
from bracketz import check
from bracketz.models.registry import SHIPPED
name, options = sys.argv[1], json.loads(sys.argv[2])
own = name == "selftest"
report = check.selftest.run(**options) if own else check.run(SHIPPED.find(name)(), **options)
print("FAILED" + json.dumps([result.name for result in report.failures]))
"""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One edit of one file, as text."""

    file: str  # relative to the package
    line: int
    kind: str
    text: str  # of the whole file
    diff: str

    @property
    def name(self) -> str:
        digest = hashlib.sha256(self.diff.encode()).hexdigest()[:6]
        return f"{self.file}:{self.line} {self.kind} {digest}"


def files() -> list[str]:
    found = (path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py"))
    return sorted(path.relative_to(PACKAGE).as_posix() for path in found)


def sample(seed: int, count: int, only: str | None = None) -> list[Mutant]:
    """The mutants of a seed; those of a smaller count come first in those of a larger one."""
    sources = {file: (PACKAGE / file).read_text(encoding="utf-8") for file in files()}
    every = [(file, edit) for file, source in sources.items() for edit in candidates(source)]
    random.Random(seed).shuffle(every)
    chosen: list[Mutant] = []
    for file, edit in every:
        if len(chosen) == count:
            break
        text = edit.applied(sources[file])
        line = edit.line(sources[file])
        if only and not re.search(only, f"{file}:{line} {edit.kind}"):
            continue
        if compiles(text):
            diff = difference(file, sources[file], text)
            chosen.append(Mutant(file, line, edit.kind, text, diff))
    return chosen


def difference(file: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), file, file, n=2, lineterm=""
    )
    return "\n".join(lines)


# -- which tests and models a file concerns


def _mentioned(path: Path) -> set[str]:
    """The files of the package that a file of Python names, by module or by public name."""
    by_module, by_name = _homes()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()

    def module(dotted: str) -> None:
        while dotted.startswith("bracketz."):
            if dotted in by_module:
                found.add(by_module[dotted])
                return
            dotted = dotted.rpartition(".")[0]

    def name(word: str, package: str = "bracketz") -> None:
        inside = package.replace(".", "/").removeprefix("bracketz").lstrip("/")
        found.update(file for file in by_name.get(word, ()) if file.startswith(inside))

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bracketz"):
            for alias in node.names:
                module(f"{node.module}.{alias.name}")
                name(alias.name, node.module or "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                module(alias.name)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in (
            "bz",
            "bracketz",
        ):
            name(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for dotted in re.findall(r"bracketz(?:\.\w+)+", node.value):
                module(dotted)
    return found


@functools.cache
def _homes() -> tuple[dict[str, str], dict[str, list[str]]]:
    """(file of each module, files that define each public name)."""
    by_module: dict[str, str] = {}
    by_name: dict[str, list[str]] = collections.defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        if path.name != "__init__.py":
            by_module["bracketz." + file.removesuffix(".py").replace("/", ".")] = file
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            defined = [getattr(node, "name", "")]
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                defined = [getattr(target, "id", "") for target in targets]
            for word in defined:
                if word and word[0] != "_":
                    by_name[word].append(file)
    return by_module, by_name


@functools.cache
def _arrows() -> dict[str, set[str]]:
    """File -> files it imports."""
    every = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return {file: _mentioned(PACKAGE / file) - {file} for file in every}


def _distances(start: Iterable[str]) -> dict[str, int]:
    """How many imports away each file is."""
    found = {file: 0 for file in start}
    queue = collections.deque(found)
    while queue:
        file = queue.popleft()
        for other in _arrows().get(file, ()):
            if other not in found:
                found[other] = found[file] + 1
                queue.append(other)
    return found


@functools.cache
def _reach() -> dict[str, dict[str, int]]:
    """Test file -> how far each file of the package is from it."""
    paths = (path for path in sorted(TESTS.rglob("test_*.py")) if path.name not in OF_THE_TEXT)
    return {path.relative_to(ROOT).as_posix(): _distances(_mentioned(path)) for path in paths}


@functools.cache
def tests_of(file: str) -> tuple[str, ...]:
    """Tests that name the file or something in it, and those of its package that come near it; the
    nearest first, ``MOST`` at most.

    Where none names it, those that are the fewest imports away.
    """
    far = {test: distances.get(file, NEVER) for test, distances in _reach().items()}
    home = f"tests/{file.split('/')[0]}/"
    named = f"test_{Path(file).stem}"
    nearest = min(far.values())

    def rank(test: str):
        size = (ROOT / test).stat().st_size
        return Path(test).stem != named, far[test], not test.startswith(home), size, test

    chosen = [
        test
        for test in far
        if far[test] == nearest < NEVER or (test.startswith(home) and far[test] <= nearest + 1)
    ]
    return tuple(sorted(chosen, key=rank)[:MOST])


def covering(mutant: Mutant, lines: Lines) -> tuple[str, ...]:
    """Tests that run the line that was edited, those of the nearest files first and then the short
    ones, while there are seconds for them; the nearest files where there are none."""
    source = (PACKAGE / mutant.file).read_text(encoding="utf-8")
    known = lines.tests(mutant.file, mutant.line, source)
    near = tests_of(mutant.file)
    place = {file: rank for rank, file in enumerate(near)}

    def rank(test: str):
        return place.get(test.partition("::")[0], MOST), known[test]

    chosen, left = [], SECONDS
    for test in sorted(known, key=rank):
        if Path(test.partition("::")[0]).name not in OF_THE_TEXT and known[test] <= left:
            left -= known[test]
            chosen.append(test)
    return tuple(chosen) or near


@functools.cache
def models_of(file: str) -> tuple[str, ...]:
    """Shipped models that use the file, and ``selftest``; where none does, one that the kit runs
    with it."""
    parts = file.split("/")
    if parts[0] == "models" and len(parts) == 3 and (own := parts[1].replace("_", "-")) in MODELS:
        inferred = (f"inferred-{own}",)
        return (*(() if parts[2] == "inferred.py" else (own,)), *inferred)
    reached = {
        prefix + model: _distances([f"models/{model.replace('-', '_')}/{module}"])
        for prefix, module in (("", "model.py"), ("inferred-", "inferred.py"))
        for model in MODELS
    }
    using = [name for name, distances in reached.items() if file in distances]
    plain = [name for name in using if name in MODELS]
    return (*(plain or using), "selftest") if using else ("selftest", MODELS[0])


# -- judges


class Hunt:
    """Judges mutants; what is learnt of the real code on the way is kept for the next ones."""

    def __init__(self, cache: Path, judges: int = len(JUDGES), lines: Lines | None = None):
        self.cache = cache
        self.lines = lines
        self.judges = (OF_LINES if lines else JUDGES)[:judges]
        self.lock = threading.Lock()
        self.sound: dict[tuple, bool] = {}
        self.real = Path(tempfile.mkdtemp(prefix="bracketz-real-"))
        self.copy(self.real)

    def close(self) -> None:
        shutil.rmtree(self.real)

    def copy(self, folder: Path) -> None:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, folder / "bracketz", ignore=ignored)
        (folder / "told.py").write_text(PLUGIN)

    def run(self, words: list[str], folder: Path, where: Path, limit: float):
        """(exit code or "hang", stdout) of a process that sees the copy in a folder."""
        environment = os.environ | {
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(self.cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
        }
        if "pytest" not in words:
            environment |= {"JAX_ENABLE_X64": "1", "XLA_FLAGS": quickly()}
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=where,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "hang", ""
        if process.returncode == 99:
            raise SystemExit("the copy of the package is not the one that is imported")
        return process.returncode, said

    def is_sound(self, judge: str, *what) -> bool:
        """Whether the real code passes what a mutant failed; asked once."""
        key = (judge, *what)
        with self.lock:
            if key not in self.sound:
                ask = self.tests if judge in MARKS else self.kit
                self.sound[key] = ask(judge, self.real, *what) is None
                if not self.sound[key]:
                    print(f"left out, fails on the real code: {key}", flush=True)
            return self.sound[key]

    def tests(self, judge: str, folder: Path, chosen: tuple[str, ...], *more: str):
        """What failed first, {by, how}; None: nothing."""
        now = folder / "now"
        now.unlink(missing_ok=True)
        code, said = self.run(
            [
                "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
                "-p", "told", "-m", MARKS[judge], "-o", f"faulthandler_timeout={ONE_TEST[judge]}",
                "-o", "faulthandler_exit_on_timeout=true",
                *more, *chosen,
            ],
            folder, ROOT, LIMITS[judge],
        )  # fmt: skip
        if code in (0, 5):
            return None
        test = now.read_text() if now.exists() else ""
        stuck = code == "hang" or (code == 1 and " failed" not in said and " error" not in said)
        how = "hang" if stuck else "crash" if code < 0 else "test" if test else "import"
        return {"by": test, "how": how}

    def kit(self, level: str, folder: Path, model: str, only: str | None = None):
        """Which check failed first; None: none did."""
        options = json.dumps({"level": level} | ({"only": only} if only else {}))
        code, said = self.run(["-c", KIT, model, options], folder, folder, LIMITS[level])
        told = [line for line in said.splitlines() if line.startswith("FAILED")]
        if not told:
            return {"by": "", "how": "hang" if code == "hang" else "crash"}
        failed = json.loads(told[0].removeprefix("FAILED"))
        return {"by": failed[0], "how": "check"} if failed else None

    def verdict(self, judge: str, folder: Path, mutant: Mutant) -> dict | None:
        """What one judge says: what it failed first, among things the real code passes."""
        file = mutant.file
        if judge in MARKS:
            chosen, without = tests_of(file), []
            if self.lines and judge == "covering":
                chosen = covering(mutant, self.lines)
            while failed := self.tests(judge, folder, chosen, *without):
                test = failed["by"]
                if not test and not self.is_sound(judge, chosen, "--collect-only"):
                    raise SystemExit(f"the tests of {file} cannot be collected")
                if not test or self.is_sound(judge, (test,)):
                    return failed
                if f"--deselect={test}" in without:
                    return failed
                without.append(f"--deselect={test}")
            return None
        for model in models_of(file):
            failed = self.kit(judge, folder, model)
            if failed and self.is_sound(judge, model, failed["by"] or None):
                return failed | {"by": f"{model} {failed['by']}".strip()}
        return None

    def judge(self, mutant: Mutant) -> dict:
        """A line of the record."""
        begun = time.monotonic()
        found, who = None, None
        with tempfile.TemporaryDirectory(prefix="bracketz-mutant-") as name:
            folder = Path(name)
            self.copy(folder)
            (folder / "bracketz" / mutant.file).write_text(mutant.text, encoding="utf-8")
            for who in self.judges:
                found = self.verdict(who, folder, mutant)
                if found:
                    break
        return {
            "name": mutant.name,
            "kind": mutant.kind,
            "judge": who if found else None,
            "asked": list(self.judges),
            "how": found["how"] if found else None,
            "by": found["by"] if found else None,
            "seconds": round(time.monotonic() - begun, 1),
            "diff": mutant.diff,
        }


@functools.cache
def quickly() -> str:
    """The compiler's settings of the tests."""
    tree = ast.parse((TESTS / "conftest.py").read_text(encoding="utf-8"))
    (value,) = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "QUICKLY"
    )
    return ast.literal_eval(value)


def report(records: list[dict]) -> str:
    """Kill rate, by judge and by kind of edit, and the survivors."""
    caught = [record for record in records if record["judge"]]
    lines = []
    for record in records:
        if not record["judge"]:
            lines += [f"SURVIVES {record['name']}", record["diff"], ""]
    share = f"{len(caught) / len(records):.0%}" if records else "none"
    lines.append(f"{len(caught)} of {len(records)} caught ({share})")
    for judge in dict.fromkeys((*OF_LINES, *JUDGES)):
        hows = collections.Counter(r["how"] for r in caught if r["judge"] == judge)
        if hows:
            detail = ", ".join(f"{how} {n}" for how, n in hows.most_common())
            lines.append(f"  {judge:10s} {hows.total():4d}  ({detail})")
    for kind, n in collections.Counter(r["kind"] for r in records).most_common():
        lines.append(f"  {kind:10s} {sum(r['kind'] == kind for r in caught):4d} of {n}")
    return "\n".join(lines)


def settled(records: Iterable[dict], names: set[str], judges: Iterable[str]) -> list[dict]:
    """Those that need not run again: caught, or seen by all judges that are asked now. The last
    of a name counts."""
    last = {record["name"]: record for record in records if record["name"] in names}
    return [r for r in last.values() if r["judge"] or set(judges) <= set(r.get("asked", ()))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="one line per mutant, written as it goes")
    parser.add_argument("--resume", type=Path, help="such a file; its mutants are not run again")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--only", help="regular expression on FILE:LINE KIND")
    parser.add_argument("--judges", type=int, default=len(JUDGES), help="the first so many")
    parser.add_argument("--lines", type=Path, help="what scripts/covering.py wrote")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "bracketz-mutants-cache",
        help="compiled programs, which all mutants share",
    )
    options = parser.parse_args()
    mutants = sample(options.seed, options.count, options.only)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}\n{mutant.diff}\n")
        return
    known = Lines(options.lines) if options.lines else None
    names = {mutant.name for mutant in mutants}
    records: list[dict] = []
    if options.resume and options.resume.exists():
        lines = options.resume.read_text(encoding="utf-8").splitlines()
        asked = (OF_LINES if known else JUDGES)[: options.judges]
        records = settled(map(json.loads, lines), names, asked)
    done = {record["name"] for record in records}
    target = options.json or options.resume
    if options.json and options.json != options.resume:
        options.json.write_text("".join(json.dumps(record) + "\n" for record in records))
    hunt = Hunt(options.cache, options.judges, known)
    writing = threading.Lock()

    def one(mutant: Mutant) -> None:
        record = hunt.judge(mutant)
        with writing:
            records.append(record)
            what = f"{record['judge']}: {record['how']} {record['by']}"
            print(
                f"{len(records):4d} {mutant.name:55s} {record['seconds']:6.1f} s  "
                f"{what if record['judge'] else 'SURVIVES'}",
                flush=True,
            )
            if target:
                with target.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")

    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, [mutant for mutant in mutants if mutant.name not in done]))
    finally:
        hunt.close()
        print(report(records))


if __name__ == "__main__":
    main()
