"""Thousands of command lines nobody would write, and what bracketz makes of them.

    python scripts/fuzz.py                     # 2,000 of them; exit code 1 if there are findings
    python scripts/fuzz.py --seed 7 --count 500 --seconds 300 --only sandwich --json found.json

Commands and options are read from the app, so that new ones are fuzzed by themselves. A valid
command line is made hostile in one to three places: values, files (scripts/fuzz_files.py), models
of the user's, words that do not belong there; and some run in a hostile environment, each in a
process of its own. All others run in one process, which is replaced where it dies or hangs.

Judged: no traceback, an exit code that says what happened (2: refused in one line; 1: arithmetic
broke, or no result within the limits; 0), no hang, no NaN where there is success, JSON that parses,
users' files as they were, and nothing left behind by what was refused.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import io
import json
import os
import random
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz_files
from fuzz_files import BAD, GOOD

ROOT = Path(__file__).parents[1]
#: Seconds one command line may take; the second limit is for what does not even notice the first.
LIMIT, HARD_LIMIT = 60, 120
#: Of all command lines, those in a hostile environment.
OUTSIDE = 0.03
#: Edits the start files of the user's shell, which is what it is for.
LEFT_OUT = ("--install-completion",)
#: Findings shrunk, seconds for each, and for all.
SHRINK_EACH, SHRINK_ALL = 4, 90

Known = str | None  # GOOD, BAD, or nobody knows
Pool = list[tuple[str, Known]]


# What the app has.


@dataclasses.dataclass(frozen=True)
class Option:
    """An option or an argument of a command."""

    name: str
    words: tuple[str, ...]
    kind: str  # int, float, str, Path, bool or list
    argument: bool
    required: bool

    @property
    def flag(self) -> bool:
        return self.kind == "bool"


def commands() -> dict[str, list[Option]]:
    """Every command with its options, as the app has them; ``""`` is the app itself."""
    from typer.main import get_command

    from bracketz.cli.app import app

    found: dict[str, list[Option]] = {}

    def look(command: Any, path: tuple[str, ...]) -> None:
        found[" ".join(path)] = [_option(param) for param in command.params]
        for name, below in getattr(command, "commands", {}).items():
            look(below, (*path, name))

    look(get_command(app), ())
    return found


def _option(param: Any) -> Option:
    descriptor = getattr(param, "type_descriptor", None)
    kind = getattr(descriptor, "annotation", None)
    name = getattr(kind, "__name__", None) or str(kind)
    if descriptor is None:  # older versions of typer, made of click
        named = {"integer": "int", "integer range": "int", "text": "str", "path": "Path"}
        name = param.type.name
        name = "bool" if getattr(param, "is_flag", False) else named.get(name, name)
    if getattr(param, "is_flag", False):
        name = "bool"
    words = (*param.opts, *param.secondary_opts)
    return Option(param.name, words, name, not words[0].startswith("-"), bool(param.required))


# Values.

LONG = "x" * 5000
WORDS: Pool = [
    (word, None)
    for word in (
        *("", " ", "zzz", "-1", "0", "nan", "[bold]x[/bold]", "[/b]", "{}", "%s", "`seed`", "a=b"),
        *("\x1b[31mred\x1b[0m", "two\nlines", "größe☃", "\udcff", LONG, "a,b,,", ",", "../x", "."),
    )
]
NO_NUMBERS: Pool = [
    (word, BAD) for word in ("", " ", "ten", "1,5", "0x", "1e", "[/b]", "\udcff", "a\nb", LONG)
]
HUGE = str(10**20)
WHOLE: Pool = [
    *((word, BAD) for word in ("1.5", "nan", "inf", "1e308")),
    *((word, None) for word in ("0", "-1", "1", "2", "3", HUGE, "-" + HUGE)),
    *NO_NUMBERS,
]
REAL: Pool = [
    *(
        (word, None)
        for word in ("0", "-1", "1e308", "-1e308", "1e-308", HUGE, "nan", "inf", "-inf")
    ),
    *NO_NUMBERS,
]
#: By the name of an option, values that are wrong for certain.
NEVER = {
    **dict.fromkeys(("rows", "columns", "components", "chains", "trials", "starts"), ("0", "-1")),
    **dict.fromkeys(("sweeps", "particles", "first", "max_effort", "looks"), ("0", "-1")),
    "workers": ("0", "-1", HUGE),
    "twins": ("-1",),
    "gap": ("-1", "nan"),
    "confidence": ("0", "-1", "1", "2", "nan", "inf", "1e308"),
    "max_seconds": ("-1", "nan"),
    "seed": ("-1", HUGE),
}
#: Commands whose seed does nothing.
SEEDLESS = ("models", "estimators", "experiment status", "experiment report", "experiment export")


def _files(*tables: list) -> Pool:
    return [(name, known) for table in tables for name, _, known in table]


NO_FILES: Pool = [
    (word, BAD)
    for word in ("no-such-file", "", ".", "/", LONG, "\udcff", "full", "a\nb", "/dev/null")
]
DATA: Pool = [
    ("sim.npz", GOOD),
    *fuzz_files.SPOILT[:2],
    *_files(fuzz_files.TABLES, fuzz_files.ARRAYS),
    *((f"{word}.csv", BAD) for word in ("no-such-file", "\udcff", "x" * 300, "[/b]", "a\nb")),
    *((f"{word}.npz", BAD) for word in ("no-such-file", "\x1b[31m")),
    ("results.db", BAD),
    ("spec.toml", BAD),
    ("saved.npz", BAD),
    *NO_FILES,
]
MODELS: Pool = [
    *((name, None) for name in ("clustering", "low-rank", "binary-attributes")),
    *((name, None) for name in ("inferred-clustering", "inferred-low-rank")),
    *((f"{name}:m", known) for name, _, known in fuzz_files.PYTHON if known == BAD),
    *((f"models.py:{name}", BAD) for name in ("zzz", "", "broken", "nothing", "number", "leaves")),
    *((f"models.py:{name}", BAD) for name in ("deeper", "Foreign", "NUMBER", "MODELS.one", "a.b")),
    *((f"models.py:{name}", None) for name in ("regression", "infinite")),
    ("prints.py:regression", None),
    *((name, BAD) for name, _, _ in fuzz_files.STAN),
    *((name, BAD) for name in ("", "zzz", ":", ".py", ".py:", ".stan", "models.py", "a:b:c")),
    *((name, BAD) for name in ("os:getcwd", "builtins:int", "json:", "full:x", "/dev/null.py:x")),
    *((name, BAD) for name in ("models:zzz", "antigravity_:x", "..:x", "[/b]:x", "\udcff.py:x")),
    *((name, BAD) for name in (f"{LONG}.py:x", f"{LONG}:x", f"{LONG}.stan", LONG, "a\nb.py:c")),
]
PICTURES: Pool = [
    *((name, None) for name in ("new.png", "new.svg", "new.pdf", "ünï.png", "[b].png", "a\nb.png")),
    *((name, BAD) for name in ("precious.png", "new.zzz", "new", "", ".", "full", "no/such/x.png")),
    *((name, BAD) for name in ("precious.txt/x.png", "x" * 300 + ".png")),
]
FOLDERS: Pool = [
    *(
        (name, None)
        for name in ("new", "new/deep/er", ".", "full", "ünï ☃", "[b]x[/b]", "a\nb", "")
    ),
    *((name, BAD) for name in ("precious.txt", "precious.txt/x", LONG, "/dev/null", "/proc/x")),
]
STORES: Pool = [
    ("results.db", None),
    *fuzz_files.SPOILT[2:4],
    *((name, BAD) for name in ("junk.db", "text.db", "precious.txt", "full", ".", "", LONG)),
    *((name, BAD) for name in ("no/such/x.db", "sim.npz", "precious.txt/x.db", "\udcff/x.db")),
    ("empty.db", None),
    ("a\nb.db", None),
    ("[b].db", None),
]
CHECKPOINTS: Pool = [
    ("new.npz", None),
    ("saved.npz", None),
    *fuzz_files.SPOILT[4:],
    *(
        (name, None)
        for name in ("precious.txt", "precious.npz", "sim.npz", "tiny.csv", "new", "[b]")
    ),
    *(
        (name, BAD)
        for name in ("no/such/x.npz", "full", ".", "", "precious.txt/x", LONG, "/proc/x")
    ),
]
SETTINGS: Pool = [
    *(
        (f"{name}={value}", None)
        for name in ("components", "noise_variance", "center_variance")
        for value in ("2", "0", "-1", "nan", "inf", "1e308", "1e-308", "1e-320", HUGE, "1,2", "")
    ),
    *((f"mixture={value}", None) for value in ("0.5,0.5", "1,0", "2,-1", "nan,nan", "0,0", "zzz")),
    *(
        (f"{name}={value}", None)
        for name in ("noise_shape", "noise_scale", "left_variance")
        for value in ("0", "nan", "1e308", "1e-308", "-1")
    ),
    *((word, BAD) for word in ("", "=", "=3", "zzz", "zzz=3", "noise_variance=ten", "[/b]=1")),
    *((word, BAD) for word in (LONG, f"{LONG}=1", "a\nb=c", "noise_variance=", "__class__=3")),
]
COLUMNS: Pool = [
    *((word, None) for word in ("a", "b", "x", "y", "a,b", "b, c", "x,y", "a,a", " a ", "0", "1")),
    *WORDS,
]
NAMED: dict[str, Pool] = {
    "model": MODELS,
    "named": MODELS,
    "data": DATA,
    "stan_data": [*_files(fuzz_files.STAN_DATA), *NO_FILES],
    "spec": [*_files(fuzz_files.SPECS), ("tiny.csv", BAD), *NO_FILES],
    "store": STORES,
    "plot": PICTURES,
    "report": FOLDERS,
    "out": FOLDERS,
    "checkpoint": CHECKPOINTS,
    "settings": SETTINGS,
    **dict.fromkeys(("observe", "covariates", "drop"), COLUMNS),
    "decimal": [*((word, None) for word in (".", ",", ";", "..", "\t")), *WORDS],
    "missing": [("ignore", None), *WORDS],
    "models": [(word, None) for word in ("clustering", "low-rank,low-rank", "zzz,clustering", ",")]
    + WORDS,
    "sweep": [
        (f"noise_scale={ends}", None)
        for ends in ("1..2", "2..1", "0..1", "-1..1", "nan..1", "1..inf", "1..1e308", "1", "..", "")
    ]
    + [("zzz=1..2", None), ("=1..2", BAD), *WORDS],
    "path": [("prefix", None), ("tempered", None), *WORDS],
    "schedule": [(word, None) for word in ("linear", "sigmoid", "adapted")] + WORDS,
    "level": [("quick", None), *WORDS],
    "only": [(word, None) for word in ("conditionals.", ".ratios", "numbers.zzz")] + WORDS,
    "format": [(word, None) for word in ("csv", "parquet", "both", "xlsx")] + WORDS,
    "name": [("tiny", None), *WORDS],
    "scheduler": [
        (word, BAD) for word in ("zzz", "", "tcp://", "tcp://127.0.0.1:1", "tcp://x:y", "\udcff")
    ],
    "paper": [*((word, BAD) for word, _ in WORDS)],
    "preset": [*((word, BAD) for word, _ in WORDS)],
}
#: A simulation goes to a file, not to a folder.
SIMULATIONS: Pool = [
    *((name, None) for name in ("new.npz", "ünï.npz", "[b].npz", "a\nb.npz")),
    *((name, BAD) for name in ("sim.npz", "precious.npz", "new", "new.csv", "", ".", "full")),
    *((name, BAD) for name in ("no/such/x.npz", "precious.txt/x.npz", "x" * 300 + ".npz")),
]


def values(command: str, option: Option) -> Pool:
    """What an option is fuzzed with."""
    if (command, option.name) == ("simulate", "out"):
        return SIMULATIONS
    if command == "compare" and option.name == "components":
        return [(word, None) for word in ("2", "2,3", "2,2", "0", "-1", HUGE)] + [*NO_NUMBERS]
    if option.name == "estimator":
        return [(name, None) for name in knobs()] + [(word, BAD) for word, _ in WORDS]
    if option.name in NAMED:
        return NAMED[option.name]
    if option.flag:
        return [(word, None) for word in option.words if word not in LEFT_OUT]
    pool = {"int": WHOLE, "float": REAL}.get(option.kind, WORDS)
    if option.name == "seed" and command in SEEDLESS:
        return pool
    never = NEVER.get(option.name, ())
    return [(word, BAD if word in never else known) for word, known in pool]


def knobs() -> dict[str, dict[str, str]]:
    """Estimator -> knob -> its kind; the first is the one that trades accuracy for time."""
    from bracketz.estimators.registry import ESTIMATORS

    found = {}
    for name, cls in ESTIMATORS.items():
        fields = {f.name.replace("_", "-"): f for f in dataclasses.fields(cls)}
        first = cls().knob
        ordered = sorted(fields, key=lambda knob: knob != first)
        found[name] = {k: getattr(fields[k].type, "__name__", "str") for k in ordered}
    return found


# Command lines.

SMALL = "--rows 6 --columns 2 --components 2"
QUICK = "--chains 4 --first 8 --max-effort 8 --gap 50"
#: Valid command lines that take little time once compiled. What cannot be made small (``demo``,
#: ``reproduce``, a league) is only fuzzed with what must be refused.
BASES: dict[str, list[str]] = {
    "models": [""],
    "estimators": [""],
    "simulate": [
        f"{model} {SMALL} --out new.npz"
        for model in ("clustering", "low-rank", "binary-attributes", "inferred-clustering")
    ],
    "estimate": [
        "low-rank lw --data tiny.csv --components 2 --trials 2 --proposals 8",
        "models.py:regression ais --data xy.csv --trials 2 --distributions 4",
    ],
    "sandwich": [
        f"clustering {SMALL} {QUICK}",
        f"low-rank {SMALL} {QUICK}",
        f"clustering --data sim.npz {QUICK}",
        f"models.py:regression --data xy.csv {QUICK}",
    ],
    "evidence": [
        f"clustering --data sim.npz --twins 0 --starts 2 {QUICK}",
        f"clustering --data tiny.csv --components 2 --twins 0 --starts 2 {QUICK}",
    ],
    "compare": [f"clustering --data tiny.csv --components 2 --twins 0 --starts 2 {QUICK}"],
    "check": [
        f"clustering {SMALL} --level quick --only conditionals.ratios",
        f"low-rank {SMALL} --level quick --only caches",
    ],
    "selftest": ["--level quick --only numbers.averages"],
    "fractional": [f"clustering {SMALL} {QUICK} --training 2"],
    "information": [f"clustering {SMALL} --datasets 2 --chains 4 --gap 50"],
    "quality": [f"clustering {SMALL} --datasets 2 --chains 4 --distributions 4"],
    "tune": [f"clustering lw {SMALL} --budget 1 --datasets 1 --fresh 2 --repeats 2 --target 9"],
    "demo": ["--out precious.txt"],
    "experiment run": ["spec.toml --store new.db"],
    "experiment status": ["--store results.db"],
    "experiment report": ["--store results.db --out new"],
    "experiment export": ["--store results.db --out new"],
    "reproduce": ["grosse2015 --out precious.txt", "grosse2015 --preset zzz --out new"],
    "league tools": [""],
    "league problems": [""],
    "league install": ["zzz"],
    "league truth": ["--problems zzz --out new"],
    "league run": ["--tools zzz --out new", "--problems zzz --out new"],
}
#: What their bases are refused for must stay.
REFUSED = {
    "demo": ("out", "force"),
    "reproduce": ("out", "preset"),
    "league install": ("tool",),
    "league truth": ("problems",),
    "league run": ("tools", "problems"),
}
#: How often a command is fuzzed, where that is not by the number of its options.
WEIGHT = {"experiment report": 0.4, "compare": 0.6, "check": 0.6, "demo": 0.5, "reproduce": 0.5}


@dataclasses.dataclass
class Line:
    """A command line: what it was made of, so that it can be shrunk."""

    command: str
    arguments: list[str]
    options: list[list[str]]  # each a word alone, or a word and its value
    known: Known = None
    changed: list[str] = dataclasses.field(default_factory=list)  # names of options
    environment: str = ""  # the name of one of ENVIRONMENTS or SHELLS

    @property
    def words(self) -> list[str]:
        return [*self.command.split(), *self.arguments, *(w for o in self.options for w in o)]

    def __str__(self) -> str:
        words = [w if len(w) < 60 else f"{w[:10]}...({len(w)})" for w in self.words]
        before = f"({self.environment}) " if self.environment else ""
        return before + " ".join(["bracketz", *(shlex.quote(ascii(w)[1:-1]) for w in words)])


class Generator:
    """Command lines from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.app = commands()
        self.knobs = knobs()

    def base(self, command: str) -> Line:
        """A valid command line, or for some commands one that is refused."""
        texts = list(BASES.get(command, []))
        if command == "estimate":
            texts += [
                f"clustering {name} --data sim.npz --trials 2 --{next(iter(own))} 4"
                for name, own in self.knobs.items()
            ]
        if not texts:
            return self._unheard_of(command)
        words = shlex.split(self.random.choice(texts))
        arguments = []
        while words and not words[0].startswith("--"):
            arguments.append(words.pop(0))
        options = [words[k : k + 2] for k in range(0, len(words), 2)]
        return Line(command, arguments, options, BAD if command in REFUSED else GOOD)

    def _unheard_of(self, command: str) -> Line:
        """A command that has come since: whatever it requires."""
        line = Line(command, [], [])
        for option in self.app[command]:
            if option.required:
                word, _ = self.random.choice(values(command, option))
                self._put(line, option, word, None)
        return line

    def _put(self, line: Line, option: Option, value: str, known: Known) -> None:
        """An option with a value, instead of the one it has."""
        line.changed.append(option.name)
        line.known = BAD if BAD in (line.known if line.changed[1:] else None, known) else None
        if line.command in REFUSED:
            line.known = BAD
        if option.argument:
            place = [o.name for o in self.app[line.command] if o.argument].index(option.name)
            if value.startswith("-"):
                value = f"./{value}"  # not an option
                line.known = None
            line.arguments[place : place + 1] = [value]
            return
        line.options = [o for o in line.options if o[0] not in option.words]
        if option.flag:
            line.options.append([value])
            return
        word = self.random.choice(option.words)
        joined = self.random.random() < 0.2
        line.options.append([f"{word}={value}"] if joined else [word, value])

    def fuzzed(self, command: str, names: list[str], turn: int | None = None) -> Line:
        """A line with these options changed; in turn, or by chance."""
        line = self.base(command)
        for option in self.app[command]:
            if option.name in names and option.name not in REFUSED.get(command, ()):
                pool = values(command, option)
                if pool:
                    value = pool[turn % len(pool)] if turn is not None else self.random.choice(pool)
                    self._put(line, option, *value)
        return line

    def clumsy(self, command: str) -> Line:
        """Words that do not belong there."""
        line = self.base(command)
        line.changed.append("words")
        kind = self.random.randrange(6)
        if kind == 0:
            line.options.append([self.random.choice(["--zzz", "--zzz=3", "-z", "--", "---", "-"])])
            line.known = None
        elif kind == 1:
            line.arguments += ["extra", self.random.choice(WORDS)[0]]
            line.known = None
        elif kind == 2:
            valued = [o for o in self.app[command] if not o.flag and not o.argument]
            line.options.append([self.random.choice(valued).words[0]])
            line.known = BAD
        elif kind == 3 and line.options:
            line.options.remove(self.random.choice(line.options))
            line.known = BAD if command in REFUSED else None
            if command in REFUSED:
                line.arguments, line.options = [], [["--zzz"]]
        elif kind == 4 and line.arguments:
            line.arguments.pop()
            line.known = BAD if command in REFUSED else None
        else:
            line = Line(command, [], [["--help"]], GOOD, ["help"])
        return line

    def knob(self) -> Line:
        """``estimate`` with knobs that make no sense."""
        line = self.base("estimate")
        name = line.arguments[1]
        knob = self.random.choice(list(self.knobs[name]))
        line.options = [o for o in line.options if o[0] != f"--{knob}"]
        pool = {"int": WHOLE, "float": REAL}.get(self.knobs[name][knob], [*WORDS, ("exact", None)])
        value, known = self.random.choice(pool)
        line.options.append([f"--{knob}", value])
        line.known, line.changed = known, [knob]
        return line

    def at_random(self, command: str) -> Line:
        draw = self.random.random()
        if draw < 0.12:
            return self.clumsy(command)
        if command == "estimate" and draw < 0.35:
            return self.knob()
        names = [o.name for o in self.app[command]]
        return self.fuzzed(command, self.random.sample(names, min(len(names), 1 + int(3 * draw))))

    def outside(self) -> Iterator[Line]:
        """Lines for hostile environments, all of them in turn."""
        turn = 0
        while True:
            for name, allowed in ENVIRONMENTS.items():
                words = shlex.split(allowed[1][turn % len(allowed[1])])
                length = 2 if " ".join(words[:2]) in self.app else 1
                command = " ".join(words[:length])
                yield Line(command, words[length:], [], allowed[2], [name], name)
            turn += 1

    def lines(self, count: int, only: str | None = None) -> list[Line]:
        """As many as asked for: every option of every command in turn, then by chance."""
        chosen = [c for c in self.app if c and (only is None or c.startswith(only))]
        chosen = [c for c in chosen if not any(o.startswith(f"{c} ") for o in self.app)]
        outside = 0 if only else int(count * OUTSIDE)
        out: list[Line] = [self.base(c) for c in chosen for _ in range(3)]
        pairs = [(c, o.name) for c in chosen for o in self.app[c]]
        every = 0
        while pairs and len(out) < (count - outside) * 0.6:
            for command, name in pairs:
                out.append(self.fuzzed(command, [name], every))
            every += 1
        weights = [WEIGHT.get(c, 1.0) * (2 + len(self.app[c])) for c in chosen]
        while len(out) < count - outside:
            out.append(self.at_random(self.random.choices(chosen, weights)[0]))
        for line in out:
            has = {o.name for o in self.app[line.command]}
            if "json" in has and "json" not in line.changed and self.random.random() < 0.4:
                line.options = [*line.options, ["--json"]]
        del out[count - outside :]
        hostile = self.outside()
        out += [next(hostile) for _ in range(outside)]
        self.random.shuffle(out)
        return out


