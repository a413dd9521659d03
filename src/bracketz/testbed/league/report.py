"""What a league leaves on disk: a page, a page per tool, a figure, tables that others can cite."""

import base64
import html
import json
import math
import os
import platform
import re
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz._version import __version__
from bracketz.core.results import finite_json
from bracketz.errors import InputError
from bracketz.outputs import own_folder, write_text
from bracketz.plots.canvas import save_figure
from bracketz.testbed.league import figure, forecast, measures
from bracketz.testbed.league.catalogue import HOME, Catalogue, ToolEntry
from bracketz.testbed.league.truth import Truth, exactly, read
from bracketz.testbed.report.page import PARTS
from bracketz.testbed.report.tables import number

TABLES = ("runs", "problems", "tools", "seconds", "calibration", "silent", "truths", "costs")
#: What a report may replace in its folder.
NAMES = (
    "index.html",
    "league.png",
    "league.pdf",
    "provenance.json",
    "tools",
    *(f"{name}.csv" for name in TABLES),
)
Columns = dict[str, tuple[str, int | None]]
#: Columns of the page's tables: name -> (heading, digits).
OF_TOOLS: Columns = {
    "tool": ("tool", None),
    "setting": ("setting", None),
    "answers": ("answers", 0),
    "runs": ("of runs", 0),
    "failed": ("failed", 0),
    "timeouts": ("timeouts", 0),
    "near": (f"within {measures.NEAR} nats", 2),
    "fair": (f"within {measures.FAIR}", 2),
    "bias": ("mean error", 3),
    "rms": ("RMS error", 3),
    "worst": ("largest", 2),
    "ratio": ("error / claimed", 2),
    "coverage": ("95 % bars that cover", 2),
    "lies": ("bars that lie", 0),
    "interval_coverage": ("intervals that cover", 2),
    "silent": ("silent failures", 0),
    "silent_in_suite": ("silent, suite", 0),
    "seconds": ("seconds", 2),
    "cpu_seconds": ("CPU seconds", 2),
    "calls": ("likelihood calls", 0),
}
OF_PROBLEMS: Columns = {"problem": ("problem", None)} | {
    name: shown for name, shown in OF_TOOLS.items() if name not in ("tool", "silent_in_suite")
}

OF_SECONDS: Columns = {
    "tool": ("tool", None),
    "problem": ("problem", None),
    f"seconds_to_{measures.NEAR}": (f"to {measures.NEAR} nats", 2),
    f"seconds_to_{measures.FAIR}": (f"to {measures.FAIR} nats", 2),
}


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
        "silent": measures.silent_suite(frame),
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
    drawn = figure.errors_against_seconds(found["runs"])
    drawn.savefig(out / "league.pdf")
    save_figure(drawn, out / "league.png")
    for name in TABLES:
        write_text(out / f"{name}.csv", found[name].to_csv(index=False))
    about = provenance(found["runs"])
    write_text(out / "provenance.json", json.dumps(finite_json(about), indent=1) + "\n")
    picture = base64.b64encode((out / "league.png").read_bytes()).decode()
    write_text(out / "index.html", _front(found, about, picture))
    for tool in sorted(rows.tool.unique()):
        write_text(out / "tools" / f"{tool}.html", _of_tool(tool, known.tools.get(tool), found))
    return [str(path) for path in sorted(out.rglob("*")) if path.is_file()]


