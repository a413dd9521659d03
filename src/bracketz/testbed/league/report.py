"""What a league leaves on disk: a page, a page per tool, a figure, tables that others can cite."""

import base64
import json
import os
import platform
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz._version import __version__
from bracketz.core.results import finite_json
from bracketz.errors import InputError
from bracketz.outputs import own_folder, write_text
from bracketz.plots.canvas import save_figure
from bracketz.testbed.league import figure, forecast, measures, pages
from bracketz.testbed.league.catalogue import Catalogue
from bracketz.testbed.league.truth import Truth, exactly, read
from bracketz.testbed.machine import processor

TABLES = (
    "runs",
    "problems",
    "tools",
    "seconds",
    "calibration",
    "silent",
    "documented",
    "truths",
    "costs",
)
#: What a report may replace in its folder.
NAMES = (
    "index.html",
    "league.png",
    "league.pdf",
    "provenance.json",
    "tools",
    *(f"{name}.csv" for name in TABLES),
)


def truths_of(known: Catalogue, rows: pd.DataFrame) -> dict[tuple[str, int], Truth]:
    """By problem and data seed, as far as they are known: as kept, else by a closed form."""
    found = {}
    for name, mine in rows.groupby("problem"):
        if (problem := known.problems.get(str(name))) is None:
            continue
        kept = read(problem)
        for seed in sorted(set(mine.data_seed)):
            if seed in kept:
                found[str(name), int(seed)] = kept[seed]
            elif problem.exact is not None:
                found[str(name), int(seed)] = exactly(problem, int(seed))
    return found


def tables(rows: pd.DataFrame, truths: dict[tuple[str, int], Truth]) -> dict[str, pd.DataFrame]:
    """Every table, by name."""
    frame = measures.judged(measures.latest(rows), truths)
    told = [vars(truth) | {"gap": truth.gap} for truth in truths.values()]
    return {
        "runs": frame,
        "problems": measures.by_problem(frame),
        "tools": measures.by_tool(frame),
        "seconds": measures.seconds_to(frame),
        "calibration": measures.calibration(frame),
        "silent": measures.of_suite(frame, "silent"),
        "documented": measures.of_suite(frame, "documented"),
        "truths": pd.DataFrame(told),
        "costs": forecast.costs(rows),
    }


def write(rows: pd.DataFrame, known: Catalogue, out: Path, *, force: bool = False) -> list[str]:
    """The report of a league's rows.

    Raises:
        InputError: there are no rows, or the folder holds files of somebody else's.
    """
    if rows.empty:
        raise InputError("the league has no rows yet; run it first")
    found = tables(rows, truths_of(known, rows))
    own_folder(out, NAMES, force)
    (out / "tools").mkdir(exist_ok=True)
    families = {name: tool.family for name, tool in known.tools.items()}
    drawn = figure.errors_against_seconds(found["runs"], families)
    drawn.savefig(out / "league.pdf")
    save_figure(drawn, out / "league.png")
    for name in TABLES:
        write_text(out / f"{name}.csv", found[name].to_csv(index=False))
    about = provenance(found["runs"])
    write_text(out / "provenance.json", json.dumps(finite_json(about), indent=1) + "\n")
    picture = base64.b64encode((out / "league.png").read_bytes()).decode()
    write_text(out / "index.html", pages.front(found, about, picture))
    for tool in sorted(rows.tool.unique()):
        write_text(
            out / "tools" / f"{tool}.html", pages.of_tool(tool, known.tools.get(tool), found)
        )
    return [str(path) for path in sorted(out.rglob("*")) if path.is_file()]


def provenance(frame: pd.DataFrame) -> dict[str, Any]:
    """Versions, limits and load behind the rows; rows do not keep the machine's name, so the one
    named is where the report was made."""
    versions: dict[str, dict[str, str]] = {}
    for tool, found in zip(frame.tool, frame.versions, strict=True):
        for name, value in (found or {}).items():
            before = versions.setdefault(str(tool), {}).get(name)
            told = {value, *(before.split(", ") if before else ())} - {None}
            versions[tool][name] = ", ".join(sorted(told))
    limits = sorted({*zip(frame.limit_seconds, frame.limit_memory, frame.cores, strict=True)})
    return {
        "bracketz": __version__,
        "rows": len(frame),
        "first": frame.ended.min(),
        "last": frame.ended.max(),
        "versions": dict(sorted(versions.items())),
        "limits of a run": [
            f"{seconds:g} s, {memory:g} GiB, {cores} core{'s' if cores > 1 else ''}"
            for seconds, memory, cores in limits
        ],
        "report made on": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "processor": processor(),
        },
        "load before a run": {
            "median": float(frame.load.median()),
            "largest": float(frame.load.max()),
        },
        # One run follows another, so the load of the last minute is that of the run before.
        "idle": bool((frame.load <= frame.cores + 0.5).all()),
    }