# Environments, each (variables or None to unset, command lines, what is known).

EASY = ["models", "estimators", "experiment status --store results.db"]
RUNS = [
    f"simulate clustering {SMALL} --out new.npz",
    f"sandwich clustering {SMALL} {QUICK}",
    "estimate clustering lw --data sim.npz --trials 2 --proposals 8 --json",
    "check clustering --rows 4 --columns 2 --components 2 --level quick --only conditionals.ratios",
    "selftest --level quick --only numbers.averages",
]
SAVES = [
    "estimate clustering lw --data sim.npz --trials 2 --proposals 8 --checkpoint new.npz",
    f"sandwich clustering {SMALL} {QUICK} --checkpoint new.npz",
]
WRITES = [
    f"simulate clustering {SMALL} --out new.npz",
    f"sandwich clustering {SMALL} {QUICK} --plot new.png",
    "experiment export --store results.db --out new",
    "experiment report --store results.db --out new",
    "experiment run spec.toml --store new.db",
    SAVES[0],
]
STRANGE = [
    "sandwich größe☃",
    "evidence clustering --data unicode.csv --components 2",
    "models zzz☃",
]
Surroundings = tuple[dict[str, str | None], list[str], Known]
ASCII: dict[str, str | None] = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENVIRONMENTS: dict[str, Surroundings] = {
    "ascii locale": (ASCII, [*EASY, *RUNS, *STRANGE], None),
    "ascii locale, a report": (ASCII, [WRITES[3], WRITES[4], STRANGE[0]], None),
    "checkpoint every abc": ({"BRACKETZ_CHECKPOINT_SECONDS": "abc"}, SAVES, BAD),
    "checkpoint every nan": ({"BRACKETZ_CHECKPOINT_SECONDS": "nan"}, SAVES, None),
    "unknown platform": ({"JAX_PLATFORMS": "zzz"}, RUNS, None),
    "empty cache variable": ({"XDG_CACHE_HOME": "", "JAX_COMPILATION_CACHE_DIR": None}, RUNS, None),
    "cache is a file": (
        {"XDG_CACHE_HOME": "precious.txt", "JAX_COMPILATION_CACHE_DIR": None},
        RUNS,
        None,
    ),
    "no home": ({"HOME": None, "JAX_COMPILATION_CACHE_DIR": None}, [*RUNS, *EASY], None),
    "dumb terminal": ({"TERM": "dumb"}, [*EASY, *RUNS], GOOD),
    "one column": ({"COLUMNS": "1"}, [*EASY, *RUNS, "sandwich --help"], GOOD),
    "columns abc": ({"COLUMNS": "abc"}, [*EASY, *RUNS], GOOD),
    "columns 0": ({"COLUMNS": "0"}, ["sandwich --help", *EASY, *RUNS], GOOD),
    "single precision": ({"JAX_ENABLE_X64": "0"}, RUNS, None),
    "precision zzz": ({"JAX_ENABLE_X64": "zzz"}, RUNS, None),
    "without docstrings": ({"PYTHONOPTIMIZE": "2"}, [*EASY, *RUNS], GOOD),
    "output is closed": ({}, [*EASY, *RUNS], None),
    "no output": ({}, [*EASY, *RUNS], None),
    "no error output": ({}, [*RUNS, *STRANGE], None),
    "disk is full": ({}, WRITES, None),
    "output to a full disk": ({}, [*EASY, RUNS[2]], None),
    "read-only folder": ({}, WRITES, BAD),
    "unsearchable folder": ({}, ["estimate clustering lw --data locked/sim.npz"], BAD),
    "endless model, interrupted": ({}, ["sandwich endless.py:m"], None),
}
#: Around the command in a shell.
SHELLS = {
    "output is closed": "{} | true; exit ${{PIPESTATUS[0]}}",
    "no output": "{} >&-",
    "no error output": "{} 2>&-",
    "disk is full": "ulimit -f 1; {}",
    "output to a full disk": "{} > /dev/full",
    "read-only folder": "setpriv --reuid 65534 --clear-groups {}",
    "unsearchable folder": "setpriv --reuid 65534 --clear-groups {}",
}
#: Where the shell gets the output, nobody else does.
UNSEEN = ("output is closed", "no output", "no error output", "output to a full disk")
BOUND = ("read-only folder", "unsearchable folder")
INTERRUPTED = "endless model, interrupted"


