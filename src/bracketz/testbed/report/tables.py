"""The tables of the report, as HTML."""

import html
import math
import re

import pandas as pd

from bracketz.plots.curves import title
from bracketz.plots.style import order, style
from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis.firmness import RESAMPLES
from bracketz.testbed.analysis.ledger import Verdict, counted, seconds, source


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
    unsettled = not r.settled and math.isfinite(r.to_come)
    loose = f"<small>{number(r.to_come, 1)} to come</small>" if unsettled else ""
    return (
        f'<td class="number"><span'
        f' class="{"first" if r.best else ""}">{score(r.log_ml, r.behind)}</span>'
        f"<small>± {number(r.standard_error, 1)}</small>{loose}{paper}</td>"
    )


#: How a state of a verdict looks: its pill's class, and its words.
PILLS = {
    "holds": ("yes", "✓ holds"),
    "does not hold": ("no", "✗ does not hold"),
    "within noise": ("open", "≈ within noise"),
    "not decided": ("open", "? not decided"),
    "not run": ("open", "not run"),
}


def ledger(verdicts: list[Verdict], told: str) -> str:
    """The whole section: what it comes to, buttons that filter, a row per claim."""
    if not verdicts:
        return ""
    mine = [v for v in verdicts if not v.claim.about_seconds]
    theirs = [v for v in verdicts if v.claim.about_seconds]
    fitted = sum(bool(v.claim.fitted) for v in verdicts)
    notes = "" if not fitted else f" {fitted} are marked, because settings were fitted to them."
    return (
        f'<section id="ledger"><h2>The paper’s claims</h2><p class="lead">{html.escape(told)}</p>'
        "<p>Each row is decided by its query on the store; nothing is marked by hand. A verdict is"
        " within noise where fewer than nine in ten redrawn experiments agree with it: data sets"
        " (where there are several), trials and the trials behind the ground truth are drawn anew."
        f"{notes}</p>{_filters(mine)}{_claims(mine)}"
        + (
            "<h3>About its authors’ machine</h3><p>Seconds are those of their machine and code, so"
            f" these claims are counted apart.</p>{_claims(theirs)}"
            if theirs
            else ""
        )
        + "</section>"
    )


def _filters(verdicts: list[Verdict]) -> str:
    buttons = [
        f'<button type="button" data-state="" aria-pressed="true">all {len(verdicts)}</button>'
    ]
    for state, count in counted(verdicts).items():
        if count:
            buttons.append(
                f'<button type="button" data-state="{state}" aria-pressed="false">'
                f"{state} {count}</button>"
            )
    return (
        '<div class="switches filters"><span class="segmented" role="group"'
        f' aria-label="Verdicts">{"".join(buttons)}</span></div>'
    )


def _claims(verdicts: list[Verdict]) -> str:
    rows = []
    for v in verdicts:
        kind, word = PILLS[v.state]
        c = v.claim
        share = (
            "" if v.share is None else f" Held in {v.share:.0%} of {RESAMPLES} redrawn experiments."
        )
        fitted = f'<p class="fitted">Fitted: {typeset(c.fitted)}.</p>' if c.fitted else ""
        rows.append(
            f'<tr data-verdict="{v.state}"><td><span class="pill {kind}">{word}</span></td>'
            f'<td>{html.escape(c.statement)} <span class="place">{html.escape(c.place)}</span>'
            f"{fitted}{_explained(v)}"
            f"<details><summary>rule and query</summary><p>Holds if: {typeset(c.rule)}.{share}</p>"
            f"<pre>{html.escape(source(c))}</pre></details></td>"
            f'<td data-head="paper">{typeset(c.paper)}</td><td'
            f' data-head="here">{typeset(v.ours)}</td></tr>'
        )
    return (
        '<div class="scroll"><table'
        ' class="ledger"><thead><tr><th></th><th>claim</th><th>paper</th><th>here</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _explained(v: Verdict) -> str:
    """Why, beside the claim, with the numbers it rests on."""
    told = v.explanation
    if told is None:
        return ""
    numbers = ""
    if told.table is not None:
        heads = "".join(f"<th>{html.escape(str(name))}</th>" for name in told.table.columns[1:])
        rows = [
            f"<tr><th>{html.escape(str(first))}</th>"
            + "".join(f'<td class="number">{_cell(value)}</td>' for value in rest)
            + "</tr>"
            for first, *rest in told.table.itertuples(index=False)
        ]
        numbers = _table(heads, rows)
    made = f"<p>Numbers: {html.escape(told.source)}</p>" if told.source else ""
    opened = " open" if v.state == "does not hold" else ""
    return (
        f'<details class="why"{opened}><summary>why</summary><p>{typeset(told.text)}</p>'
        f"{numbers}{made}</details>"
    )


def _cell(value) -> str:
    return number(value, 1) if isinstance(value, float) else html.escape(str(value))
