"""What the queries of the claims share, and the list they are entered in.

The rule of a claim says when it counts as holding; it was fixed here before the full run. Orderings
are about the nine estimators the paper evaluates (reverse AIS, SHME and our Chib are in the figures
only).
"""

from bracketz.testbed.analysis.ledger import Claim, Decision, Experiment, NotRun, seconds

CLUSTERING, LOW_RANK, BINARY = "clustering", "low-rank", "binary-attributes"
MODELS = (CLUSTERING, LOW_RANK, BINARY)
#: Those that need no exact posterior sample (HME does).
PRACTICAL = ("bic", "lw", "ais", "smc", "vb", "vb-sym", "cms", "nested")
EVALUATED = (*PRACTICAL, "hme")
SAME_OPTIMUM = 0.5  # nats

CLAIMS: list[Claim] = []


def claim(place: str, statement: str, paper: str, rule: str):
    """Enter the decorated query under its own name."""

    def enter(query):
        CLAIMS.append(Claim(query.__name__.replace("_", "-"), place, statement, paper, rule, query))
        return query

    return enter


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
    return found, ", ".join(f"{c} {seconds(s)}" for c, s in found.items())


def constant(e: Experiment, model: str, curve: str) -> Decision:
    """Whether RMSE changes by less than a factor of 2 over the last two decades of time."""
    rows = e.curve(model, curve)
    rows = rows[rows.seconds >= rows.seconds.max() / 130]
    if rows.seconds.max() < 50 * rows.seconds.min():
        raise NotRun(f"{curve} over two decades of time")
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
    """Nats by which the model that made the data leads the best wrong one (least over data sets);
    all leads in words."""
    fits = [f"inferred-{m}" for m in MODELS]
    rows = e.cross[(e.cross.problem == model) & e.cross.fit.isin(fits)] if len(e.cross) else e.cross
    if rows.empty or not rows.groupby("data_seed").size().eq(len(fits)).all():
        raise NotRun(f"all three models fitted to {model} data")
    wrong = rows[~rows.true]
    words = (f"{r.behind:+.1f} over {r.fit.removeprefix('inferred-')}" for r in wrong.itertuples())
    return float(wrong.behind.min()), ", ".join(words)


def hint(e: Experiment, model: str) -> Decision:
    """The best optimum of random starts against the optimum from the hint."""
    random = float(e.longest(model, "vb").combined)
    hinted = float(e.longest(model, "vb-hint").combined)
    return f"random {random:.1f}, hint {hinted:.1f}", random >= hinted - SAME_OPTIMUM