# Running.


@dataclasses.dataclass
class Outcome:
    """What became of a command line."""

    code: int | None
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    raised: str = ""  # an exception nobody caught, and where
    hung: bool = False
    died: str = ""
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class TimeLimit(BaseException):
    pass


def _alarm(*_: Any) -> None:
    raise TimeLimit


def quick_settings(home: Path) -> dict[str, str]:
    """As the tests have them: programs compiled quickly and kept."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    known = importlib.metadata.version("jaxlib").startswith("0.10.")  # to know these flags
    quickly = (
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
        " --xla_cpu_parallel_codegen_split_count=1"
    )
    path = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        "JAX_COMPILATION_CACHE_DIR": cache or f"{tempfile.gettempdir()}/bracketz-tests-cache",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
        "XLA_FLAGS": quickly if known else "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "HOME": str(home),
        "COLUMNS": "80",
    }


def call(words: list[str], limit: int) -> Outcome:
    """A command in this process, which is left as it was."""
    from bracketz.cli import main

    before = dict(os.environ), list(sys.path), set(sys.modules), Path.cwd()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    found = Outcome(None)
    began = time.monotonic()
    old = sys.stdout, sys.stderr, sys.argv
    sys.stdout, sys.stderr, sys.argv = out, err, ["bracketz", *words]
    signal.alarm(limit)
    try:
        main()
        found.raised = "main() came back@"
    except SystemExit as stop:
        found.code = stop.code if isinstance(stop.code, int) else (1 if stop.code else 0)
    except TimeLimit:
        found.hung = True
    except BaseException as error:
        found.raised = located(error)
        err.write(traceback.format_exc()[-3000:])
    finally:
        signal.alarm(0)
        sys.stdout, sys.stderr, sys.argv = old
        os.chdir(before[3])
        os.environ.clear()
        os.environ.update(before[0])
        sys.path[:] = before[1]
        for name in set(sys.modules) - before[2]:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(before[3])):
                del sys.modules[name]
        if own := sys.modules.get("bracketz.cli.own"):
            own._IMPORTED.clear()  # what it has imported is gone, as in a new process
    found.seconds = time.monotonic() - began
    for stream in (out, err):
        with contextlib.suppress(ValueError):
            stream.flush()
    found.out = out.buffer.getvalue().decode("utf-8", "replace")
    found.err = err.buffer.getvalue().decode("utf-8", "replace")
    return found


def located(error: BaseException) -> str:
    """``TypeError@cli/parsing.py:make_path``: the innermost place in bracketz."""
    places = [
        f"{frame.filename.rpartition('/bracketz/')[2]}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "/bracketz/" in frame.filename
    ]
    return f"{type(error).__name__}@{places[-1] if places else ''}"


def work() -> None:
    """The worker: words in, outcomes out, one line of JSON each."""
    import gc

    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed
    signal.signal(signal.SIGALRM, _alarm)
    for line in sys.stdin:
        asked = json.loads(line)
        found = call(asked["words"], asked["limit"])
        replies.write(json.dumps(dataclasses.asdict(found)) + "\n")
        replies.flush()
        with contextlib.suppress(OSError):
            if Path("/proc/self/maps").read_bytes().count(b"\n") > 30_000:
                sys.modules["jax"].clear_caches()
                gc.collect()


class Runner:
    """Runs command lines in a folder that is the same before each of them."""

    def __init__(self, folder: Path):
        self.folder = folder / "work"
        self.home = folder / "home"
        self.log = folder / "worker.log"
        self.worker: subprocess.Popen | None = None
        self.skipped: dict[str, int] = {}
        for path in (self.folder, self.home):
            path.mkdir()
        fuzz_files.write(self.folder)
        self.files = self._look()
        for made in fuzz_files.MADE.values():
            found = self._ask(made.split(), 300)
            if found.code != 0:
                raise SystemExit(f"cannot begin: {made}: {found.err}")
        fuzz_files.spoil(self.folder)
        self.files = self._look()

    def _look(self) -> dict[str, bytes | None]:
        """Every file with what it holds, and every folder."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(self.folder.rglob("*"))
        }

    def _restore(self, found: Outcome) -> None:
        """Says what has changed, and undoes it."""
        now = self._look()
        found.added = tuple(name for name in now if name not in self.files)
        found.changed = tuple(
            name for name in self.files if name not in now or now[name] != self.files[name]
        )
        for name in found.added:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for name in found.changed:
            held, path = self.files[name], self.folder / name
            path.mkdir(exist_ok=True) if held is None else path.write_bytes(held)

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker"],
            cwd=self.folder,
            env={**os.environ, **quick_settings(self.home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("a"),
            text=True,
        )

    def _ask(self, words: list[str], limit: int = LIMIT) -> Outcome:
        if self.worker is None or self.worker.poll() is not None:
            self.worker = self._start()
        assert self.worker.stdin and self.worker.stdout
        began = time.monotonic()
        self.worker.stdin.write(json.dumps({"words": words, "limit": limit}) + "\n")
        self.worker.stdin.flush()
        ready, _, _ = select.select([self.worker.stdout], [], [], limit + HARD_LIMIT - LIMIT)
        reply = self.worker.stdout.readline() if ready else ""
        if reply:
            return Outcome(**json.loads(reply))
        seconds = time.monotonic() - began
        if not ready:
            self.close()
            return Outcome(None, seconds=seconds, hung=True)
        code = self.worker.wait()
        self.worker = None
        tail = self.log.read_text(errors="replace")[-300:]
        return Outcome(None, err=tail, seconds=seconds, died=f"exit status {code}")

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()
            self.worker = None

    def run(self, line: Line) -> Outcome | None:
        """None where it cannot be run here."""
        found = self._outside(line) if line.environment else self._ask(line.words)
        if found is not None:
            self._restore(found)
        return found

    def _outside(self, line: Line) -> Outcome | None:
        """In a process of its own, in a shell."""
        name = line.environment
        if name in BOUND and not self._bound(name):
            self.skipped[name] = self.skipped.get(name, 0) + 1
            return None
        environment = {**os.environ, **quick_settings(self.home)}
        for variable, value in ENVIRONMENTS[name][0].items():
            environment.pop(variable, None)
            if value is not None:
                environment[variable] = value
        python = [sys.executable, "-P", "-m", "bracketz", *line.words]  # -P: as installed
        text = SHELLS.get(name, "{}").format(" ".join(shlex.quote(word) for word in python))
        text = text if "{" in SHELLS.get(name, "") and ";" in text else f"exec {text}"
        began = time.monotonic()
        process = subprocess.Popen(
            ["bash", "-c", text],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            # A shell that runs this script in the background has it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        hung = False
        try:
            if name == INTERRUPTED:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(12)
                os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=HARD_LIMIT)
        except subprocess.TimeoutExpired:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        finally:
            if name in BOUND:
                self.folder.chmod(0o755)
                shutil.rmtree(self.folder / "locked", ignore_errors=True)
        return Outcome(
            process.returncode,
            out.decode("utf-8", "replace"),
            err.decode("utf-8", "replace"),
            time.monotonic() - began,
            hung=hung,
        )

    def _bound(self, name: str) -> bool:
        """Whether permissions can be made to bind: as another user who can still run Python."""
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            return False
        trial = ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c"]
        self.folder.parent.chmod(0o755)
        said = subprocess.run(
            [*trial, "import bracketz, jax, typer"],
            cwd=self.folder,
            env={**os.environ, **quick_settings(self.home)},
            capture_output=True,
        )
        if said.returncode != 0:
            return False
        if name == "unsearchable folder":
            (self.folder / "locked").mkdir(mode=0o700, exist_ok=True)
        return True


# Judging.

NAN = re.compile(r"(?<![\w.\-/=])nan(?![\w.=])")
TRACES = ("Traceback (most recent call last)", "Exception ignored", "Fatal Python error")
#: Options whose files a command writes; with --force it may overwrite them.
WRITTEN = ("--out", "--plot", "--report", "--checkpoint", "--store")


def judge(line: Line, found: Outcome) -> list[tuple[str, str]]:
    """What is wrong: (kind, detail)."""
    out: list[tuple[str, str]] = []
    words = line.words
    helped = "--help" in words
    options = ", ".join(sorted(line.changed))

    def say(kind: str, detail: str = "") -> None:
        out.append((kind, detail))

    if found.hung:
        say("hang", f"{options}: more than {LIMIT} s")
    if found.died:
        say("crash", f"{options}: {found.died}")
    if found.raised or any(mark in found.err for mark in TRACES):
        last = [one for one in found.err.strip().splitlines() if one[:1].strip()]
        say("traceback", f"{found.raised or ''} {last[-1][:200] if last else ''}".strip())
    elif not found.hung and not found.died:
        _judge_code(line, found, helped, options, say)
    named = _named(words)
    for name in found.changed:
        mine = any(name == one or name.startswith(f"{one}/") for one in named)
        if name.endswith("results.db") and line.command == "experiment run":
            continue  # what it is there for
        if not (mine and ("--force" in words or "--resume" in words)):
            say("changed file", f"{options}: {name}")
    if found.code == 2 and found.added:
        say("left behind", f"{options}: {', '.join(found.added[:3])}")
    if "\x1b" in found.out or "\x1b" in found.err:
        say("escape sequence", options)
    return out


def _named(words: list[str]) -> list[str]:
    """Files and folders that the line names to be written."""
    out = []
    for k, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in WRITTEN:
            out.append(value if equals else words[k + 1] if k + 1 < len(words) else "")
    return [str(Path(name)) for name in out if name]


def _judge_code(line: Line, found: Outcome, helped: bool, options: str, say: Any) -> None:
    """The exit code, and what has to come with it."""
    seen = line.environment not in UNSEEN
    errors = [one for one in found.err.splitlines() if one.startswith("error: ")]
    last = found.err.strip("\n").rpartition("\n")[2]
    if found.code not in (0, 1, 2, 130):
        say("exit code", f"{options}: {found.code}: {last[:200]}")
    if line.known == BAD and found.code != 2 and not helped:
        say("not refused", f"{options}: exit code {found.code}")
    if line.known == GOOD and found.code == 2 and seen:
        say("refused", f"{options}: {last[:300]}")
    if found.code == 2 and seen:
        if len(errors) != 1:
            say("no error line" if not errors else "error lines", f"{options}: {last[:200]}")
        elif not last.startswith("error: "):
            say("error on several lines", f"{options}: {errors[0][:100]} // {last[:100]}")
        elif not errors[0].removeprefix("error: ").strip():
            say("empty error", options)
    if found.code == 1 and seen and not errors and not found.out.strip():
        say("silent failure", options)
    if found.code == 0 and errors:
        say("error with exit code 0", f"{options}: {errors[0][:200]}")
    if found.code in (0, 1) and not errors and not helped and seen:
        if "--json" in line.words:
            _judge_json(found.out, options, say)
        elif found.code == 0:
            shown = found.out
            for word in line.words:
                shown = shown.replace(word, "") if len(word) > 2 else shown
            if NAN.search(shown):
                say("nan in a table", options)


def _judge_json(text: str, options: str, say: Any) -> None:
    def refuse(name: str) -> None:
        raise ArithmeticError(name)

    try:
        value = json.loads(text, parse_constant=refuse)
    except ArithmeticError as error:
        say("nan in json", f"{options}: {error}")
    except ValueError as error:
        say("json does not parse", f"{options}: {error}; begins {text[:60]!r}")
    else:
        if not isinstance(value, dict):
            say("json is no object", f"{options}: {text[:60]}")


# Findings.


@dataclasses.dataclass
class Finding:
    """Everything of one kind, with the shortest command line."""

    kind: str
    detail: str
    line: Line
    times: int = 1
    seconds: float = 0.0
    err: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "detail": self.detail,
            "line": str(self.line),
            "words": self.line.words,
            "times": self.times,
            "stderr": self.err[-3000:],
        }


