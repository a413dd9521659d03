"""The league's pages: one for all, one for each tool."""

import html
import json
import math
import re
from typing import Any

import pandas as pd

from bracketz.testbed.league import measures
from bracketz.testbed.league.catalogue import HOME, ToolEntry
from bracketz.testbed.report.page import PARTS
from bracketz.testbed.report.tables import number

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
    "interval_coverage": ("two-sided intervals that cover", 2),
    "bound_coverage": ("one-sided bounds that hold", 2),
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

#: A table of more lines scrolls in a frame; a text of more letters may be broken.
TALL, SHORT = 20, 32
OF_EXAMPLES: Columns = {
    "problem": ("example", None),
    "tool": ("tool", None),
    "setting": ("setting", None),
    "data_seed": ("run", 0),
    "status": ("status", None),
    "log_z": ("value", 3),
    "error": ("claimed", 3),
    "truth": ("exact", 3),
    "off": ("error", 3),
    "z": ("error / claimed", 2),
}


def front(found: dict[str, pd.DataFrame], about: dict[str, Any], picture: str) -> str:
    """The front page: the figure and every table.

    Args:
        found: tables by name.
        about: where they come from.
        picture: the figure, in base 64.
    """
    frame = found["runs"]
    league = frame[frame.suite == "league"]
    unjudged = int((league.truth.isna() & (league.status == "done")).sum())
    limits = " or ".join(about["limits of a run"])
    lead = (
        f"{frame.tool.nunique()} tools on {league.problem.nunique()} problems, {len(league)} runs;"
        f" {int((league.status != 'done').sum())} gave no answer,"
        f" {_count(league.lies.eq(True).sum(), 'error bar lies', 'error bars lie')},"
        f" {_count(league.silent.sum(), 'answer is', 'answers are')} silently wrong by more than"
        f" half a nat. Limits of a run: {limits}."
    )
    if len(about["limits of a run"]) > 1:
        lead += " They were not the same for all, so their answers are not compared fairly."
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
        "<section><h2>Errors against seconds</h2><p>A mark is a tool at a setting: its RMS error"
        " over the data sets that it answered, against its median seconds. A ring: one of its error"
        " bars lies, being off by more than three combined errors; were it right and errors normal,"
        " one run in 370 would be.</p>"
        '<div class="scroll"><img class="figure" alt="errors against seconds"'
        f' src="data:image/png;base64,{picture}"></div></section>'
        f"<section><h2>Tools</h2><p>Click a heading to sort.</p>"
        f"{_table(found['tools'], OF_TOOLS)}</section>"
        f"<section><h2>Problems</h2>{_table(found['problems'], both)}</section>"
        "<section><h2>Seconds to an accuracy</h2><p>The fastest setting whose RMS error over the"
        " data sets is at most 0.1, 0.5 nats; a dash: no setting that was run.</p>"
        f"{_table(found['seconds'], OF_SECONDS)}</section>"
        f"<section><h2>Silent failures</h2><p>Cases made to tempt. Silent: off by more than half a"
        f" nat, not covered by what was claimed, and no warning.</p>{_silent(found['silent'])}"
        "</section>"
        "<section><h2>Examples of the tools' own documentation</h2><p>Does an adapter do its tool"
        f" justice?</p>{_table(found['documented'], OF_EXAMPLES)}</section>"
        f"<section><h2>Where this comes from</h2><pre>{shown}</pre></section>"
    )
    return _page("The league: evidence tools against the truth", lead, nav, body)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def of_tool(name: str, entry: ToolEntry | None, found: dict[str, pd.DataFrame]) -> str:
    """A tool's own page; of one that is not in the catalogue any more there is no entry."""
    mine = {key: table[table.tool == name] for key, table in found.items() if "tool" in table}
    runs = mine["runs"]
    about = entry.about if entry else name
    problems = mine["problems"].sort_values(["problem", "setting"], ascending=[True, False])
    more = entry.doc.split("\n\n", 1)[1:] if entry else []
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
    examples = _table(mine["documented"], OF_EXAMPLES) if len(mine["documented"]) else "<p>none</p>"
    curve: Columns = {"setting": ("setting", None), "multiple": ("within claimed errors", 1),
             "share": ("share of answers", 2), "normal": ("were it normal", 2),
             "count": ("answers", 0)}  # fmt: skip
    body = (
        f"<section><h2>Settings</h2><p>{html.escape(' '.join(more))}</p><dl>{ladder}</dl></section>"
        f"<section><h2>Problem by problem</h2>{_table(problems, OF_PROBLEMS)}</section>"
        f"<section><h2>Its documentation's examples</h2>{examples}</section>"
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
        # The first one heads its row, and stays where it is while the others scroll.
        cells[0] = re.sub(r"^<td[^>]*>(.*)</td>$", r'<th scope="row">\1</th>', cells[0])
        lines.append(f"<tr>{''.join(cells)}</tr>")
    tall = " tall" if len(table) > TALL else ""
    return (
        f'<div class="scroll{tall}"><table class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: Any, digits: int | None, name: str, row: dict[str, Any]) -> str:
    if digits is None:
        kind = ' class="name"' if len(str(value)) <= SHORT else ""
        return f"<td{kind}>{html.escape(str(value))}</td>"
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
