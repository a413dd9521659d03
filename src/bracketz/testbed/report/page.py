"""The report: one HTML page with everything in it, which makes no request to anywhere.

Its parts (page, style, script) lie in ``assets/``; this module fills them with the numbers.
Plotly's script is inlined, compressed, and unpacked by the browser.
"""

import base64
import gzip
import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz.core.results import finite_json
from bracketz.plots.curves import ZOOM, title
from bracketz.plots.style import order, style
from bracketz.testbed.analysis import measures, provenance
from bracketz.testbed.analysis.ledger import Verdict, counted, seconds, story
from bracketz.testbed.report import tables
from bracketz.testbed.store.frames import Frames

PARTS = Path(__file__).parent / "assets"
GLYPHS = {
    "circle": "●",
    "circle-open": "○",
    "square": "■",
    "square-open": "□",
    "diamond": "◆",
    "triangle-up": "▲",
    "triangle-up-open": "△",
    "triangle-down": "▼",
    "triangle-down-open": "▽",
    "cross": "✚",
    "cross-open": "✛",
    "x": "✖",
    "star": "★",
    "hexagon": "⬢",
}


def page(
    frames: Frames, truth: pd.DataFrame, summary: pd.DataFrame, verdicts: list[Verdict]
) -> str:
    """The whole page as text."""
    pool = measures.pooled(summary)
    sections = [
        ("truth", "Ground truth"),
        ("headline", "Headline"),
        ("figures", "Figures"),
        ("bounds", "Bounds"),
    ]
    cross = tables.cross(measures.cross_table(frames))
    sections += [("cross", "Models")] if cross else []
    sections += [("ledger", "Claims")] if verdicts else []
    sections += [("provenance", "Provenance")]
    trials = int(pool.trials.max())
    fill = {
        "title": html.escape(
            f"{frames.experiment['name']}: marginal-likelihood estimators against ground truth"
        ),
        "lead": _lead(frames, truth, pool, verdicts),
        "nav": "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in sections),
        "truth": tables.truth_cards(truth),
        "trials": str(trials),
        "zoom": f"{ZOOM:.0f}",
        "headline": tables.headline(pool),
        "charts": _charts(pool),
        "bounds": tables.bounds(pool),
        "cross": cross,
        "ledger": tables.ledger(verdicts, story(verdicts, truth)),
        "provenance": provenance.as_html(frames),
        "data": _embedded(_data(pool, trials)),
        "css": (PARTS / "report.css").read_text(encoding="utf-8"),
        "js": (PARTS / "report.js").read_text(encoding="utf-8"),
        "plotly": _plotly(),
    }
    # One pass: a value that happens to look like a placeholder is not filled again.
    return re.sub(
        r"\{\{(\w+)\}\}",
        lambda found: fill[found[1]],
        (PARTS / "report.html").read_text(encoding="utf-8"),
    )


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()


def _embedded(value: Any) -> str:
    """JSON inside a script element: nothing in it may end the element."""
    return json.dumps(finite_json(value), separators=(",", ":")).replace("<", "\\u003c")


def _lead(frames: Frames, truth: pd.DataFrame, pool: pd.DataFrame, verdicts: list[Verdict]) -> str:
    tasks = frames.tasks.drop_duplicates("task")
    done = int((tasks.status == "done").sum())
    accepted = int(truth.accepted.sum())
    parts = [
        f"{pool.estimator.nunique()} estimators on {pool.problem.nunique()} models",
        f"{done} of {len(tasks)} tasks done",
        f"ground truth accepted on {accepted} of {len(truth)} data sets",
    ]
    if failed := int((tasks.status == "failed").sum()):
        parts.insert(2, f"<strong>{failed} failed</strong> and are left out of every measure")
    if verdicts:
        mine = [v for v in verdicts if not v.claim.about_seconds]
        parts.append(f"<strong>{counted(mine)['holds']} of {len(mine)} claims hold</strong>")
    return "; ".join(parts) + "."


def _charts(pool: pd.DataFrame) -> str:
    out = []
    for i, problem in enumerate(dict.fromkeys(pool.problem)):
        charts = "".join(
            f'<div class="chart" data-problem="{i}" data-kind="{kind}"></div>'
            for kind in ("estimate", "error")
        )
        out.append(f'<h3>{html.escape(title(problem))}</h3><div class="pair">{charts}</div>')
    return "".join(out)


def _data(pool: pd.DataFrame, trials: int) -> dict[str, Any]:
    looks = {}
    problems = []
    for problem, table in pool.groupby("problem", sort=False):
        truth = float(table.truth.iloc[0])
        ends = table.sort_values("rung").groupby("curve").tail(1)
        points = [*ends["mean"], *ends.combined, *([truth] if math.isfinite(truth) else [])]
        pad = 0.06 * (max(points) - min(points)) + 1
        curves = []
        for curve in order(table.curve.unique()):
            rows = table[table.curve == curve].sort_values("rung")
            look = style(curve, rows.estimator.iloc[0])
            looks[curve] = {
                "name": look.name,
                "colour": look.colour,
                "dark": look.dark,
                "symbol": look.symbol,
                "dashed": look.dashed,
                "glyph": GLYPHS[look.symbol],
            }
            curves.append(
                {
                    "name": curve,
                    "look": looks[curve],
                    "points": [_point(look.name, r) for _, r in rows.iterrows()],
                }
            )
        problems.append(
            {
                "name": problem,
                "truth": truth,
                "truthText": tables.number(truth, 1),
                "curves": curves,
                "errors": bool(table.errors.iloc[0]),
                "range": [min(points) - pad, max(points) + pad],
            }
        )
    return {
        "problems": problems,
        "looks": {name: looks[name] for name in order(looks)},
        "trials": trials,
        "zoom": ZOOM,
        "accurate": measures.ACCURATE,
    }


def _point(name: str, r: pd.Series) -> dict[str, Any]:
    lines = [
        f"<b>{html.escape(name)}</b>, {html.escape(r.knob)} {r.rung:,}",
        f"{seconds(r.seconds)} per trial"
        + (f", {seconds(r.latency)} alone" if math.isfinite(r.latency) else ""),
        f"mean {tables.number(r['mean'])} [{tables.number(r.mean_low)},"
        f" {tables.number(r.mean_high)}]",
        f"combined {tables.number(r.combined)}",
        "part of the ground truth"
        if r.makes_truth
        else f"RMSE {tables.number(r.rmse)}, bias {tables.number(r.bias)}",
    ]
    band = 1.96 * r.combined_se if math.isfinite(r.combined_se) else math.nan
    return {
        "seconds": r.seconds,
        "estimate": {"one": r["mean"], "combined": r.combined},
        "low": {"one": r.mean_low, "combined": r.combined - band},
        "high": {"one": r.mean_high, "combined": r.combined + band},
        "error": {"one": r.mse, "combined": r.combined_mse},
        "text": "<br>".join(lines),
    }