def shrunk(finding: Finding, runner: Runner) -> Line:
    """The line without the options it can do without."""
    line = finding.line
    until = time.monotonic() + SHRINK_EACH
    for option in list(line.options):
        if time.monotonic() > until:
            break
        less = dataclasses.replace(line, options=[o for o in line.options if o is not option])
        outcome = runner.run(less)
        kinds = judge(dataclasses.replace(less, known=None), outcome) if outcome else []
        if any(kind == finding.kind and _same(d, finding.detail) for kind, d in kinds):
            line = less
    return line


def _same(one: str, other: str) -> bool:
    return one.partition(":")[0] == other.partition(":")[0]


def table(rows: dict[str, dict[str, int]]) -> str:
    heads = ("invocations", "refused (2)", "succeeded (0)", "failed (1)", "other", "findings")
    widest = max(map(len, rows), default=0)
    out = [" " * widest + "".join(f"{head:>15}" for head in heads)]
    total = dict.fromkeys(heads, 0)
    for name, row in rows.items():
        out.append(name.ljust(widest) + "".join(f"{row.get(head, 0):>15}" for head in heads))
        total = {head: total[head] + row.get(head, 0) for head in heads}
    out.append("all".ljust(widest) + "".join(f"{total[head]:>15}" for head in heads))
    return "\n".join(out)


