"""Pictures and a page of what the checks saw (Matplotlib)."""

import html
import json
from pathlib import Path

import numpy as np

from bracketz.check.geweke import PP
from bracketz.check.outcome import Report, Result
from bracketz.check.pairs import Runs

FORWARD, REVERSE, GREY = "#0072B2", "#D55E00", "#555555"


def save(report: Report, folder: Path) -> list[Path]:
    """``report.json``, ``report.html`` and one picture a check that has something to show; returns the pictures."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    for result in report.results:
        if result.picture is None:
            continue
        figure = _draw(plt, result)
        path = folder / f"{result.name}.png"
        figure.savefig(path, dpi=140)
        plt.close(figure)
        saved.append(path)
    (folder / "report.json").write_text(json.dumps(report.to_json(), indent=2))
    (folder / "report.html").write_text(_page(report, saved))
    return saved


def _draw(plt, result: Result):
    picture = result.picture
    if isinstance(picture, PP):
        return _pp_plots(plt, result, [picture])
    if isinstance(picture, list):
        return _pp_plots(plt, result, picture)
    if picture[0] == "bounds":
        return _calibration(plt, result, *picture[1:])
    return _crooks(plt, result, *picture)


def _finish(figure, result: Result):
    verdict = "passed" if result.passed else "FAILED"
    figure.suptitle(
        f"{result.name}: {verdict} (p = {result.statistic:.2g}, threshold {result.threshold:.1g})",
        fontsize=11,
    )
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure


def _pp_plots(plt, result: Result, panels: list[PP]):
    """Distribution functions of every statistic, one way of drawing against the other: the diagonal if both agree."""
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 4.4), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        n = panel.num_chains
        far = np.argsort(np.abs(panel.chains - panel.forward).max(axis=0))
        for j in far:
            axis.plot(panel.forward[:, j], panel.chains[:, j], color=GREY, lw=0.7, alpha=0.35)
        worst = far[-1]
        axis.plot(
            panel.forward[:, worst], panel.chains[:, worst], color=REVERSE, lw=1.6,
            label=f"furthest: {panel.names[worst]}",
        )  # fmt: skip
        # The 99.9 % band of Kolmogorov's test for one statistic.
        band = 1.95 / np.sqrt(n)
        axis.fill_between(
            [0, 1], [-band, 1 - band], [band, 1 + band], color=FORWARD, alpha=0.12, lw=0, label="99.9 % band"
        )
        axis.set(
            xlim=(0, 1),
            ylim=(0, 1),
            xlabel="forward draws",
            ylabel="successive-conditional chains",
            title=panel.title,
        )
        axis.set_aspect("equal")
        axis.legend(frameon=False, fontsize=8, loc="upper left")
    return _finish(figure, result)


def _crooks(plt, result: Result, name: str, runs: Runs):
    """Both work distributions, and the log of their ratio against the straight line it must follow."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.0))
    centre = runs.truth if runs.truth is not None else 0.5 * (runs.forward[:, 0] + runs.reverse[:, 0])
    forward, reverse = runs.forward[:, 0] - centre, runs.reverse[:, 0] - centre
    low, high = np.quantile(np.concatenate([forward, reverse]), [0.005, 0.995])
    edges = np.linspace(low, high, 31)
    middle = 0.5 * (edges[1:] + edges[:-1])
    counts = [np.histogram(values, edges)[0] for values in (forward, reverse)]
    for count, colour, label in zip(counts, (FORWARD, REVERSE), ("forward", "reverse"), strict=True):
        left.stairs(count, edges, color=colour, fill=True, alpha=0.35)
        left.stairs(count, edges, color=colour, lw=1.4, label=label)
    left.axvline(0, color=GREY, lw=1, ls="--")
    left.set(xlabel="estimate - truth  [nats]", ylabel="data sets", title=name)
    left.legend(frameon=False)
    seen = (counts[0] >= 5) & (counts[1] >= 5)
    ratio = np.log(counts[1][seen]) - np.log(counts[0][seen])
    error = np.sqrt(1 / counts[0][seen] + 1 / counts[1][seen])
    right.errorbar(
        middle[seen], ratio, 2 * error, fmt="o", ms=4, color=FORWARD, capsize=2, label="counts, ± 2 s.e."
    )
    ends = (middle[seen].min() - 0.3, middle[seen].max() + 0.3) if seen.any() else (low, high)
    right.plot(ends, ends, color=GREY, ls="--", lw=1, label="Crooks: log q_B/q_F = l - log Z")
    right.set(xlabel="l - log Z  [nats]", ylabel="log (reverse / forward)", title="the whole curve")
    right.legend(frameon=False, fontsize=8)
    return _finish(figure, result)


def _calibration(plt, result: Result, lower, upper):
    """How often each bound passes the truth by b, against e^-b."""
    figure, axis = plt.subplots(figsize=(5.2, 4.0))
    margin = np.linspace(0, 3, 61)
    for values, colour, label in ((lower, FORWARD, "lower bound"), (-upper, REVERSE, "upper bound")):
        axis.plot(
            margin,
            [np.mean(values > b) for b in margin],
            color=colour,
            lw=1.8,
            label=f"{label} beyond the truth by b",
        )
    axis.plot(margin, np.exp(-margin), color=GREY, ls="--", lw=1, label="allowed: e^-b")
    axis.set(xlabel="b  [nats]", ylabel="share of data sets", ylim=(0, 1))
    axis.legend(frameon=False, fontsize=8)
    return _finish(figure, result)


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #8884}
.fail{color:#d33;font-weight:600}.skip{opacity:.6}img{max-width:100%;background:#fff}"""


def _page(report: Report, pictures: list[Path]) -> str:
    rows = []
    for r in report.results:
        word, kind = (
            ("n/a", "skip") if r.passed is None else ("passed", "ok") if r.passed else ("FAILED", "fail")
        )
        numbers = "" if r.passed is None else f"{r.statistic:.2g}</td><td>{r.threshold:.2g}"
        cells = (r.name, str(r.kind), word)
        line = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(
            f"<tr class={kind}>{line}<td>{numbers or '</td><td>'}</td><td>{html.escape(r.detail)}</td></tr>"
        )
    images = "".join(f'<h2>{p.stem}</h2><img src="{p.name}" alt="{p.stem}">' for p in pictures)
    failures = "".join(
        f"<p class=fail>{html.escape(r.name)}: {html.escape(r.detail)} Usual cause: {html.escape(r.bug)}</p>"
        for r in report.failures
    )
    verdict = "passes" if report.passed else "fails"
    return (
        f"<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>check {report.model}</title>"
        f"<style>{STYLE}</style><h1>{html.escape(report.model)} {verdict}</h1><p>level {report.level}, seed {report.seed}, {len(report.results)} of"
        f" {report.planned} checks run; a correct model fails anything with probability at most {report.false_alarm_rate:.0%}.</p>{failures}"
        f"<table><tr><th>check<th>kind<th>verdict<th>statistic<th>threshold<th>what was seen</tr>{''.join(rows)}</table>{images}"
    )