def provenance(frame: pd.DataFrame) -> dict[str, Any]:
    """Versions, machine and load behind the rows."""
    versions: dict[str, str] = {}
    for found in frame.versions.dropna():
        versions |= {name: value for name, value in found.items() if value}
    return {
        "bracketz": __version__,
        "rows": len(frame),
        "first": frame.ended.min(),
        "last": frame.ended.max(),
        "versions": dict(sorted(versions.items())),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "load before a run": {
            "median": float(frame.load.median()),
            "largest": float(frame.load.max()),
        },
        "idle": bool((frame.load <= 0.5).all()),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.processor()


def _front(found: dict[str, pd.DataFrame], about: dict[str, Any], picture: str) -> str:
    frame = found["runs"]
    league = frame[frame.suite == "league"]
    unjudged = int((league.truth.isna() & (league.status == "done")).sum())
    lead = (
        f"{frame.tool.nunique()} tools on {league.problem.nunique()} problems, {len(league)} runs;"
        f" {int((league.status != 'done').sum())} gave no answer,"
        f" {int(league.lies.eq(True).sum())} error bars lie, {int(league.silent.sum())} answers are"
        " silently wrong by more than half a nat."
    )
    if unjudged:
        lead += f" {unjudged} answers have no accepted truth and are not judged."
    if not about["idle"]:
        lead += (
            " The machine was not idle while these ran (median load"
            f" {about['load before a run']['median']:.1f}): seconds are no measure of speed."
        )
    nav = "".join(f'<a href="tools/{t}.html">{t}</a>' for t in sorted(frame.tool.unique()))
    shown = html.escape(json.dumps(about, indent=1))
    both = {"tool": OF_TOOLS["tool"]} | OF_PROBLEMS
    body = (
        "<section><h2>Errors against seconds</h2><p>Each mark is one answer. A ring: the claimed"
        " error bar is more than three times too small. Dotted 0.1, dashed 0.5 nats.</p>"
        f'<img class="figure" alt="errors against seconds" src="data:image/png;base64,{picture}">'
        "</section>"
        f"<section><h2>Tools</h2><p>Click a heading to sort.</p>"
        f"{_table(found['tools'], OF_TOOLS)}</section>"
        f"<section><h2>Problems</h2>{_table(found['problems'], both)}</section>"
        "<section><h2>Seconds to an accuracy</h2><p>The fastest setting whose RMS error over the"
        " data sets is at most 0.1, 0.5 nats; a dash: no setting that was run.</p>"
        f"{_table(found['seconds'], OF_SECONDS)}</section>"
        f"<section><h2>Silent failures</h2><p>Cases made to tempt. Silent: off by more than half a"
        f" nat, not covered by what was claimed, and no warning.</p>{_silent(found['silent'])}"
        "</section>"
        f"<section><h2>Where this comes from</h2><pre>{shown}</pre></section>"
    )
    return _page("The league: evidence tools against the truth", lead, nav, body)


def _of_tool(name: str, entry: ToolEntry | None, found: dict[str, pd.DataFrame]) -> str:
    mine = {key: table[table.tool == name] for key, table in found.items() if "tool" in table}
    runs = mine["runs"]
    about = entry.about if entry else name
    versions: dict[str, str] = next((v for v in runs.versions if v), {})
    lead = html.escape(
        f"{about} Claims {entry.claims if entry else 'an answer'}."
        f" Versions: {', '.join(f'{k} {v}' for k, v in versions.items())}."
    )
    ladder = "".join(
        f"<dt>{html.escape(k)}</dt><dd><code>{html.escape(json.dumps(v))}</code></dd>"
        for k, v in (entry.settings if entry else {}).items()
    )
    bad = runs[runs.status != "done"]
    failures = "".join(
        f"<li>{html.escape(f'{r.problem}, data {r.data_seed}, {r.setting}:')} {r.status}:"
        f" {html.escape(str(r.message))}</li>"
        for r in bad.itertuples()
    )
    curve: Columns = {"setting": ("setting", None), "multiple": ("within claimed errors", 1),
             "share": ("share of answers", 2), "normal": ("were it normal", 2),
             "count": ("answers", 0)}  # fmt: skip
    body = (
        f"<section><h2>Settings</h2><dl>{ladder}</dl></section>"
        f"<section><h2>Problem by problem</h2>{_table(mine['problems'], OF_PROBLEMS)}</section>"
        f"<section><h2>Calibration</h2>{_table(mine['calibration'], curve)}</section>"
        f"<section><h2>Silent-failure suite</h2>{_silent(mine['silent'])}</section>"
        f"<section><h2>No answer</h2><ul>{failures or '<li>none</li>'}</ul></section>"
    )
    return _page(f"The league: {name}", lead, '<a href="../index.html">all tools</a>', body)


def _silent(table: pd.DataFrame) -> str:
    shown = table.assign(
        silent=["yes" if s else "" for s in table.silent],
        warned=["; ".join(w or []) for w in table.warnings],
    )
    columns: Columns = {name: (name, None) for name in ("problem", "tool", "setting", "status")}
    columns |= {
        "log_z": ("value", 3),
        "truth": ("truth", 3),
        "off": ("error", 3),
        "error": ("claimed", 3),
        "low": ("from", 2),
        "high": ("to", 2),
        "silent": ("silent", None),
        "warned": ("warnings", None),
    }
    return _table(shown, columns)


def _table(table: pd.DataFrame, columns: Columns) -> str:
    """A table whose headings sort it."""
    heads = "".join(
        f'<th aria-sort="none"><button type="button">{html.escape(text)}</button></th>'
        for text, _ in columns.values()
    )
    lines = []
    for row in table.to_dict("records"):
        cells = [_cell(row[name], digits, name, row) for name, (_, digits) in columns.items()]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: Any, digits: int | None, name: str, row: dict[str, Any]) -> str:
    if digits is None:
        return f"<td>{html.escape(str(value))}</td>"
    there = value is not None and math.isfinite(value)
    bad = (name == "ratio" and there and value > measures.LIES) or (
        name in ("lies", "silent", "silent_in_suite") and there and value > 0
    )
    mark = " lies" if bad else ""
    raw = f"{value:.12g}" if there else ""
    return f'<td class="number{mark}" data-value="{raw}">{number(value, digits)}</td>'


def _page(title: str, lead: str, nav: str, body: str) -> str:
    fill = {
        "title": html.escape(title),
        "css": (PARTS / "report.css").read_text(encoding="utf-8"),
        "lead": lead,
        "nav": nav,
        "body": body,
    }
    text = (HOME / "assets" / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fill[found[1]], text)
