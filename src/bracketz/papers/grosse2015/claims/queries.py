"""What the queries of the claims share, and the list they are entered in.

The rule of a claim says when it counts as holding. Orderings are about the nine estimators the
paper evaluates (reverse AIS, SHME and our Chib are in the figures only). Errors are those of single
trials, over all data sets of a model, unless a rule says otherwise.
"""

from collections.abc import Iterable

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
#: Chance that a trend appears in a curve without one.
TREND = 0.05

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
    """Whether RMSE changes by less than a factor of 2 over the last two decades of time."""
    rows = e.curve(model, curve)
    rows = rows[rows.seconds >= rows.seconds.max() / 130]
    if rows.seconds.max() < 50 * rows.seconds.min():
        raise NotRun(f"{full(curve)} over two decades of time")
    factor = rows.rmse.max() / rows.rmse.min()
    return f"RMSE {rows.rmse.max():.1f} to {rows.rmse.min():.1f}", factor < 2


def steps(e: Experiment, model: str) -> float:
    """Mean number of steps of nested sampling with 5 transitions per step."""
    d = e.details
    mine = d[(d.problem == model) & (d.curve == "nested") & (d.rung == 5) & (d.name == "steps")]
    if mine.empty:
        raise NotRun(f"nested on {model} with 5 transitions")
    return float(mine.value.mean())


def lead(e: Experiment, model: str) -> tuple[float, str]:
    """Nats by which the model that made the data leads the better of the wrong ones, on average
    over its data sets; all leads in words."""
    fits = [f"inferred-{m}" for m in MODELS]
    rows = e.cross[(e.cross.problem == model) & e.cross.fit.isin(fits)] if len(e.cross) else e.cross
    if rows.empty or not rows.groupby("data_seed").size().eq(len(fits)).all():
        raise NotRun(f"all three models fitted to {model} data")
    loose = rows[~rows.settled]
    if len(loose):
        worst = loose.loc[loose.to_come.abs().idxmax()]
        raise NotDecided(
            f"{len(loose)} of {len(rows)} fits to {model} data have not settled (the worst,"
            f" {worst.fit.removeprefix('inferred-')}, has {worst.to_come:.1f} nats to come)"
        )
    wrong = rows[~rows.true]
    leads = wrong.groupby("fit", sort=False).behind.agg(average="mean", low="min", high="max")
    words = (
        f"{r.average:+.1f} over {fit.removeprefix('inferred-')}"
        + (f" ({r.low:+.1f} to {r.high:+.1f})" if rows.data_seed.nunique() > 1 else "")
        for fit, r in leads.iterrows()
    )
    return float(leads.average.min()), ", ".join(words)


def hint(e: Experiment, model: str) -> Decision:
    """The optimum of a trial of random restarts, on average, against the optimum from the hint."""
    random, hinted = e.longest(model, "vb"), e.longest(model, "vb-hint")
    ours, theirs = float(random["mean"]), float(hinted["mean"])
    return (
        f"best of {random.rung:,} restarts {ours:.1f} on average, hint {theirs:.1f}",
        ours >= theirs - SAME_OPTIMUM,
    )


def improves(e: Experiment, model: str, curve: str) -> tuple[str, bool]:
    """Whether errors fall with time beyond chance (Kendall's test of no trend, one-sided)."""
    from scipy.stats import kendalltau

    rows = e.curve(model, curve)
    test = kendalltau(rows.seconds, rows.rmse, alternative="less")
    words = (
        f"{full(curve)} {rows.rmse.iloc[0]:.1f} to {rows.rmse.iloc[-1]:.1f}"
        f" (tau {test.statistic:+.2f})"
    )
    return words, bool(test.pvalue <= TREND)
