"""The low-rank and binary-attribute models, and the Discussion."""

from bracketz.papers.grosse2015.claims.queries import (
    BINARY,
    CLUSTERING,
    EVALUATED,
    LOW_RANK,
    MODELS,
    PRACTICAL,
    claim,
    full,
    improves,
    listed,
    steps,
    times,
    within_time,
)
from bracketz.papers.grosse2015.printed import HEADLINES
from bracketz.testbed.analysis.ledger import Decision, Experiment, NotDecided, seconds
from bracketz.testbed.analysis.measures import ACCURATE

STEPS = "the signal-to-noise ratios were chosen to come near these numbers (calibrate.py)"

# Low rank.


@claim("Results, low rank", "AIS reaches an RMSE of 8.6 nats in 1.6 seconds.", "8.6 nats, 1.6 s",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def low_rank_ais_time(e: Experiment) -> Decision:
    return within_time(e, LOW_RANK, "ais", *HEADLINES[LOW_RANK, "ais"])


@claim("Results, low rank", "AIS at its first accurate setting matches or surpasses every other algorithm at any time.",
       "1.6 s against 20 min", "its RMSE there is at most every other's best")  # fmt: skip
def low_rank_ais_surpasses(e: Experiment) -> Decision:
    first = e.first_accurate(LOW_RANK, "ais")
    best = {c: float(e.curve(LOW_RANK, c).rmse.min()) for c in EVALUATED if c != "ais"}
    rival = min(best, key=best.__getitem__)
    if first is None:
        return "AIS is never accurate", False
    return (
        f"AIS {first.rmse:.1f} in {seconds(first.seconds)}, next {full(rival)} {best[rival]:.1f}",
        first.rmse <= best[rival],
    )


@claim("Results, low rank", "Only AIS gets an RMSE below 10 nats.", "AIS alone", "exactly AIS")
def low_rank_ais_alone(e: Experiment) -> Decision:
    found = e.accurate(LOW_RANK, EVALUATED)
    return listed(found), found == {"ais"}


@claim("Results, low rank", "NS with 5 transitions takes the most steps on low rank, then binary, then clustering.",
       "904, 404, 208", "in this order", fitted=STEPS)  # fmt: skip
def nested_steps_order(e: Experiment) -> Decision:
    low_rank, binary, clustering = (steps(e, m) for m in (LOW_RANK, BINARY, CLUSTERING))
    return f"{low_rank:.0f}, {binary:.0f}, {clustering:.0f}", low_rank > binary > clustering


@claim("Results, low rank", "NS with 5 transitions takes 208, 904 and 404 steps (clustering, low rank, binary).",
       "208, 904, 404", "each within a factor of 2",
       fitted=STEPS)  # fmt: skip
def nested_steps_numbers(e: Experiment) -> Decision:
    ours = [steps(e, m) for m in MODELS]
    near = all(
        0.5 <= mine / theirs <= 2 for mine, theirs in zip(ours, (208, 904, 404), strict=True)
    )
    return ", ".join(f"{s:.0f}" for s in ours), near


@claim(
    "Results, low rank",
    "CMS underestimates by over 1000 nats.",
    "over 1000 nats low",
    "bias below -1000 nats",
)
def low_rank_cms_thousand(e: Experiment) -> Decision:
    bias = float(e.longest(LOW_RANK, "cms").bias)
    return f"{bias:+.1f} nats", bias < -1000


# Binary attributes.


@claim(
    "Results, binary",
    "Three algorithms get within 10 nats: NS, AIS and SMC.",
    "NS, AIS, SMC",
    "exactly these three",
)
def binary_three_accurate(e: Experiment) -> Decision:
    found = e.accurate(BINARY, EVALUATED)
    return listed(found), found == {"ais", "smc", "nested"}


@claim("Results, binary", "AIS reaches an RMSE of 7.5 nats in 16.5 minutes.", "7.5 nats, 16.5 min",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def binary_ais_time(e: Experiment) -> Decision:
    return within_time(e, BINARY, "ais", *HEADLINES[BINARY, "ais"])


@claim("Results, binary", "NS reaches an RMSE of 9.0 nats in 15.1 minutes.", "9.0 nats, 15.1 min",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def binary_nested_time(e: Experiment) -> Decision:
    return within_time(e, BINARY, "nested", *HEADLINES[BINARY, "nested"])


@claim("Results, binary", "SMC reaches an RMSE of 11.9 nats in 20.5 minutes.", "11.9 nats, 20.5 min",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def binary_smc_time_early(e: Experiment) -> Decision:
    return within_time(e, BINARY, "smc", 11.9, 1230)


@claim("Results, binary", "SMC reaches an RMSE of 4.7 nats in 69 minutes.", "4.7 nats, 69 min",
       "that RMSE in at most that time", about_seconds=True)  # fmt: skip
def binary_smc_time_late(e: Experiment) -> Decision:
    return within_time(e, BINARY, "smc", *HEADLINES[BINARY, "smc"])


@claim("Results, binary", "NS and AIS cross 10 nats in similar time.", "15.1 and 16.5 min",
       "both do, within a factor of 2")  # fmt: skip
def binary_nested_like_ais(e: Experiment) -> Decision:
    found, words = times(e, BINARY, ("nested", "ais"))
    a, b = found.values()
    return words, max(a, b) < float("inf") and max(a, b) <= 2 * min(a, b)


@claim(
    "Results, binary",
    "SMC crosses 10 nats later than AIS and NS.",
    "20.5 to 69 min",
    "all three get an RMSE < 10, and SMC takes the longest",
)
def binary_smc_last(e: Experiment) -> Decision:
    found, words = times(e, BINARY, ("ais", "nested", "smc"))
    return words, max(found["ais"], found["nested"]) < found["smc"] < float("inf")


@claim(
    "Results, binary",
    "AIS and SMC go on improving with more time.",
    "improve",
    "the longest run of each has a lower RMSE than one of a tenth of its length",
)
def binary_ais_smc_improve(e: Experiment) -> Decision:
    found = [improves(e, BINARY, curve) for curve in ("ais", "smc")]
    return ", ".join(words for words, _ in found), all(falls for _, falls in found)


@claim("Results, binary", "The accuracy of NS is limited by the variance of the estimator.", "variance",
       "variance within data sets makes up more than half of its MSE at the longest run")  # fmt: skip
def binary_nested_variance(e: Experiment) -> Decision:
    last = e.longest(BINARY, "nested")
    share = last.variance / last.mse
    return f"{share:.0%} of {last.mse:.0f} nats²", share > 0.5


# Discussion.


@claim(
    "Discussion",
    "No algorithm dominates on all models.",
    "none",
    "the first to RMSE < 10 is not the same everywhere",
)
def nobody_dominates(e: Experiment) -> Decision:
    winners = {}
    for model in MODELS:
        found, _ = times(e, model, EVALUATED)
        if min(found.values()) == float("inf"):
            raise NotDecided(f"nobody gets below 10 nats on {model}")
        winners[model] = min(found, key=found.__getitem__)
    words = ", ".join(f"{m}: {full(w)}" for m, w in winners.items())
    return words, len(set(winners.values())) > 1


@claim(
    "Discussion",
    "AIS is accurate on every model given enough distributions.",
    "all three",
    "RMSE < 10 on all three",
)
def ais_always_accurate(e: Experiment) -> Decision:
    found = [m for m in MODELS if e.first_accurate(m, "ais") is not None]
    return f"{len(found)} of 3", len(found) == 3


@claim("Discussion", "After AIS, SMC and NS are the strongest.", "AIS, SMC, NS",
       "no other algorithm without an exact sample is accurate on as many models")  # fmt: skip
def strongest_three(e: Experiment) -> Decision:
    wins = {c: sum(e.first_accurate(m, c) is not None for m in MODELS) for c in PRACTICAL}
    weakest = min(wins["ais"], wins["smc"], wins["nested"])
    others = max(n for c, n in wins.items() if c not in ("ais", "smc", "nested"))
    words = ", ".join(f"{full(c)} {n}" for c, n in wins.items() if n) + " of 3 models"
    return words, weakest > others


@claim(
    "Discussion",
    "LW, HME and BIC are unlikely to be accurate.",
    "never",
    "no RMSE < 10 on any model",
)
def three_never_accurate(e: Experiment) -> Decision:
    best = {c: min(float(e.curve(m, c).rmse.min()) for m in MODELS) for c in ("lw", "hme", "bic")}
    words = ", ".join(f"{full(c)} {r:.1f} at best" for c, r in best.items())
    return words, min(best.values()) >= ACCURATE
