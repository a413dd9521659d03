"""What is measured: ground truth, mean log evidence with its interval, bias, MSE, time to accuracy,
coverage.

Everything is computed from the trials in the store. Errors are against the ground truth of the data
set; without an accepted truth there are none (NaN). The runs that make the truth get no error of
their own.
"""

import json
import math

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bracketz.core.results import Certificate
from bracketz.estimators.registry import ESTIMATORS
from bracketz.testbed.store.frames import Frames

#: "Accurate": a root mean squared error below this many nats (paper, section "How much accuracy is
#: required?").
ACCURATE = 10.0
#: Claimed bounds may be wrong by more than b nats with probability below e^-b; coverage is counted
#: at this b.
MARGIN = math.log(20.0)
CONFIDENCE = 0.95
#: A fit of the cross-model table has settled if a run without end would add at most so many nats
#: (``cross_table`` says how that is told).
SETTLED = 1.0
#: Samplers and their exact reversals: the mean gap of a pair bounds the sampler's Jeffreys
#: divergence.
REVERSAL = {cls.reverses: name for name, cls in ESTIMATORS.items() if cls.reverses}
DATA_SET = ["problem", "data_seed"]


def combined_value(estimator: str, values: np.ndarray) -> tuple[float, float]:
    """Trials of an estimator as one value, and its standard error (``Estimator.combined``)."""
    return ESTIMATORS.find(estimator).combined(values)


def mean_squared_error(values: np.ndarray, truth_value: float) -> float:
    """Of single trials against the ground truth (nats squared)."""
    return float(np.mean((values - truth_value) ** 2))


def truth(frames: Frames) -> pd.DataFrame:
    """One row per data set: forward and reverse AIS at the most distributions, averaged; accepted
    if they agree.

    ``low`` and ``high`` cover log p(y) with 90 % probability (``Certificate``), agreement or not.
    """
    rows = []
    values = _values(frames)
    done = frames.tasks[(frames.tasks.role == "truth") & (frames.tasks.status == "done")]
    for (problem, data_seed), pair in done.groupby(DATA_SET, sort=False):
        trials = {r.estimator: values[r.task] for r in pair.itertuples()}
        if len(trials) < 2:
            continue
        lower, upper = (combined_value(name, trials[name])[0] for name in ("ais", "reverse-ais"))
        certificate = Certificate.from_weights(trials["ais"], trials["reverse-ais"], 0.9)
        rows.append(
            {
                "problem": problem,
                "data_seed": data_seed,
                "log_ml": 0.5 * (lower + upper),
                "lower": lower,
                "upper": upper,
                "gap": upper - lower,
                "accepted": abs(upper - lower) <= frames.experiment["agree_within"],
                "low": certificate.low,
                "high": certificate.high,
                "distributions": int(pair.rung.iloc[0]),
                "chains": int(pair.trials.iloc[0]),
            }
        )
    columns = [
        *DATA_SET,
        "log_ml",
        "lower",
        "upper",
        "gap",
        "accepted",
        "low",
        "high",
        "distributions",
        "chains",
    ]
    return pd.DataFrame(rows, columns=columns)


