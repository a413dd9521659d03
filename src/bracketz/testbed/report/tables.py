"""The tables of the report, as HTML."""

import html
import math
import re

import pandas as pd

from bracketz.plots.curves import title
from bracketz.plots.style import order, style
from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis.firmness import RESAMPLES
from bracketz.testbed.analysis.ledger import Verdict, seconds, source


def number(value: float, digits: int = 2) -> str:
    """A number as shown in the report: a true minus sign, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return (f"{value:,.{digits}f}" if abs(value) >= 1e4 else f"{value:.{digits}f}").replace(
        "-", "−"
    )


def typeset(text: str) -> str:
    """Escaped, with true minus signs before numbers."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", html.escape(text))


def _table(heads: str, rows: list[str]) -> str:
    """A table whose first column names the rows."""
    head = f"<thead><tr><th></th>{heads}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def truth_cards(truth: pd.DataFrame) -> str:
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


def headline(pool: pd.DataFrame) -> str:
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
            cells.append(
                f'<td class="number"><span class="{kind}">{first}</span><small>{best}</small></td>'
            )
        side = {"lower": "lower bound", "upper": "upper bound"}.get(mine.side.iloc[0], "no bound")
        rows.append(
            f"<tr><th>{html.escape(look.name)}<small>{side}</small></th>{''.join(cells)}</tr>"
        )
    heads = "".join(f"<th>{html.escape(title(p))}</th>" for p in problems)
    return _table(heads, rows)


def bounds(pool: pd.DataFrame) -> str:
    table = measures.bounds(pool)
    if table.empty:
        return "<p>No bound can be judged without an accepted ground truth.</p>"
    problems = list(dict.fromkeys(table.problem))
    rows = []
    for curve in order(table.curve.unique()):
        mine = table[table.curve == curve]
        cells = []
        for problem in problems:
            found = mine[mine.problem == problem]
            if found.empty:
                cells.append("<td></td>")
                continue
            r = found.iloc[0]
            divergence = (
                f"<small>Jeffreys bound {number(r.jeffreys, 1)} nats</small>"
                if math.isfinite(r.jeffreys)
                else ""
            )
            cells.append(f'<td class="number">{r.coverage:.1%} of {r.trials}{divergence}</td>')
        name = html.escape(style(curve, mine.estimator.iloc[0]).name)
        rows.append(
            f"<tr><th>{name}<small>{mine.side.iloc[0]} bound</small></th>{''.join(cells)}</tr>"
        )
    heads = "".join(f"<th>{html.escape(title(p))}</th>" for p in problems)
    return _table(heads, rows)


def cross(table: pd.DataFrame) -> str:
    """The whole section: data sets down, fitted models across."""
    if table.empty:
        return ""
    fits = list(dict.fromkeys(table.fit))
    several = table.data_seed.nunique() > 1
    rows = []
    for (problem, data_seed), mine in table.groupby(measures.DATA_SET, sort=False):
        cells = []
        for fit in fits:
            found = mine[mine.fit == fit]
            cells.append(
                _cross_cell(found.iloc[0])
                if len(found)
                else '<td class="number never">not run</td>'
            )
        name = f"{title(problem)} data" + (f", seed {data_seed}" if several else "")
        rows.append(f"<tr><th>{html.escape(name)}</th>{''.join(cells)}</tr>")
    heads = "".join(
        f"<th>{html.escape(title(fit.removeprefix('inferred-')))}"
        f"{'<small>hyperparameters inferred</small>' if fit.startswith('inferred-') else ''}</th>"
        for fit in fits
    )
    first = table.iloc[0]
    name = style(first.estimator, first.estimator).name
    how = f"{name} with {first.rung:,} {first.knob}, {first.trials} trials combined"
    bound = {"lower": "lower bounds on", "upper": "upper bounds on"}.get(first.side, "estimates of")
    paper = (
        " Beneath stands what the paper prints; its data are not ours, so compare differences,"
        " not values."
        if table.paper.notna().any()
        else ""
    )
    return (
        '<section id="cross"><h2>The right model and the wrong ones</h2><p>Every model (across)'
        f" fitted to every data set (down) as to observed data, by {html.escape(how)}: {bound} the"
        " log evidence with their standard errors. In parentheses, how far a fit is behind the"
        f" model that made the data; the highest value of a row is marked.{paper}</p>"
        f"{_table(heads, rows)}</section>"
    )


def _cross_cell(r: pd.Series) -> str:
    def score(log_ml: float, behind: float) -> str:
        return number(log_ml, 1) + ("" if r.true else f" ({number(behind, 1)})")

    paper = (
        f"<small>paper {score(r.paper, r.paper_behind)}</small>" if math.isfinite(r.paper) else ""
    )
    return (
        f'<td class="number"><span'
        f' class="{"first" if r.best else ""}">{score(r.log_ml, r.behind)}</span>'
        f"<small>± {number(r.standard_error, 1)}</small>{paper}</td>"
    )


def ledger(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return ""
    pills = {
        "holds": ("yes", "✓ holds"),
        "does not hold": ("no", "✗ does not hold"),
        "within noise": ("open", "≈ within noise"),
        "not run": ("open", "not run"),
    }
    rows = []
    for v in verdicts:
        kind, word = pills[v.state]
        c = v.claim
        share = (
            "" if v.share is None else f" Held in {v.share:.0%} of {RESAMPLES} redrawn experiments."
        )
        rows.append(
            f'<tr><td><span class="pill {kind}">{word}</span></td>'
            f'<td>{html.escape(c.statement)} <span class="place">{html.escape(c.place)}</span>'
            f"<details><summary>rule and query</summary><p>Holds if: {typeset(c.rule)}.{share}</p>"
            f"<pre>{html.escape(source(c))}</pre></details></td>"
            f'<td data-head="paper">{typeset(c.paper)}</td><td'
            f' data-head="here">{typeset(v.ours)}</td></tr>'
        )
    return (
        '<section id="ledger"><h2>The paper’s claims</h2><p>Each row is decided by its query on'
        " the store; nothing is marked by "
        "hand. A verdict is within noise where fewer than nine in ten experiments with redrawn"
        " trials agree with it. Times in the paper are from its authors’ machine and code.</p>"
        '<div class="scroll"><table'
        ' class="ledger"><thead><tr><th></th><th>claim</th><th>paper</th><th>here</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )
