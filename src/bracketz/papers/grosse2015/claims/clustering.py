"""The ground truth and the clustering model, and what the paper says about all models in passing
there."""

from bracketz.papers.grosse2015.claims.queries import (
    BINARY,
    CLUSTERING,
    EVALUATED,
    FAR,
    LOW_RANK,
    MODELS,
    PRACTICAL,
    VAST,
    claim,
    combined,
    constant,
    hint,
    listed,
    times,
    within_time,
)
from bracketz.papers.grosse2015.printed import HEADLINES
from bracketz.testbed.analysis.ledger import Decision, Experiment, NotRun, seconds
from bracketz.testbed.analysis.measures import ACCURATE, MARGIN


@claim("Results", "Forward and reverse AIS at the most distributions agree within 1 nat on all three models.",
       "within 1 nat", "gap at most 1 nat on every data set")  # fmt: skip
def truth_agrees(e: Experiment) -> Decision:
    if set(e.truth.problem) != set(MODELS):
        raise NotRun("the ground truth of all three models")
    for model in MODELS:
        e.require(model, "truth")
    widest = e.truth.gap.abs().groupby(e.truth.problem, sort=False).max()
    words = ", ".join(f"{problem} {gap:.2f}" for problem, gap in widest.items())
    return words + (" at most" if len(e.truth) > len(widest) else ""), bool((widest <= 1).all())


# Clustering.


@claim("Results, clustering", "Of the algorithms that need no exact sample, only AIS, SMC and NS get an RMSE below 10 nats.",
       "AIS, SMC, NS", "exactly these three")  # fmt: skip
def clustering_three_accurate(e: Experiment) -> Decision:
    found = e.accurate(CLUSTERING, PRACTICAL)
    return listed(found), found == {"ais", "smc", "nested"}


@claim("Results, clustering", "SMC is accurate first, then AIS, then NS.", "9.7 s, 37.8 s, 51.2 s",
       "time to RMSE < 10: SMC < AIS < NS")  # fmt: skip
def clustering_order(e: Experiment) -> Decision:
    found, words = times(e, CLUSTERING, ("smc", "ais", "nested"))
    return words, found["smc"] < found["ais"] < found["nested"] < float("inf")


@claim("Results, clustering", "SMC reaches an RMSE of 4.6 nats in 9.7 seconds.", "4.6 nats, 9.7 s",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def clustering_smc_time(e: Experiment) -> Decision:
    return within_time(e, CLUSTERING, "smc", *HEADLINES[CLUSTERING, "smc"])


@claim("Results, clustering", "AIS reaches an RMSE of 7.0 nats in 37.8 seconds.", "7.0 nats, 37.8 s",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def clustering_ais_time(e: Experiment) -> Decision:
    return within_time(e, CLUSTERING, "ais", *HEADLINES[CLUSTERING, "ais"])


@claim("Results, clustering", "NS reaches an RMSE of 5.7 nats in 51.2 seconds.", "5.7 nats, 51.2 s",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def clustering_nested_time(e: Experiment) -> Decision:
    return within_time(e, CLUSTERING, "nested", *HEADLINES[CLUSTERING, "nested"])


@claim(
    "Results, clustering",
    "NS tends to underestimate the log evidence.",
    "bias below 0",
    "bias below 0 at most rungs",
)
def clustering_nested_low(e: Experiment) -> Decision:
    bias = e.curve(CLUSTERING, "nested").bias
    return f"{int((bias < 0).sum())} of {len(bias)} rungs, mean bias {bias.mean():+.1f}", (
        bias < 0
    ).mean() > 0.5


@claim("Results, clustering", "NS overestimates the log evidence significantly on many runs: it is no stochastic lower bound.",
       "many runs", "more than 5 % of trials exceed the truth by over log 20 = 3.0 nats, which no lower bound may do")  # fmt: skip
def clustering_nested_no_bound(e: Experiment) -> Decision:
    e.require(CLUSTERING, "truth", "nested")
    mine = e.trials[(e.trials.problem == CLUSTERING) & (e.trials.curve == "nested")]
    if mine.empty:
        raise NotRun("nested on clustering")
    share = float((mine.log_ml > mine.truth + MARGIN).mean())
    return f"{share:.0%} of {len(mine)} trials", share > 0.05


@claim(
    "Results, clustering",
    "LW vastly underestimates.",
    "far below",
    f"bias below -{VAST:g} nats at its longest run",
)
def clustering_lw_low(e: Experiment) -> Decision:
    bias = e.longest(CLUSTERING, "lw").bias
    return f"{bias:+.1f} nats", bias < -VAST


@claim(
    "Results, clustering",
    "HME vastly overestimates.",
    "far above",
    f"bias above +{VAST:g} nats at its longest run",
)
def clustering_hme_high(e: Experiment) -> Decision:
    bias = e.longest(CLUSTERING, "hme").bias
    return f"{bias:+.1f} nats", bias > VAST


@claim("Results, clustering", "BIC is by far the least accurate; its MSE dwarfs even that of LW.", "worst by far",
       "the largest MSE of all at their longest runs, at least 10 times LW's")  # fmt: skip
def clustering_bic_worst(e: Experiment) -> Decision:
    mse = {c: float(e.longest(CLUSTERING, c).mse) for c in EVALUATED}
    ratio = mse["bic"] / mse["lw"]
    return f"BIC {mse['bic']:,.0f}, LW {mse['lw']:,.0f} nats²", max(
        mse, key=mse.__getitem__
    ) == "bic" and ratio >= 10


@claim("Results, clustering", "CMS is more accurate than LW and HME, but still far from the truth.", "between",
       f"RMSE at the longest run below LW's and HME's, and at least {FAR:g} nats")  # fmt: skip
def clustering_cms_between(e: Experiment) -> Decision:
    cms, lw, hme = (float(e.longest(CLUSTERING, c).rmse) for c in ("cms", "lw", "hme"))
    return f"CMS {cms:.1f}, LW {lw:.1f}, HME {hme:.1f} nats", cms < min(lw, hme) and cms >= FAR


@claim("Results, clustering", "LW's MSE is nearly constant over two orders of magnitude of time.", "nearly constant",
       "MSE within a factor of 2 over the last two decades of samples")  # fmt: skip
def clustering_lw_constant(e: Experiment) -> Decision:
    return constant(e, CLUSTERING, "lw")


@claim("Results, clustering", "HME's MSE is nearly constant over two orders of magnitude of time.", "nearly constant",
       "MSE within a factor of 2 over the last two decades of samples")  # fmt: skip
def clustering_hme_constant(e: Experiment) -> Decision:
    return constant(e, CLUSTERING, "hme")


@claim("Results, clustering", "CMS's MSE is nearly constant over two orders of magnitude of time.", "nearly constant",
       "MSE within a factor of 2 over the last two decades of samples")  # fmt: skip
def clustering_cms_constant(e: Experiment) -> Decision:
    return constant(e, CLUSTERING, "cms")


@claim("Results, clustering", "A single VB run takes 0.1 s.", "0.1 s", "one restart takes at most 0.1 s", about_seconds=True)  # fmt: skip
def clustering_vb_time(e: Experiment) -> Decision:
    one = _single_vb(e)
    return seconds(one.seconds), one.seconds <= 0.1


@claim("Results, clustering", "A single VB run beats what LW achieves after many samples.", "better",
       "mean bound of one restart above LW's mean at its longest run")  # fmt: skip
def clustering_vb_single(e: Experiment) -> Decision:
    one, lw = _single_vb(e), e.longest(CLUSTERING, "lw")
    return f"VB {one['mean']:.1f}, LW {lw['mean']:.1f}", one["mean"] > lw["mean"]


def _single_vb(e: Experiment):
    one = e.curve(CLUSTERING, "vb").iloc[0]
    if one.rung != 1:
        raise NotRun("variational Bayes with one restart")
    return one


@claim("Results, clustering", "After many restarts the best VB bound with symmetry correction is 15 nats low.",
       "15 nats low", "the best of all trials is low by 7.5 to 30 nats, within a factor of 2")  # fmt: skip
def clustering_vb_sym_gap(e: Experiment) -> Decision:
    error = float(e.longest(CLUSTERING, "vb-sym").combined_error)
    return f"{error:+.1f} nats", -30 <= error <= -7.5


@claim("Results, clustering", "VB from random starts finds the same optimum as from the hint, or a better one: clustering.",
       "same or better", "a trial of random restarts ends at most 0.5 nats below the hint on average")  # fmt: skip
def clustering_vb_hint(e: Experiment) -> Decision:
    return hint(e, CLUSTERING)


@claim("Results, clustering", "VB from random starts finds the same optimum as from the hint, or a better one: low rank.",
       "same or better", "a trial of random restarts ends at most 0.5 nats below the hint on average")  # fmt: skip
def low_rank_vb_hint(e: Experiment) -> Decision:
    return hint(e, LOW_RANK)


@claim("Results, clustering", "VB from random starts finds the same optimum as from the hint, or a better one: binary.",
       "same or better", "a trial of random restarts ends at most 0.5 nats below the hint on average")  # fmt: skip
def binary_vb_hint(e: Experiment) -> Decision:
    return hint(e, BINARY)


@claim("Results, clustering", "Where single AIS and SMC runs are within 10 nats, combining the trials is more accurate.",
       "more accurate", "combined error below the RMSE at 9 of 10 such rungs, all models")  # fmt: skip
def combining_helps_the_accurate(e: Experiment) -> Decision:
    for model in MODELS:
        e.require(model, "truth", "ais", "smc")
    rows = combined(e.pool[e.pool.curve.isin(["ais", "smc"]) & (e.pool.rmse < ACCURATE)])
    if rows.empty:
        raise NotRun("an accurate rung of AIS or SMC")
    better = rows.combined_rmse < rows.rmse
    ratio = (rows.combined_rmse / rows.rmse).median()
    return (
        f"{int(better.sum())} of {len(rows)} rungs, median ratio {ratio:.2f}",
        better.mean() >= 0.9,
    )


@claim("Results, clustering", "For all other algorithms and settings combining the trials makes little difference.",
       "little difference", "combined error at least half the RMSE at 9 of 10 such rungs, all models")  # fmt: skip
def combining_does_not_help_the_others(e: Experiment) -> Decision:
    for model in MODELS:
        e.require(model, "truth", *EVALUATED)
    others = e.pool.curve.isin(EVALUATED) & e.pool.rmse.notna()
    accurate = e.pool.curve.isin(["ais", "smc"]) & (e.pool.rmse < ACCURATE)
    rows = combined(e.pool[others & ~accurate])
    if rows.empty:
        raise NotRun("any other rung")
    alike = rows.combined_rmse >= 0.5 * rows.rmse
    odd = listed(set(rows.curve[~alike]))
    return f"{int(alike.sum())} of {len(rows)} rungs" + (
        f"; not: {odd}" if not alike.all() else ""
    ), alike.mean() >= 0.9


@claim("Figure 1, caption", "Individual and combined estimates differ little in quality on clustering.", "little",
       "the same algorithms get within 10 nats, single and combined")  # fmt: skip
def clustering_combined_alike(e: Experiment) -> Decision:
    combined(e.curve(CLUSTERING, "ais"))
    single, together = (
        e.accurate(CLUSTERING, PRACTICAL),
        e.accurate(CLUSTERING, PRACTICAL, "combined_rmse"),
    )
    return (
        f"single: {listed(single)}; combined: {listed(together)}",
        single == together,
    )
