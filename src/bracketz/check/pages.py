"""A folder with what the checks saw: pictures, a page and the numbers."""

import html
import json
from pathlib import Path

from bracketz.check.report import Report
from bracketz.outputs import write_text
from bracketz.plots.canvas import save_figure
from bracketz.wording import percent


def write_pages(report: Report, folder: Path) -> list[Path]:
    """``report.json``, ``report.html`` and one picture per check that has something to show;
    returns the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    for result in report.results:
        if result.picture is None:
            continue
        verdict = "passed" if result.passed else "FAILED"
        figure = result.picture()
        figure.suptitle(
            f"{result.name}: {verdict} (p = {result.statistic:.2g}, threshold"
            f" {result.threshold:.1g})",
            fontsize=11,
        )
        figure.tight_layout()
        saved.append(folder / f"{result.name}.png")
        save_figure(figure, saved[-1], dpi=140)
    write_text(folder / "report.json", json.dumps(report.to_json(), indent=2))
    write_text(folder / "report.html", _page(report, saved))
    return saved


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color-scheme:light dark}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #8884}
.fail{color:#d33;font-weight:600}.skip{opacity:.6}img{max-width:100%;background:#fff}"""


def _page(report: Report, pictures: list[Path]) -> str:
    rows = []
    for r in report.results:
        word, kind = (
            ("n/a", "skip")
            if r.passed is None
            else ("passed", "ok")
            if r.passed
            else ("FAILED", "fail")
        )
        numbers = "" if r.passed is None else f"{r.statistic:.2g}</td><td>{r.threshold:.2g}"
        cells = (r.name, str(r.kind), word)
        line = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(
            f"<tr class={kind}>{line}<td>{numbers or '</td><td>'}</td>"
            f"<td>{html.escape(r.detail)}</td></tr>"
        )
    images = "".join(f'<h2>{p.stem}</h2><img src="{p.name}" alt="{p.stem}">' for p in pictures)
    failures = "".join(
        f"<p class=fail>{html.escape(r.name)}: {html.escape(r.detail)} Usual cause:"
        f" {html.escape(r.bug)}</p>"
        for r in report.failures
    )
    verdict = "passes" if report.passed else "fails"
    return (
        f"<!doctype html><meta charset=utf-8><meta name=viewport"
        f" content='width=device-width'><title>check {report.model}</title>"
        f"<style>{STYLE}</style><h1>{html.escape(report.model)} {verdict}</h1><p>level"
        f" {report.level}, seed {report.seed}, {len(report.results)} of"
        f" {report.planned} checks run; a correct model fails anything with probability at most"
        f" {percent(report.false_alarm_rate)}.</p>{failures}"
        f"<table><tr><th>check<th>kind<th>verdict<th>statistic<th>threshold<th>what was"
        f" seen</tr>{''.join(rows)}</table>{images}"
    )
