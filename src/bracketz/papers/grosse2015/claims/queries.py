"""What the queries of the claims share, and the list they are entered in.

The rule of a claim says when it counts as holding. Orderings are about the nine estimators the
paper evaluates (reverse AIS, SHME and our Chib are in the figures only). Errors are those of single
trials, over all data sets of a model, unless a rule says otherwise.
"""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from bracketz.estimators.registry import ESTIMATORS
from bracketz.testbed.analysis.ledger import (
    Claim,
    Decision,
    Experiment,
    NotDecided,
    NotRun,
    seconds,
)

CLUSTERING, LOW_RANK, BINARY = "clustering", "low-rank", "binary-attributes"
MODELS = (CLUSTERING, LOW_RANK, BINARY)
#: Those that need no exact posterior sample (HME does).
PRACTICAL = ("bic", "lw", "ais", "smc", "vb", "vb-sym", "cms", "nested")
EVALUATED = (*PRACTICAL, "hme")
SAME_OPTIMUM = 0.5  # nats
#: "Far" from the truth (nats). "Accurate" is an error below 10, and an error from 10 to 15 is
#: neither: the paper calls bounds that are 15 nats low too far to tell models apart.
FAR = 15.0
#: Trials that the paper combines.
TRIALS = 25
#: What is said to be far off "vastly".
VAST = 20.0

CLAIMS: list[Claim] = []


def claim(
    place: str,
    statement: str,
    paper: str,
    rule: str,
    *,
    about_seconds: bool = False,
    fitted: str = "",
):
    """Enter the decorated query under its own name."""

    def enter(query):
        name = query.__name__.replace("_", "-")
        CLAIMS.append(Claim(name, place, statement, paper, rule, query, about_seconds, fitted))
        return query

    return enter


def full(curve: str) -> str:
    """An estimator's name as in a sentence."""
    if curve == "vb-hint":
        return "variational Bayes from the hint"
    return ESTIMATORS.find(curve).full_name or curve


def listed(curves: Iterable[str]) -> str:
    """Estimators in a sentence."""
    return ", ".join(map(full, sorted(curves))) or "none"


def within_time(e: Experiment, model: str, curve: str, rmse: float, limit: float) -> Decision:
    """Whether a curve reaches an RMSE within a time, and the quickest rung that does."""
    rows = e.curve(model, curve)
    good = rows[rows.rmse <= rmse].sort_values("seconds")
    if good.empty:
        best = rows.loc[rows.rmse.idxmin()]
        return f"best RMSE {best.rmse:.1f} in {seconds(best.seconds)}", False
    return f"RMSE {good.rmse.iloc[0]:.1f} in {seconds(good.seconds.iloc[0])}", good.seconds.iloc[
        0
    ] <= limit


def times(e: Experiment, model: str, curves: tuple[str, ...]) -> tuple[dict[str, float], str]:
    """Seconds to RMSE below 10 of each curve (infinite if never), and the same in words."""
    first = {c: e.first_accurate(model, c) for c in curves}
    found = {c: float("inf") if row is None else float(row.seconds) for c, row in first.items()}
    return found, ", ".join(f"{full(c)} {seconds(s)}" for c, s in found.items())


def constant(e: Experiment, model: str, curve: str) -> Decision:
    """Whether MSE changes by less than a factor of 2 over the last two decades of samples, which
    cost time in proportion; or over more where rungs are far apart."""
    rows = e.curve(model, curve)
    before = rows[rows.rung <= rows.rung.max() / 100]
    if before.empty:
        raise NotRun(f"{full(curve)} over two decades of samples")
    rows = rows[rows.rung >= before.rung.max()]
    factor = rows.mse.max() / rows.mse.min()
    return f"MSE {rows.mse.max():,.0f} to {rows.mse.min():,.0f} nats²", factor < 2


def combined(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose combined errors are of as many trials as the paper's."""
    if (rows.trials < TRIALS).any():
        raise NotRun(f"{TRIALS} trials to combine")
    return rows


def steps(e: Experiment, model: str) -> float:
    """Mean number of steps of nested sampling with 5 transitions per step."""
    e.require(model, "nested")
    d = e.details
    mine = d[(d.problem == model) & (d.curve == "nested") & (d.rung == 5) & (d.name == "steps")]
    if mine.empty:
        raise NotRun(f"nested on {model} with 5 transitions")
    return float(mine.value.mean())


class Lead(NamedTuple):
    """Nats by which the model that made the data leads the better of the wrong ones, on average
    over its data sets.

    ``slack``: what the true fit and the most unsettled of the others have to come, together; the
    lead may be off by so much.
    """

    nats: float
    slack: float
    words: str


def lead(e: Experiment, model: str) -> Lead:
    """That of one model's data; all its leads in words."""
    e.require(model, "cross")
    fits = [f"inferred-{m}" for m in MODELS]
    rows = e.cross[(e.cross.problem == model) & e.cross.fit.isin(fits)] if len(e.cross) else e.cross
    if rows.empty or not rows.groupby("data_seed").size().eq(len(fits)).all():
        raise NotRun(f"all three models fitted to {model} data")
    if rows.to_come.isna().any():
        raise NotDecided(f"nobody asked whether fits to {model} data have settled (cross.shorter)")
    come = rows.groupby("fit", sort=False).to_come.mean().abs()
    leads = rows[~rows.true].groupby("fit", sort=False).behind.agg(["mean", "min", "max"])
    words = (
        f"{r['mean']:+.1f} over {fit.removeprefix('inferred-')}"
        + (f" ({r['min']:+.1f} to {r['max']:+.1f})" if rows.data_seed.nunique() > 1 else "")
        for fit, r in leads.iterrows()
    )
    true = f"inferred-{model}"
    slack = float(come.drop(true).max() + come[true])
    return Lead(float(leads["mean"].min()), slack, ", ".join(words))


def ahead(e: Experiment, model: str) -> Decision:
    """Whether it leads, beyond what the fits have to come."""
    found = lead(e, model)
    if abs(found.nats) <= found.slack:
        raise NotDecided(
            f"{found.words}, and the fits may have {found.slack:.1f} nats to come together"
        )
    return found.words, found.nats > 0


def hint(e: Experiment, model: str) -> Decision:
    """The optimum of a trial of random restarts, on average, against the optimum from the hint."""
    random, hinted = e.longest(model, "vb"), e.longest(model, "vb-hint")
    ours, theirs = float(random["mean"]), float(hinted["mean"])
    return (
        f"best of {random.rung:,} restarts {ours:.1f} on average, hint {theirs:.1f}",
        ours >= theirs - SAME_OPTIMUM,
    )


def improves(e: Experiment, model: str, curve: str) -> tuple[str, bool]:
    """Whether the longest run is more accurate than one of a tenth of its length."""
    rows = e.curve(model, curve)
    last = rows.iloc[-1]
    before = rows[rows.rung <= last.rung / 10]
    if before.empty:
        raise NotRun(f"{full(curve)} over a decade of lengths")
    return (
        f"{full(curve)} {before.iloc[-1].rmse:.1f} in {seconds(before.iloc[-1].seconds)},"
        f" {last.rmse:.1f} in {seconds(last.seconds)}",
        bool(last.rmse < before.iloc[-1].rmse),
    )
