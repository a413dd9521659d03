"""Rows against truths: errors, what error bars are worth, seconds, failures.

Every error is beside the truth's own uncertainty. A claimed error bar *lies* where the value is off
by more than three times itself and the truth's error together; a failure is *silent* where a value
is off by more than half a nat, what the tool claims does not cover it, and no warning was given.
What decides is the error bar, and an interval with both sides where none is claimed.
"""

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from bracketz.testbed.league.plan import DEFAULT
from bracketz.testbed.league.truth import Truth

#: Nats within which an answer is good, and good enough.
NEAR, FAIR = 0.1, 0.5
#: Of the bars: half the width in standard errors of an interval of 95 %; where a bar lies.
WIDE, LIES = 1.96, 3.0
#: Of the calibration curve.
MULTIPLES = (0.5, 1.0, 1.5, 2.0, 3.0)
BY_TOOL, BY_PROBLEM = ["tool", "setting"], ["tool", "setting", "problem"]


def latest(rows: pd.DataFrame) -> pd.DataFrame:
    """Of runs that were made again (another limit, another version of a tool), the last one: it
    alone counts, whatever it says."""
    place = ["tool", "setting", "problem", "data_seed"]
    return rows.sort_values("ended").drop_duplicates(place, keep="last").sort_values(place)


