"""The report: one HTML page with everything in it, which makes no request to anywhere.

Its parts (page, style, script) lie in ``page/``; this module fills them with the numbers. Plotly's script is inlined,
compressed, and unpacked by the browser.
"""

import base64
import gzip
import html
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz.answer import finite_json
from bracketz.testbed import measures
from bracketz.testbed.figures import ZOOM, title
from bracketz.testbed.frames import Frames
from bracketz.testbed.ledger import Verdict, seconds, source
from bracketz.testbed.style import order, style

PARTS = Path(__file__).parent / "page"
GLYPHS = {
    "circle": "●", "circle-open": "○", "square": "■", "square-open": "□", "diamond": "◆", "triangle-up": "▲",
    "triangle-up-open": "△", "triangle-down": "▼", "triangle-down-open": "▽", "cross": "✚", "cross-open": "✛", "x": "✖",
    "star": "★", "hexagon": "⬢",
}  # fmt: skip


def number(value: float, digits: int = 2) -> str:
    """A number as shown in the report: a true minus sign, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return (f"{value:,.{digits}f}" if abs(value) >= 1e4 else f"{value:.{digits}f}").replace("-", "−")


def typeset(text: str) -> str:
    """Escaped, with true minus signs before numbers."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", html.escape(text))


def page(frames: Frames, truth: pd.DataFrame, summary: pd.DataFrame, verdicts: list[Verdict]) -> str:
    """The whole page as text."""
    pool = measures.pooled(summary)
    sections = [("truth", "Ground truth"), ("headline", "Headline"), ("figures", "Figures")]
    sections += [("ledger", "Claims")] if verdicts else []
    sections += [("provenance", "Provenance")]
    trials = int(pool.trials.max())
    fill = {
        "title": html.escape(
            f"{frames.experiment['name']}: marginal-likelihood estimators against ground truth"
        ),
        "lead": _lead(frames, truth, pool, verdicts),
        "nav": "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in sections),
        "truth": _truth(truth),
        "trials": str(trials),
        "zoom": f"{ZOOM:.0f}",
        "headline": _headline(pool),
        "charts": _charts(pool),
        "ledger": _ledger(verdicts),
        "provenance": _provenance(frames),
        "data": _embedded(_data(pool, trials)),
        "css": (PARTS / "report.css").read_text(),
        "js": (PARTS / "report.js").read_text(),
        "plotly": _plotly(),
    }
    # One pass: a value that happens to look like a placeholder is not filled again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fill[found[1]], (PARTS / "report.html").read_text())


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
    if verdicts:
        held = sum(v.holds is True for v in verdicts)
        decided = sum(v.holds is not None for v in verdicts)
        parts.append(f"<strong>{held} of {decided} claims hold</strong>")
    return "; ".join(parts) + "."


def _truth(truth: pd.DataFrame) -> str:
    cards = []
    several = truth.data_seed.nunique() > 1
    for t in truth.itertuples():
        verdict = "accepted" if t.accepted else "not accepted: the bounds disagree"
        name = title(t.problem) + (f", data seed {t.data_seed}" if several else "")
        cards.append(
            f'<div class="card"><h3>{html.escape(name)}</h3><p class="big">{number(t.log_ml)}</p>'
            f"<p>{number(t.lower)} to {number(t.upper)}, gap {number(t.gap)} nats: {verdict}</p>"
            f"<p>{t.distributions:,} distributions, {t.chains} chains each way</p></div>"
        )
    return "".join(cards) or "<p>No ground truth yet.</p>"


def _headline(pool: pd.DataFrame) -> str:
    lines = measures.headline(pool)
    problems = list(dict.fromkeys(lines.problem))
    fastest = lines[lines.side != "upper"].groupby("problem").seconds_to_accurate.min().to_dict()
    rows = []
    for curve in order(lines.curve.unique()):
        cells = []
        mine = lines[lines.curve == curve]
        look = style(curve, mine.estimator.iloc[0])
        for problem in problems:
            found = mine[mine.problem == problem]
            if found.empty:
                cells.append('<td class="number never">not run</td>')
                continue
            r = found.iloc[0]
            reached = math.isfinite(r.seconds_to_accurate)
            kind = (
                "first"
                if reached and r.seconds_to_accurate == fastest.get(problem)
                else ""
                if reached
                else "never"
            )
            first = seconds(r.seconds_to_accurate) if reached else "never"
            best = (
                f"best {number(r.best_rmse, 1)} nats in {seconds(r.best_seconds)}"
                if math.isfinite(r.best_rmse)
                else ""
            )
            cells.append(f'<td class="number"><span class="{kind}">{first}</span><small>{best}</small></td>')
        side = {"lower": "lower bound", "upper": "upper bound"}.get(mine.side.iloc[0], "no bound")
        rows.append(f"<tr><th>{html.escape(look.name)}<small>{side}</small></th>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{html.escape(title(p))}</th>" for p in problems)
    return f'<div class="scroll"><table><thead><tr><th></th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


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
                "name": look.name, "colour": look.colour, "dark": look.dark, "symbol": look.symbol,
                "dashed": look.dashed, "glyph": GLYPHS[look.symbol],
            }  # fmt: skip
            curves.append(
                {
                    "name": curve,
                    "look": looks[curve],
                    "points": [_point(look.name, r) for _, r in rows.iterrows()],
                }
            )
        problems.append(
            {
                "name": problem, "truth": truth, "truthText": number(truth, 1), "curves": curves,
                "errors": bool(table.data_sets.iloc[0] > 1), "range": [min(points) - pad, max(points) + pad],
            }
        )  # fmt: skip
    return {
        "problems": problems, "looks": {name: looks[name] for name in order(looks)}, "trials": trials, "zoom": ZOOM,
        "accurate": measures.ACCURATE,
    }  # fmt: skip


