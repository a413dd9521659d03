"""What takes part: every file in ``problems/`` and ``tools/``, and files that a user adds.

A file with ``PROBLEMS`` is a problem's, one with ``TOOL`` a tool's. Nothing is registered by hand.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from bracketz._version import __version__
from bracketz.errors import InputError, unknown
from bracketz.testbed.league.worker import load

HOME = Path(__file__).parent
LOCKS = HOME / "tools" / "locks"
#: What a problem's file must define, and a tool's.
OF_A_PROBLEM = (
    "PROBLEMS",
    "constants",
    "dimension",
    "prior_transform",
    "log_prior",
    "log_likelihood",
    "simulate",
)
OF_A_TOOL = ("TOOL", "PACKAGES", "SETTINGS", "run")


@dataclass(frozen=True)
class ProblemEntry:
    """One problem: a name in the ``PROBLEMS`` of a file.

    Attributes:
        name: unique.
        file: its module.
        module: the same, loaded.
        hard: what is hard about it.
        settings: what ``constants`` is called with.
        suite: "league"; "silent", about failures that nobody notices; "documented", examples of
            the tools' own pages.
        exact: how the evidence is known without sampling ("closed form", "quadrature"), or None.
        tools: those it is for; None: all.
    """

    name: str
    file: Path
    module: ModuleType = field(repr=False, compare=False)
    hard: str
    settings: dict[str, Any]
    suite: str
    exact: str | None
    tools: tuple[str, ...] | None = None

    @property
    def shipped(self) -> bool:
        """Whether it comes with bracketz."""
        return self.file.parent == HOME / "problems"

    @property
    def fingerprint(self) -> str:
        """Of its file: of another likelihood on the same data a row is another row."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()[:16]

    @property
    def truths(self) -> Path:
        """Where its truths are kept: with bracketz's own, or beside the file that was added."""
        return (HOME if self.shipped else self.file.parent) / "truths"


@dataclass(frozen=True)
class ToolEntry:
    """One tool: a file.

    Attributes:
        name: unique.
        file: its module.
        about: its first line.
        doc: all that its file says of it, where settings come from among them.
        packages: whose versions a row keeps.
        settings: ladders by name, from what the tool does by default to what its authors advise
            for more accuracy.
        lock: the lock file of its environment; None: it runs in ours.
        family: what kind of tool it is: its colour.
        claims: what kind of answer it is, in a few words.
        special: settings by problem of the other suites: what brings a silent failure about, what
            an example of the documentation has.
        missing: says what it needs beyond its lock file and what is not on this machine, with the
            command that brings it; None where everything is there.
    """

    name: str
    file: Path
    about: str
    doc: str
    packages: tuple[str, ...]
    settings: dict[str, dict[str, Any]]
    lock: Path | None
    family: str
    claims: str
    special: dict[str, dict[str, Any]]
    missing: Callable[[], str | None] = field(repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """Of its file and its lock, or of bracketz's version where it runs in ours: a row counts
        for what made it."""
        text = self.file.read_bytes()
        text += self.lock.read_bytes() if self.lock else __version__.encode()
        return hashlib.sha256(text).hexdigest()[:16]


@dataclass(frozen=True)
class Catalogue:
    """Problems and tools by name."""

    problems: dict[str, ProblemEntry]
    tools: dict[str, ToolEntry]

    def problem(self, name: str) -> ProblemEntry:
        if name not in self.problems:
            raise unknown("problem", name, self.problems)
        return self.problems[name]

    def tool(self, name: str) -> ToolEntry:
        if name not in self.tools:
            raise unknown("tool", name, self.tools)
        return self.tools[name]


def catalogue(added: Iterable[Path] = ()) -> Catalogue:
    """Everything that comes with bracketz, and the files ``added``."""
    found = Catalogue({}, {})
    shipped = [*sorted((HOME / "problems").glob("*.py")), *sorted((HOME / "tools").glob("*.py"))]
    for path in [*(p for p in shipped if p.name != "__init__.py"), *added]:
        _add(found, Path(path))
    return found


def _add(found: Catalogue, path: Path) -> None:
    if not path.is_file():
        raise InputError(f"there is no file {path}; name a problem's or a tool's .py file")
    try:
        module = load(str(path))
    except Exception as error:
        raise InputError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    if hasattr(module, "PROBLEMS"):
        _require(module, path, OF_A_PROBLEM)
        for name, told in module.PROBLEMS.items():
            _new(name, found.problems, path)
            found.problems[name] = ProblemEntry(
                name=name,
                file=path.resolve(),
                module=module,
                hard=told["hard"],
                settings=told.get("settings", {}),
                suite=told.get("suite", "league"),
                exact=getattr(module, "EXACT", None),
                tools=tuple(told["tools"]) if "tools" in told else None,
            )
    elif hasattr(module, "TOOL"):
        _require(module, path, OF_A_TOOL)
        _new(module.TOOL, found.tools, path)
        lock = getattr(module, "LOCK", None)
        found.tools[module.TOOL] = ToolEntry(
            name=module.TOOL,
            file=path.resolve(),
            about=(module.__doc__ or module.TOOL).strip().splitlines()[0],
            doc=(module.__doc__ or module.TOOL).strip(),
            packages=tuple(module.PACKAGES),
            settings=dict(module.SETTINGS),
            lock=None if lock is None else _lock(path, lock),
            family=getattr(module, "FAMILY", "others"),
            claims=getattr(module, "CLAIMS", "a value and an error bar"),
            special=dict(getattr(module, "SPECIAL", {})),
            missing=getattr(module, "missing", lambda: None),
        )
    else:
        raise InputError(
            f"{path} is neither a problem (it has no PROBLEMS) nor a tool (it has no TOOL); see"
            " docs/league.md"
        )


def _lock(path: Path, name: str) -> Path:
    """Beside the tool's file, or among those that come with bracketz."""
    beside = path.parent / name
    return beside if beside.is_file() else LOCKS / name


def _require(module: ModuleType, path: Path, names: tuple[str, ...]) -> None:
    if missing := [name for name in names if not hasattr(module, name)]:
        raise InputError(f"{path} does not define {missing[0]}; see docs/league.md")


def _new(name: str, known: Any, path: Path) -> None:
    if name in known:
        raise InputError(f"{path} defines '{name}', which is taken; choose another name")
