"""Simulated data treated as observed: how often do intervals hold the truth, and do twins know?

    python benchmarks/observed.py [--json] [--smoke] [--only NAME,...] [--seeds 200] [--begin 0]
                                  [--twins 4] [--gap 1] [--jobs 1] [--abreast 1] [--keep FILE]
                                  [--kept] [--paper] [--phase]

Per model and data set ``bz.evidence(model, y, twins=4)``, which is not told the exact sample, and
``bz.sandwich`` on the same data, which is: its Bennett estimate is the truth. Counted: data sets
with an upper bound, intervals that hold the truth (and those that miss it by more than two of its
standard errors), and the same among those whose twins were all covered. The last table holds upper
bounds from coupled chains against upper bounds from the exact sample.
``--keep`` writes each data set's line into a file as it comes, and goes on from it; ``--kept``
shows what is in it. ``--abreast``: so many data sets as one batch, for a card. ``--paper``: the
three models at the paper's size, 50 x 25, 64 coupled chains.
``--phase``: runs that all sit in the wrong place, which no meeting time tells, and what twins say.
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import Report, Row, Table, at_least, main, number, say

BENCHMARK = "observed"
#: Rows and columns of a shipped model's data.
SIZES, PAPER = (20, 5), (50, 25)
#: Gap that the sandwich is asked for.
TRUTH = 0.1
#: Share of intervals that hold the truth where twins gave their blessing.
GOAL = 0.95


def model_of(name: str, paper: bool):
    """(model, arguments of ``simulate``)."""
    from your_model_problems import Logistic, covariates

    import bracketz as bz

    if paper:
        kinds = {"clustering": bz.Clustering, "low-rank": bz.LowRank}
        return kinds.get(name, bz.BinaryAttributes)(), PAPER
    shipped = {
        "clustering": lambda: bz.Clustering(3),
        "low-rank": lambda: bz.LowRank(2),
        "binary-attributes": lambda: bz.BinaryAttributes(3),
        "inferred-clustering": lambda: bz.InferredClustering(3),
        "inferred-low-rank": lambda: bz.InferredLowRank(2),
        "inferred-binary-attributes": lambda: bz.InferredBinaryAttributes(2),
    }
    if name in shipped:
        return shipped[name](), SIZES
    if name == "logistic":
        return Logistic(covariates(100, 4)), ()
    return eight_schools(), ()


def eight_schools():
    """Non-centred: mu ~ N(0, 5), log tau with tau ~ half-Cauchy of scale 5, theta = mu + tau z."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    import bracketz as bz

    errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def tau_of(x):
        return jnp.exp(x["log_tau"])

    def prior(x):
        tau = tau_of(x)
        half_cauchy = jnp.log(2 / (5 * jnp.pi)) - jnp.log1p((tau / 5) ** 2) + x["log_tau"]
        return norm.logpdf(x["mu"], 0, 5) + half_cauchy + jnp.sum(norm.logpdf(x["z"]))

    def draw(key):
        a, b, c = jax.random.split(key, 3)
        tau = 5 * jnp.abs(jnp.tan(jnp.pi * (jax.random.uniform(b) - 0.5)))
        return {
            "mu": 5 * jax.random.normal(a),
            "log_tau": jnp.log(tau),
            "z": jax.random.normal(c, (8,)),
        }

    return bz.from_functions(
        lambda x, y: norm.logpdf(y, x["mu"] + tau_of(x) * x["z"], errors),
        log_prior=prior,
        sample_prior=draw,
        simulate=lambda key, x: (
            x["mu"] + tau_of(x) * x["z"] + errors * jax.random.normal(key, (8,))
        ),
        name="eight schools",
    )


NAMES = (
    "clustering",
    "low-rank",
    "binary-attributes",
    "inferred-clustering",
    "inferred-low-rank",
    "inferred-binary-attributes",
    "logistic",
    "eight-schools",
)