COUNTED = {2: "refused (2)", 0: "succeeded (0)", 1: "failed (1)"}


def fuzz(seed: int, count: int, seconds: float | None, only: str | None, folder: Path) -> dict:
    """All of it: the rows of the table, the findings, and what was not run."""
    lines = Generator(seed).lines(count, only)
    runner = Runner(folder)
    rows: dict[str, dict[str, int]] = {}
    found: dict[tuple[str, str, str], Finding] = {}
    began = time.monotonic()
    done = 0
    try:
        for line in lines:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            outcome = runner.run(line)
            done += 1
            if outcome is None:
                continue
            row = rows.setdefault(line.command, {})
            problems = judge(line, outcome)
            for head in ("invocations", COUNTED.get(outcome.code, "other")):
                row[head] = row.get(head, 0) + 1
            row["findings"] = row.get("findings", 0) + bool(problems)
            for kind, detail in problems:
                key = (line.command, kind, detail.partition(":")[0][:80])
                one = Finding(kind, detail, line, seconds=outcome.seconds, err=outcome.err)
                if key in found:
                    one.times = found[key].times + 1
                    if len(found[key].line.words) <= len(line.words):
                        one.line, one.detail = found[key].line, found[key].detail
                        one.err, one.seconds = found[key].err, found[key].seconds
                else:
                    print(f"{kind}: {line}\n    {detail}", file=sys.stderr, flush=True)
                found[key] = one
            if done % 100 == 0:
                print(f"{done} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        until = time.monotonic() + SHRINK_ALL
        for one in found.values():
            if one.seconds < 2 and not one.line.environment and time.monotonic() < until:
                one.line = shrunk(one, runner)
    finally:
        runner.close()
    ordered = {name: rows[name] for name in commands() if name in rows}
    return {
        "seed": seed,
        "rows": ordered,
        "findings": list(found.values()),
        "left": len(lines) - done,
        "skipped": runner.skipped,
        "seconds": time.monotonic() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, help="begin no command line after this time")
    parser.add_argument("--only", metavar="COMMAND")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the findings in full")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        work()
        return
    with tempfile.TemporaryDirectory(prefix="bracketz-fuzz-") as folder:
        answer = fuzz(asked.seed, asked.count, asked.seconds, asked.only, Path(folder))
    print(table(answer["rows"]))
    print(f"{answer['seconds']:.0f} s, seed {asked.seed}")
    if answer["left"]:
        print(f"{answer['left']} command lines were not run: out of time")
    for name, times in answer["skipped"].items():
        print(f"skipped, {times} times: {name}; permissions do not bind here")
    print("not fuzzed: demo, reproduce and leagues to their end, clusters, compiling Stan programs")
    for one in answer["findings"]:
        print(f"\n{one.kind} ({one.times} times): {one.line}\n    {one.detail}")
    if asked.json:
        listed = [one.to_json() for one in answer["findings"]]
        asked.json.write_text(json.dumps({**answer, "findings": listed}, indent=2))
    sys.exit(1 if answer["findings"] else 0)


if __name__ == "__main__":
    main()