def _point(name: str, r: pd.Series) -> dict[str, Any]:
    lines = [
        f"<b>{html.escape(name)}</b>, {html.escape(r.knob)} {r.rung:,}",
        f"{seconds(r.seconds)} per trial"
        + (f", {seconds(r.latency)} alone" if math.isfinite(r.latency) else ""),
        f"mean {number(r['mean'])} [{number(r.mean_low)}, {number(r.mean_high)}]",
        f"combined {number(r.combined)}",
        "part of the ground truth" if r.makes_truth else f"RMSE {number(r.rmse)}, bias {number(r.bias)}",
    ]
    band = 1.96 * r.combined_se
    return {
        "seconds": r.seconds,
        "estimate": {"one": r["mean"], "combined": r.combined},
        "low": {"one": r.mean_low, "combined": r.combined - band},
        "high": {"one": r.mean_high, "combined": r.combined + band},
        "error": {"one": r.mse, "combined": r.combined_mse},
        "text": "<br>".join(lines),
    }


def _ledger(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return ""
    pills = {True: ("yes", "✓ holds"), False: ("no", "✗ does not hold"), None: ("open", "not run")}
    rows = []
    for v in verdicts:
        kind, word = pills[v.holds]
        c = v.claim
        rows.append(
            f'<tr><td><span class="pill {kind}">{word}</span></td>'
            f'<td>{html.escape(c.statement)} <span class="place">{html.escape(c.place)}</span>'
            f"<details><summary>rule and query</summary><p>Holds if: {typeset(c.rule)}.</p>"
            f"<pre>{html.escape(source(c))}</pre></details></td>"
            f'<td data-head="paper">{typeset(c.paper)}</td><td data-head="here">{typeset(v.ours)}</td></tr>'
        )
    return (
        '<section id="ledger"><h2>The paper’s claims</h2><p>Each row is decided by its query on the store; nothing is marked by '
        "hand. Times in the paper are from its authors’ machine and code.</p>"
        '<div class="scroll"><table class="ledger"><thead><tr><th></th><th>claim</th><th>paper</th><th>here</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _provenance(frames: Frames) -> str:
    tasks = frames.tasks.drop_duplicates("task")
    done = tasks[tasks.status == "done"]
    made_by = [json.loads(text) for text in done.versions.dropna().unique()]
    entries: list[tuple[str, str]] = [
        ("experiment", f"{frames.experiment['name']}, seed {frames.experiment['seed']}"),
        ("last run", frames.experiment["updated"]),
        ("command", "bracketz experiment run spec.toml --store results.db, with the spec below"),
        ("devices", ", ".join(sorted(done.device.dropna().unique()))),
        *(("made with", ", ".join(f"{k} {v}" for k, v in versions.items())) for versions in made_by),
        ("time", f"{done.run_seconds.sum():.0f} s running, {done.compile_seconds.sum():.0f} s compiling"),
        ("tasks", _counts(tasks.status)),
    ]
    listed = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(str(v))}</dd>" for k, v in entries)
    failed = tasks[tasks.status == "failed"]
    failures = "".join(
        f"<li>{html.escape(f'{r.problem} {r.curve} at {r.rung}: {r.message}')}</li>"
        for r in failed.itertuples()
    )
    spec = (
        f"<details><summary>the spec</summary><pre>{html.escape(frames.experiment['spec'])}</pre></details>"
    )
    return f"<dl>{listed}</dl>{f'<p>Failed:</p><ul>{failures}</ul>' if failures else ''}{spec}"


def _counts(states: Iterable[str]) -> str:
    return ", ".join(f"{n} {state}" for state, n in pd.Series(states).value_counts().items())