def one(model, shape, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """What the procedure says of one data set, and the truth."""
    import bracketz as bz

    starts = 64 if options.paper else 16

    data = bz.simulate(model, *shape, seed=seed)
    began = time.perf_counter()
    answer = bz.evidence(
        model, data.y, gap=options.gap, twins=options.twins, starts=starts, chains=64, seed=seed
    )
    seconds = time.perf_counter() - began
    # Sharper than the intervals, so that misses are theirs and not the yardstick's.
    truth = bz.sandwich(model, data, gap=TRUTH, chains=100, seed=50_000 + seed)
    return {
        "seed": seed,
        "low": answer.interval.low - truth.log_ml,
        "high": None if answer.interval.high is None else answer.interval.high - truth.log_ml,
        "estimate": answer.log_ml - truth.log_ml,
        "upper": None if answer.upper is None else answer.upper - truth.log_ml,
        "upper_exact": truth.upper - truth.log_ml,
        "truth_error": truth.standard_error,
        "starts": answer.starts,
        "total_variation": answer.total_variation,
        "longest": answer.meetings.max,
        "twins": None if answer.twins is None else answer.twins.covered,
        "margin": None if answer.twins is None else answer.twins.margin,
        "distributions": answer.distributions,
        "seconds": seconds,
    }


def several(
    name: str, seeds: list[int], options: argparse.Namespace, core: int | None = None
) -> list[dict[str, Any]]:
    """In a process of its own: programs are compiled once."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    model, shape = model_of(name, options.paper)
    out = []
    for seed in seeds:
        try:
            found = one(model, shape, seed, options)
        except Exception as error:  # a broken run is a row, not the end of the study
            found = {"seed": seed, "failed": f"{type(error).__name__}: {error}"}
        out.append(found)
        if options.keep:
            with options.keep.open("a") as file:
                file.write(json.dumps({"model": name} | found) + "\n")
    return out


def kept(file: Path | None) -> dict[str, list[dict[str, Any]]]:
    """By model, what a study before this one found."""
    found: dict[str, list] = {name: [] for name in NAMES}
    for line_ in file.read_text().splitlines() if file and file.exists() else ():
        row = json.loads(line_)
        found[row.pop("model")].append(row)
    return found


def missed(row: dict[str, Any], slack: float) -> bool:
    """Whether the truth is outside the interval by more than so many of its standard errors."""
    allow = slack * row["truth_error"]
    above = row["high"] is not None and row["high"] < -allow
    return row["low"] > allow or above


def line(name: str, rows: list[dict[str, Any]], twins: int) -> tuple[list[Row], list[str]]:
    """Goals and a line of the table."""
    failed = [r for r in rows if "failed" in r]
    rows = [r for r in rows if "failed" not in r]
    there = [r for r in rows if r["high"] is not None]
    blessed = [r for r in there if r["twins"] == twins]
    held = [not missed(r, 0.0) for r in there]
    blessed_held = [not missed(r, 0.0) for r in blessed]
    near, loose = ([not missed(r, slack) for r in there] for slack in (1.0, 2.0))
    widths = [r["high"] - r["low"] for r in there]
    share = float(np.mean(blessed_held)) if blessed else float("nan")
    goal = at_least(GOAL)
    said = f"{sum(blessed_held)} of {len(blessed)}"
    cells = [
        name,
        f"{len(there)} of {len(rows)}",
        f"{sum(held)} ({np.mean(held):.1%})" if held else "-",
        f"{sum(near)} ({np.mean(near):.1%})" if near else "-",
        f"{sum(loose)} ({np.mean(loose):.1%})" if loose else "-",
        said + (f" ({share:.1%})" if blessed else ""),
        number(float(np.median(widths))) if widths else "-",
        number(float(np.median([r["low"] for r in there]))) if there else "-",
        number(float(np.median([r["truth_error"] for r in rows]))) if rows else "-",
        number(float(np.sqrt(np.mean([r["estimate"] ** 2 for r in rows])))) if rows else "-",
        number(float(np.median([r["seconds"] for r in rows]))) if rows else "-",
        str(len(failed)),
    ]
    return [Row(BENCHMARK, name, "covered, twins' blessing", share, "", goal, said)], cells


def phase(options: argparse.Namespace) -> Report:
    """What coupled chains cannot see: inferred clustering, 50 x 25 with ten clusters, from the
    prior, where runs sit in the wrong phase; and from a reference."""
    import bracketz as bz

    model = bz.InferredClustering(10)
    data = bz.simulate(model, *PAPER, seed=1)
    truth = bz.sandwich(model, data, chains=64, first=512, max_effort=512)
    lines = []
    for reference, effort in ((False, 64), (False, 512), (True, 512)):
        found = bz.evidence(
            model,
            data.y,
            reference=reference,
            first=effort,
            max_effort=effort,
            twins=options.twins,
        )
        say(found.statement)
        twins, end = found.twins, found.interval.high
        lines.append(
            [
                "reference" if reference else "prior",
                f"{effort}",
                f"[{found.interval.low:.1f}, {'none' if end is None else f'{end:.1f}'}]",
                f"{found.meetings.met} of {found.meetings.pairs}",
                "-" if twins is None else f"{twins.covered} of {twins.count}",
                "-" if twins is None else f"{twins.bias:+.1f}",
            ]
        )
    columns = ["begins at", "distributions", "interval", "met", "twins covered", "twins' bias"]
    title = f"inferred clustering; sandwich: [{truth.lower:.1f}, {truth.upper:.1f}]"
    return Report(BENCHMARK, [], [Table(title, columns, lines)])


def run(options: argparse.Namespace) -> Report:
    from bracketz.engine.abreast import abreast

    if options.phase:
        return phase(options)
    names = [n for n in NAMES if n in options.only.split(",")]
    if options.paper:
        names = [n for n in names if n in NAMES[:3]]
    if options.smoke:
        options.seeds, options.twins, names = 2, 1, names[:1]
    seeds, twins = range(options.begin, options.begin + options.seeds), options.twins
    found = kept(options.keep)
    left = {n: sorted(set(seeds) - {r["seed"] for r in found[n]}) for n in names}
    if options.kept:
        left = {}
    parts = max(1, options.jobs // max(len(names), 1))
    work = [(n, s[k::parts]) for n, s in left.items() for k in range(parts) if s[k::parts]]
    if options.jobs > 1:
        cores = sorted(os.sched_getaffinity(0))
        with ProcessPoolExecutor(options.jobs) as pool:
            asked = [
                (n, pool.submit(several, n, s, options, cores[k % len(cores)]))
                for k, (n, s) in enumerate(work)
            ]
            for n, future in asked:
                found[n] += future.result()
                say(f"{n}: {len(found[n])} of {len(seeds)} data sets")
    else:
        for n, s in work:
            for k in range(0, len(s), options.abreast):
                batch = s[k : k + options.abreast]
                for lines_ in abreast([partial(several, n, [seed], options) for seed in batch]):
                    found[n] += lines_
            say(f"{n}: {len(found[n])} data sets")
    names = [n for n in names if found[n]]
    rows, lines, agree, lost = [], [], [], []
    for n in names:
        made, cells = line(n, found[n], twins)
        rows += made
        lines.append(cells)
        there = [r for r in found[n] if r.get("upper") is not None]
        apart = [r["upper"] - r["upper_exact"] for r in there]
        longest = [r["longest"] or 0 for r in there]
        if apart:
            agree.append(
                [
                    n,
                    number(float(np.mean(apart))),
                    number(float(np.std(apart))),
                    number(float(np.max(np.abs(apart)))),
                    str(max(longest)),
                ]
            )
        for r in found[n]:
            if "failed" in r:
                lost.append([n, str(r["seed"]), r["failed"][:60], "", ""])
            elif r["high"] is not None and missed(r, 2.0):
                by = f"missed by {max(r['low'], -r['high']):.2f}"
                lost.append(
                    [n, str(r["seed"]), by, f"{r['twins']} of {twins}", f"{r['margin']:.2f}"]
                )
    tables = [
        Table(
            f"data treated as observed; {twins} twins each",
            [
                "model",
                "upper bound",
                "covered",
                "within 1 s.e.",
                "within 2 s.e.",
                "covered, blessed",
                "width",
                "low end",
                "truth's s.e.",
                "RMS error",
                "s",
                "failed",
            ],
            lines,
        ),
        Table(
            "upper bounds from coupled chains less those from the exact sample (nats)",
            ["model", "mean", "SD", "largest", "longest meeting"],
            agree,
        ),
        Table("misses beyond 2 s.e.", ["model", "seed", "what", "twins", "margin"], lost),
    ]
    return Report(BENCHMARK, rows, tables, details={"found": found})


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default=",".join(NAMES), help="models, with commas between")
    parser.add_argument("--seeds", type=int, default=200, help="data sets of each model")
    parser.add_argument("--begin", type=int, default=0, help="the first seed")
    parser.add_argument("--twins", type=int, default=4, help="of each data set")
    parser.add_argument("--gap", type=float, default=1.0, help="to aim at")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--abreast", type=int, default=1, help="data sets as one batch")
    parser.add_argument("--keep", type=Path, help="file to keep lines in, and to go on from")
    parser.add_argument("--kept", action="store_true", help="show what is in the file, run nothing")
    parser.add_argument("--phase", action="store_true", help="what coupled chains cannot see")
    parser.add_argument("--paper", action="store_true", help="three models at the paper's size")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or "", options))