def judged(rows: pd.DataFrame, truths: dict[tuple[str, int], Truth]) -> pd.DataFrame:
    """Rows with the truth beside, and what follows; without a truth these are missing."""
    frame = rows.copy()
    places = zip(frame.problem, frame.data_seed, frame.data, strict=True)
    found = [(truths.get((problem, seed)), data) for problem, seed, data in places]
    usable = [t if t is not None and t.data == data and _usable(t) else None for t, data in found]
    frame["truth"] = [math.nan if t is None else t.log_z for t in usable]
    frame["truth_error"] = [math.nan if t is None else t.error for t in usable]
    frame["truth_by"] = [None if t is None else t.by for t in usable]
    for name in ("log_z", "error", "low", "high", "seconds", "cpu_seconds", "calls"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce").astype(float)
    answered = frame.status == "done"
    frame["off"] = (frame.log_z - frame.truth).where(answered)
    frame["sigma"] = np.hypot(frame.error, frame.truth_error)
    frame["z"] = frame.off / frame.sigma.where(frame.sigma > 0)
    claims = answered & frame.error.notna() & frame.off.notna()
    frame["covers"] = _where(frame.off.abs() <= WIDE * frame.sigma, claims)
    frame["lies"] = _where(frame.off.abs() > LIES * frame.sigma, claims)
    sided = answered & frame.truth.notna() & (frame.low.notna() | frame.high.notna())
    slack = WIDE * frame.truth_error
    above = frame.low.isna() | (frame.truth >= frame.low - slack)
    below = frame.high.isna() | (frame.truth <= frame.high + slack)
    frame["inside"] = _where(above & below, sided)
    warned = frame.warnings.map(bool)
    # A bound on one side, however true, tells nobody that the value is off; nor does a wide
    # interval beside a narrow error bar.
    frame["both_sides"] = frame.low.notna() & frame.high.notna()
    covered = frame.covers.eq(True) | (~claims & frame.inside.eq(True) & frame.both_sides)
    frame["silent"] = answered & (frame.off.abs() > FAIR) & ~warned & ~covered
    return frame


def _usable(truth: Truth) -> bool:
    return truth.by != "sandwich" or truth.accepted


def _where(values: pd.Series, there: pd.Series) -> pd.Series:
    """Booleans, and None where the question does not arise."""
    return pd.Series([bool(v) if t else None for v, t in zip(values, there, strict=True)],
                     index=values.index, dtype=object)  # fmt: skip


def by_problem(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per tool, setting and problem of the league."""
    return _grouped(frame[frame.suite == "league"], BY_PROBLEM)


def by_tool(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per tool and setting; RMS errors are over data sets of all problems answered."""
    league = frame[frame.suite == "league"]
    table = _grouped(league, BY_TOOL)
    silent = frame[(frame.suite == "silent") & frame.silent]
    known = set(zip(table.tool, table.setting, strict=True))
    # What brings a failure about is a setting of the suite alone: it counts for the default.
    counts = Counter(
        key if (key := (row.tool, row.setting)) in known else (row.tool, DEFAULT)
        for row in silent.itertuples()
    )
    table["silent_in_suite"] = [counts[key] for key in zip(table.tool, table.setting, strict=True)]
    return table.sort_values(["fair", "near"], ascending=False, ignore_index=True)


def _grouped(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    lines = [
        dict(zip(keys, key, strict=True)) | _measures(group)
        for key, group in frame.groupby(keys, sort=True)
    ]
    columns = [*keys, *_measures(frame.iloc[:0])]
    return pd.DataFrame(lines, columns=columns)


def _measures(group: pd.DataFrame) -> dict[str, Any]:
    done = group[group.status == "done"]
    off = done.off.dropna()
    claimed = done[done.error.notna() & done.off.notna()]
    both, one = done.inside[done.both_sides], done.inside[~done.both_sides]
    judgeable = int(group.truth.notna().sum())
    return {
        "runs": len(group),
        "answers": len(done),
        "failed": int((~group.status.isin(["done", "timeout"])).sum()),
        "timeouts": int((group.status == "timeout").sum()),
        "judged": len(off),
        # Of all runs with a truth: what gives no answer is not near.
        "near": _share(off.abs() <= NEAR, judgeable),
        "fair": _share(off.abs() <= FAIR, judgeable),
        "bias": _mean(off),
        "rms": _rms(off),
        "worst": float(off.abs().max()) if len(off) else math.nan,
        "claimed": _rms(claimed.error),
        "ratio": _rms(claimed.off) / sigma if (sigma := _rms(claimed.sigma)) > 0 else math.nan,
        "coverage": _mean(claimed.covers.astype(float)),
        "lies": int(claimed.lies.astype(bool).sum()),
        "intervals": int(both.notna().sum()),
        "interval_coverage": _mean(both.dropna().astype(float)),
        "bounds": int(one.notna().sum()),
        "bound_coverage": _mean(one.dropna().astype(float)),
        "silent": int(group.silent.sum()),
        "seconds": _median(done.seconds),
        "cpu_seconds": _median(done.cpu_seconds),
        "calls": _median(done.calls),
    }


def seconds_to(frame: pd.DataFrame) -> pd.DataFrame:
    """For each tool and problem the least median seconds of a setting whose RMS error is at most
    0.1, and 0.5 nats, with every data set answered; missing where no setting is."""
    table = by_problem(frame)
    whole = table[table.judged == table.runs]
    lines = []
    for (tool, problem), _ in table.groupby(["tool", "problem"]):
        mine = whole[(whole.tool == tool) & (whole.problem == problem)]
        reached = {
            f"seconds_to_{nats}": mine[mine.rms <= nats].seconds.min() for nats in (NEAR, FAIR)
        }
        lines.append({"tool": tool, "problem": problem} | reached)
    columns = ["tool", "problem", f"seconds_to_{NEAR}", f"seconds_to_{FAIR}"]
    return pd.DataFrame(lines, columns=columns)


def calibration(frame: pd.DataFrame) -> pd.DataFrame:
    """For each tool and setting, the share of errors within multiples of the claimed error."""
    claimed = frame[(frame.suite == "league") & frame.z.notna()]
    lines = []
    for key, group in claimed.groupby(BY_TOOL, sort=True):
        for multiple in MULTIPLES:
            share = float((group.z.abs() <= multiple).mean())
            lines.append(
                dict(zip(BY_TOOL, key, strict=True))
                | {"multiple": multiple, "share": share, "count": len(group),
                   "normal": math.erf(multiple / math.sqrt(2))}
            )  # fmt: skip
    return pd.DataFrame(lines, columns=[*BY_TOOL, "multiple", "share", "count", "normal"])


def of_suite(frame: pd.DataFrame, suite: str) -> pd.DataFrame:
    """Every run of a suite: how far off, what was claimed, whether anybody was warned."""
    columns = ["problem", "tool", "setting", "data_seed", "status", "log_z", "truth", "off",
               "error", "z", "low", "high", "silent", "warnings", "message"]  # fmt: skip
    order = ["problem", "tool", "setting", "data_seed"]
    return frame.loc[frame.suite == suite, columns].sort_values(order, ignore_index=True)


def _share(good: pd.Series, count: int) -> float:
    return float(good.sum()) / count if count else math.nan


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else math.nan


def _rms(values: pd.Series) -> float:
    return math.sqrt(float((values**2).mean())) if len(values) else math.nan


def _median(values: pd.Series) -> float:
    values = values.dropna()
    return float(values.median()) if len(values) else math.nan