def summary(frames: Frames, truths: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per rung of a curve on a data set.

    mean, mean_low, mean_high: the expected estimate of the log evidence of one trial and Student's
    95 % interval for it. bias, mse, rmse: of single trials. combined: all trials as one estimate;
    combined_se (infinite: none), combined_error and combined_mse are its own. seconds: run time per
    trial, amortised; latency: of one trial run alone, where asked. coverage: share of trials within
    ``MARGIN`` nats of the claimed side (claimed: at least 95 %). jeffreys: mean gap to the reversed
    sampler, for ais and smc of one particle: chains of several that are resampled are not each
    other's reversal.
    """
    truths = truth(frames) if truths is None else truths
    known = {(t.problem, t.data_seed): t for t in truths.itertuples() if t.accepted}
    values = _values(frames)
    tasks = frames.tasks[frames.tasks.status == "done"]
    makes_truth = set(tasks.task[tasks.role == "truth"])
    alone = tasks[tasks.role == "latency"].set_index([*DATA_SET, "curve", "rung"]).seconds.to_dict()
    curves = tasks[tasks.role == "curve"]
    reversed_mean = {
        _pairing(t, t.estimator): float(np.mean(values[t.task]))
        for t in curves.itertuples()
        if t.estimator in REVERSAL.values()
    }
    rows = []
    for t in curves.itertuples():
        at = known.get((t.problem, t.data_seed))
        row = {
            "problem": t.problem,
            "data_seed": t.data_seed,
            "curve": t.curve,
            "estimator": t.estimator,
            "side": t.side,
            "knob": t.knob,
            "rung": t.rung,
            "trials": t.trials,
            "seconds": t.seconds,
            "latency": alone.get((t.problem, t.data_seed, t.curve, t.rung), math.nan),
            "makes_truth": t.task in makes_truth,
            "task": t.task,
        }
        row |= _scores(values[t.task], t, at.log_ml if at else math.nan, row["makes_truth"])
        mate = _pairing(t, REVERSAL.get(t.estimator, ""))
        single = json.loads(t.content)["settings"].get("particles", 1) == 1
        row["jeffreys"] = reversed_mean.get(mate, math.nan) - row["mean"] if single else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def cross_table(frames: Frames) -> pd.DataFrame:
    """One row per data set and model fitted to it as to observed data; each data set's rows follow
    each other.

    log_ml, standard_error: all trials as one value (infinite: no error bar). true: whether the fit
    is of the model that made the data (its hyperparameters fixed there). best: the highest value on
    its data set. behind: nats below the true model (negative: above it), below the best where no
    true one was fitted. paper, paper_behind: what the experiment's paper prints. to_come: where a
    shorter run was made too, what the longer one still lacks if what a run lacks falls as slowly as
    one over the root of its length; settled: whether that is at most ``SETTLED`` nats (false where
    nobody asked).
    """
    values = _values(frames)
    printed = frames.paper.printed_cross if frames.paper else {}
    fits = frames.tasks[frames.tasks.role == "cross"]
    done, longest = fits[fits.status == "done"], fits.rung.max()
    rows = []
    for (problem, data_seed), group in done.groupby(DATA_SET, sort=False):
        theirs = printed.get(problem, {})
        shorter = group[group.rung < longest].set_index("curve")
        for t in group[group.rung == longest].itertuples():
            log_ml, error = combined_value(t.estimator, values[t.task])
            to_come = math.nan
            if t.curve in shorter.index:
                before = shorter.loc[t.curve]
                rise = log_ml - combined_value(before.estimator, values[before.task])[0]
                to_come = rise / (math.sqrt(t.rung / before.rung) - 1)
            paper = theirs.get(t.curve, math.nan)
            maker = json.loads(t.content)["made_by"]["model"]
            rows.append(
                {
                    "problem": problem,
                    "data_seed": data_seed,
                    "fit": t.curve,
                    "model": t.model,
                    "true": t.model.removeprefix("inferred-") == maker,
                    "estimator": t.estimator,
                    "side": t.side,
                    "knob": t.knob,
                    "rung": t.rung,
                    "trials": t.trials,
                    "seconds": t.seconds,
                    "log_ml": log_ml,
                    "standard_error": error,
                    "to_come": to_come,
                    "settled": abs(to_come) <= SETTLED,
                    "paper": paper,
                    "paper_behind": theirs.get(f"inferred-{maker}", math.nan) - paper,
                }
            )
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    by_data_set = [table[name] for name in DATA_SET]
    best = table.log_ml.groupby(by_data_set).transform("max")
    true = table.log_ml.where(table.true).groupby(by_data_set).transform("max")
    return table.assign(behind=true.fillna(best) - table.log_ml, best=table.log_ml == best)


def _values(frames: Frames) -> dict[str, np.ndarray]:
    unique = frames.trials.drop_duplicates(["task", "trial"])
    return {task: group.to_numpy() for task, group in unique.groupby("task").log_ml}


def _pairing(task, estimator: str) -> tuple:
    """What a sampler and its reversal have in common."""
    settings = json.loads(task.content)["settings"]
    return (
        task.problem,
        task.data_seed,
        estimator,
        task.rung,
        json.dumps(settings, sort_keys=True),
    )


def _scores(values: np.ndarray, task, truth_value: float, makes_truth: bool) -> dict[str, float]:
    n = len(values)
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) if n > 1 else math.nan
    error = spread / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) * error if n > 1 else math.nan
    combined, combined_se = combined_value(task.estimator, values)
    # The runs behind the truth are not judged by it.
    reference = math.nan if makes_truth else truth_value
    mse = mean_squared_error(values, reference)
    beyond = {"lower": values - reference, "upper": reference - values}.get(task.side)
    return {
        "mean": mean,
        "mean_low": mean - half,
        "mean_high": mean + half,
        "spread": spread,
        "variance": float(np.var(values)),
        "truth": truth_value,
        "bias": mean - reference,
        "mse": mse,
        "rmse": math.sqrt(mse),
        "combined": combined,
        "combined_se": combined_se,
        "combined_error": combined - reference,
        "combined_mse": (combined - reference) ** 2,
        "coverage": math.nan
        if beyond is None or math.isnan(reference)
        else float(np.mean(beyond <= MARGIN)),
    }


def pooled(table: pd.DataFrame) -> pd.DataFrame:
    """``summary`` averaged over the data sets of each problem: one row per rung of a curve.

    With one data set means are log evidences; with several they are ``errors``, ``truth`` is 0, and
    data sets without an accepted truth are left out.
    """
    if table.empty:
        return table
    rows = []
    data_sets = table.groupby("problem").data_seed.nunique()
    for (problem, _, _), group in table.groupby(["problem", "curve", "rung"], sort=False):
        several = bool(data_sets[problem] > 1)
        row = group.iloc[0].to_dict()
        if several:
            judged = group[group.truth.notna()]
            group = judged if len(judged) else group
            shift = group.truth if len(judged) else 0.0  # without any truth: plain averages
            row["truth"] = 0.0 if len(judged) else math.nan
            half = (group.mean_high - group["mean"]).to_numpy()
            width = math.sqrt(np.sum(half**2)) / len(group)
            row["mean"] = float((group["mean"] - shift).mean())
            row["mean_low"], row["mean_high"] = row["mean"] - width, row["mean"] + width
            row["combined"] = float((group.combined - shift).mean())
            row["combined_se"] = math.sqrt(float((group.combined_se**2).sum())) / len(group)
            for name in (
                "bias",
                "mse",
                "combined_error",
                "combined_mse",
                "seconds",
                "latency",
                "coverage",
                "jeffreys",
                "spread",
                "variance",
            ):
                row[name] = float(group[name].mean())
            row["rmse"] = math.sqrt(row["mse"])
        row["combined_rmse"] = math.sqrt(row["combined_mse"])
        row |= {"data_sets": len(group), "errors": several}
        rows.append(row)
    return pd.DataFrame(rows).drop(columns=["data_seed", "task"])


def bounds(pool: pd.DataFrame) -> pd.DataFrame:
    """One row per curve that claims a side: its coverage over all rungs, and the Jeffreys bound at
    the top one."""
    rows = []
    claimed = pool[pool.side.isin(["lower", "upper"]) & pool.coverage.notna()]
    for (problem, curve), group in claimed.groupby(["problem", "curve"], sort=False):
        last = group.sort_values("rung").iloc[-1]
        row = {"problem": problem, "curve": curve, "estimator": last.estimator, "side": last.side}
        weights = group.trials * group.data_sets
        row |= {
            "trials": int(weights.sum()),
            "coverage": float((group.coverage * weights).sum() / weights.sum()),
        }
        rows.append(row | {"jeffreys": last.jeffreys, "rung": last.rung})
    return pd.DataFrame(rows)


def headline(pool: pd.DataFrame) -> pd.DataFrame:
    """One row per curve: when it first gets below ``ACCURATE``, how accurate it gets, how it
    ends."""
    rows = []
    for (problem, curve), group in pool.groupby(["problem", "curve"], sort=False):
        group = group.sort_values("seconds")
        judged = group[group.rmse.notna()]
        reached = judged[judged.rmse < ACCURATE]
        best = judged.loc[judged.rmse.idxmin()] if len(judged) else None
        last = group.sort_values("rung").iloc[-1]
        rows.append(
            {
                "problem": problem,
                "curve": curve,
                "estimator": last.estimator,
                "side": last.side,
                "seconds_to_accurate": reached.seconds.iloc[0] if len(reached) else math.nan,
                "rmse_there": reached.rmse.iloc[0] if len(reached) else math.nan,
                "rung_there": reached.rung.iloc[0] if len(reached) else math.nan,
                "best_rmse": best.rmse if best is not None else math.nan,
                "best_seconds": best.seconds if best is not None else math.nan,
                "best_bias": best.bias if best is not None else math.nan,
                "best_combined_error": best.combined_error if best is not None else math.nan,
                "longest_seconds": group.seconds.max(),
                "shortest_seconds": group.seconds.min(),
                "coverage": group.coverage.min(),
                "jeffreys": last.jeffreys,
            }
        )
    return pd.DataFrame(rows)


def tables(frames: Frames) -> dict[str, pd.DataFrame]:
    """All frames by name, measures included: what ``experiment export`` writes."""
    truths = truth(frames)
    found = {
        "tasks": frames.tasks,
        "trials": frames.trials,
        "details": frames.details,
        "truth": truths,
        "summary": summary(frames, truths),
    }
    cross = cross_table(frames)
    return found if cross.empty else found | {"cross": cross}
