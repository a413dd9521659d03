"""The certificate of generalised linear models: does it cover, what does it take, where does it
end?

    python benchmarks/glm.py [--json] [--smoke] [--only coverage|real|limits] [--data-dir DIR]

Coverage: 100 simulated data sets, treated as observed. The truth is a reference that shares no code
with the certificate: importance sampling from a Student distribution at the mode, 200,000 draws,
whose own error is printed. Seconds are those of a call after the first one of its shape, which
compiles.

Real data (scikit-learn's, columns standardised, an intercept, prior N(0, 1)): the interval, or the
predicted number of tries where it refuses. With ``--data-dir`` also ionosphere.csv and sonar.csv
of the UCI repository in that folder: a line of names, y in the first column.

Limits: predicted tries per exact draw against the radius R, over designs of many sizes, with the
bound on all rows together and with the largest row alone.
"""

import argparse
import dataclasses
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from report import Report, Row, Table, at_least, main, number, say
from scipy.special import gammaln

from bracketz import InputError, certify_glm
from bracketz.inference.glm.envelope import (
    Rates,
    envelope,
    log_sphere,
    lower_bound,
    rates,
    upper_bound,
)
from bracketz.inference.glm.regression import as_regression, whiten

#: name, rows, columns, family, scale of the true coefficients, scale of the prior.
CASES = (
    ("few rows", 25, 2, "logistic", 1.0, 5.0),
    ("200 x 10", 200, 10, "logistic", 0.5, 1.0),
    ("wide prior", 150, 6, "logistic", 1.0, 10.0),
    ("counts", 100, 5, "poisson", 0.3, 1.0),
)
#: Of --data-dir.
FILES = ("ionosphere", "sonar")
DATA_SETS, REFERENCE_DRAWS, CONFIDENCE = 25, 200_000, 0.95
#: 100 intervals of 95 %: 90 or fewer has probability 0.03, if they cover exactly so often.
COVERED = 0.9
SIZES = {
    2: (8, 20, 100),
    5: (20, 60, 300),
    10: (40, 120, 600),
    20: (100, 400, 2000),
    40: (400, 1500, 6000),
}


def simulated(seed: int, rows: int, columns: int, family: str, scale: float):
    """(X, y), an intercept first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[:, 0] = 1.0
    eta = x @ (scale * rng.normal(size=columns))
    y = (
        rng.random(rows) < 1 / (1 + np.exp(-eta))
        if family == "logistic"
        else rng.poisson(np.exp(eta))
    )
    return x, np.asarray(y, dtype=float)


def reference(x, y, family: str, scale: float, draws: int, seed: int) -> tuple[float, float]:
    """(log evidence, standard error) by importance sampling, from scratch."""
    d, rng, freedom = x.shape[1], np.random.default_rng(seed), 6.0

    def log_joint(beta):
        eta = beta @ x.T
        if family == "logistic":
            fit = np.sum(y * eta - np.logaddexp(eta, 0), axis=1)
        else:
            fit = np.sum(y * eta - np.exp(eta) - gammaln(y + 1), axis=1)
        prior = -0.5 * np.sum((beta / scale) ** 2, axis=1) - d * math.log(
            scale * math.sqrt(2 * math.pi)
        )
        return fit + prior

    mode = np.zeros(d)
    for _ in range(200):  # Newton with a cap on the step
        eta = x @ mode
        p = np.exp(eta) if family == "poisson" else 1 / (1 + np.exp(-eta))
        w = p if family == "poisson" else p * (1 - p)
        hessian = (x.T * w) @ x + np.eye(d) / scale**2
        step = np.linalg.solve(hessian, x.T @ (y - p) - mode / scale**2)
        mode = mode + step * min(1.0, 0.5 / np.max(np.abs(step), initial=1e-300))
    root = np.linalg.cholesky(np.linalg.inv(hessian)) * 1.1
    weights = []
    for count in [20_000] * (draws // 20_000) or [draws]:
        z = rng.normal(size=(count, d)) * np.sqrt(freedom / rng.chisquare(freedom, size=(count, 1)))
        log_q = (
            gammaln((freedom + d) / 2)
            - gammaln(freedom / 2)
            - 0.5 * d * math.log(freedom * math.pi)
            - np.sum(np.log(np.diag(root)))
            - 0.5 * (freedom + d) * np.log1p(np.sum(z**2, axis=1) / freedom)
        )
        weights.append(log_joint(mode + z @ root.T) - log_q)
    w = np.concatenate(weights)
    top = w.max()
    mean = np.mean(np.exp(w - top))
    return float(top + np.log(mean)), float(np.std(np.exp(w - top)) / mean / math.sqrt(len(w)))


class Trial(NamedTuple):
    covered: bool
    certain: bool
    width: float
    certain_width: float
    tries: float
    predicted: float
    seconds: float
    error: float


def trial(seed: int, case, draws: int) -> Trial:
    _, rows, columns, family, scale, prior = case
    x, y = simulated(seed, rows, columns, family, scale)
    truth, error = reference(x, y, family, prior, draws, seed + 10_000)
    answer = certify_glm(
        x, y, family=family, prior_scale=prior, confidence=CONFIDENCE, seed=seed, max_tries=10**9
    )
    low, high = answer.deterministic
    return Trial(
        answer.lower <= truth <= answer.upper,
        low - 5 * error <= truth <= high + 5 * error,
        answer.upper - answer.lower,
        high - low,
        answer.tries_per_draw,
        answer.predicted_tries,
        answer.seconds,
        error,
    )


def coverage(data_sets: int, draws: int) -> tuple[list[Row], Table, list[Trial]]:
    lines, everything = [], []
    for case in CASES:
        name, rows, columns, family, _, prior = case
        certify_glm(*simulated(1, rows, columns, family, 0.3), family=family)  # compiles
        found = [trial(seed, case, draws) for seed in range(data_sets)]
        everything += found
        say(f"{name}: {sum(t.covered for t in found)} of {data_sets} covered")
        mean = Trial(*np.mean(np.array(found, dtype=float), axis=0))
        lines.append(
            [
                name,
                f"{rows} x {columns}",
                family,
                f"{prior:g}",
                f"{sum(t.covered for t in found)} of {data_sets}",
                f"{mean.width:.3f}",
                f"{sum(t.certain for t in found)} of {data_sets}",
                f"{mean.certain_width:.2f}",
                f"{mean.tries:.3g}",
                f"{mean.predicted:.3g}",
                f"{np.median([t.seconds for t in found]):.2f}",
                f"{mean.error:.4f}",
            ]
        )
    columns_of = [
        "case",
        "size",
        "family",
        "prior",
        f"covered ({CONFIDENCE:.0%})",
        "width",
        "covered (no sampling)",
        "width",
        "tries per draw",
        "predicted",
        "seconds",
        "error of the truth",
    ]
    share = float(np.mean([t.covered for t in everything]))
    certain = float(np.mean([t.certain for t in everything]))
    goals = [
        Row("glm", "all", "intervals that cover", share, goal=at_least(COVERED)),
        Row("glm", "all", "deterministic intervals that cover", certain, goal=at_least(1.0)),
    ]
    return goals, Table("coverage", columns_of, lines), everything


def real_data(smoke: bool, folder: Path | None) -> Table:
    """scikit-learn's data sets with two classes, or made so, and the files of a folder."""
    from sklearn import datasets

    iris, wine = datasets.load_iris(), datasets.load_wine()
    cancer, digits = datasets.load_breast_cancer(), datasets.load_digits()
    two = iris.target > 0
    eight = np.isin(digits.target, (3, 8))
    problems = {
        "iris, versicolor or virginica": (iris.data[two], iris.target[two] == 2),
        "wine, class 1 or not": (wine.data, wine.target == 1),
        "breast cancer, 5 columns": (cancer.data[:, :5], cancer.target),
        "breast cancer, 10 columns": (cancer.data[:, :10], cancer.target),
        "breast cancer, all columns": (cancer.data, cancer.target),
        "digits, 3 or 8": (digits.data[eight], digits.target[eight] == 8),
    }
    for name in FILES if folder else ():
        values = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        problems[name] = (values[:, 1:], values[:, 0])
    lines = []
    for name, (x, y) in problems.items():
        if smoke and len(lines) == 1:
            break
        x = x[:, x.std(axis=0) > 0]
        x = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)])
        began = time.perf_counter()
        try:
            found = certify_glm(x, y, family="logistic")
            interval = f"[{found.lower:.2f}, {found.upper:.2f}]"
            tries = number(found.tries_per_draw)
        except InputError:
            found = certify_glm(x, y, family="logistic", draws=0)
            interval, tries = "refused", ""
        seconds = time.perf_counter() - began
        low, high = found.deterministic
        lines.append(
            [
                name,
                f"{len(x)} x {x.shape[1]}",
                f"{found.leverage:.2f}",
                f"{found.radius:.2f}",
                f"{found.predicted_tries:.2g}",
                tries,
                interval,
                f"[{low:.2f}, {high:.2f}]",
                f"{seconds:.1f}",
            ]
        )
        say(f"{name}: {interval}")
    columns = [
        "data",
        "size",
        "largest row",
        "R",
        "predicted tries",
        "tries",
        "certified (95 %)",
        "no sampling",
        "seconds",
    ]
    return Table("real data", columns, lines)


class Design(NamedTuple):
    columns: int
    rows: int
    radius: float
    tries: float
    largest_row: float
    tries_plain: float


def design(seed: int, rows: int, columns: int, family: str, prior: float) -> Design:
    x, y = simulated(seed, rows, columns, family, 1.0 / math.sqrt(columns))
    at = whiten(
        as_regression(x, y, family=family, prior_scale=prior, prior_covariance=None, offset=None)
    )
    found, low = rates(at), lower_bound(at)
    plain = dataclasses.replace(found, linear=found.leverage, skew=found.leverage, quadratic=0.0)
    tries, tries_plain = (
        math.exp(min(upper_bound(at, envelope(each, columns)) - low, 200.0))
        for each in (found, plain)
    )
    return Design(columns, rows, found.linear, tries, found.leverage, tries_plain)


def limits(smoke: bool) -> tuple[list[Design], Table]:
    designs = []
    for columns, sizes in SIZES.items():
        if smoke and columns > 5:
            break
        for rows in sizes:
            for k, prior in enumerate((0.5, 1.0, 3.0, 10.0)):
                designs.append(design(k, rows, columns, "logistic", prior))
            designs.append(design(9, rows, columns, "poisson", 1.0))
    lines = []
    for columns in dict.fromkeys(d.columns for d in designs):
        here = [d for d in designs if d.columns == columns]
        affordable = [d.radius for d in here if d.tries <= 25_000]
        plain = [d for d in here if d.tries_plain <= 25_000]
        lines.append(
            [
                str(columns),
                str(len(here)),
                f"{len(affordable)}",
                f"{len(plain)}",
                f"{min(d.radius for d in here):.2f} to {max(d.radius for d in here):.2f}",
                f"{max(affordable):.2f}" if affordable else "none",
                number(float(np.median([d.tries_plain / d.tries for d in here]))),
            ]
        )
    columns_of = [
        "columns",
        "designs",
        "affordable",
        "by the largest row",
        "R",
        "largest R affordable",
        "tries saved (median factor)",
    ]
    return designs, Table("limits: 400 draws in 10,000,000 tries", columns_of, lines)


def curve(columns: int, radii: np.ndarray) -> np.ndarray:
    """Tries per draw by R alone: no prior, no skewness known, a posterior that is Gaussian."""
    gaussian = 0.5 * columns * math.log(2 * math.pi)
    return np.array(
        [
            envelope(
                Rates(linear=r, skew=r, quadratic=0.0, share=0.0, gradient=0.0, leverage=r),
                columns,
                1024,
            ).log_integral
            + log_sphere(columns)
            - gaussian
            for r in radii
        ]
    )


def picture(designs: list[Design], path: Path) -> None:
    """Tries per exact draw against R: filled for all rows together, hollow for the largest row."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = list(dict.fromkeys(d.columns for d in designs))
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(columns)))
    figure, grid = plt.subplots(1, 2, figsize=(10.5, 4.6), sharey=True, constrained_layout=True)
    radii = np.geomspace(0.025, 20, 60)
    for frame, (x, y), title in zip(
        grid,
        (("radius", "tries"), ("largest_row", "tries_plain")),
        ("all rows together (in use)", "the largest row alone (plain argument)"),
        strict=True,
    ):
        for d, colour in zip(columns, colours, strict=True):
            here = [each for each in designs if each.columns == d]
            frame.plot(radii, curve(d, radii) / math.log(10), color=colour, lw=1, alpha=0.6)
            frame.plot(
                [getattr(each, x) for each in here],
                [math.log10(getattr(each, y)) for each in here],
                "o",
                color=colour,
                ms=5,
                mec="white",
                mew=0.5,
                label=f"{d}",
            )
        frame.axhline(math.log10(25_000), color="#D55E00", lw=1.2)
        frame.set(xscale="log", xlim=(0.025, 20), ylim=(-0.3, 14), title=title)
        ticks = ["0.03", "0.1", "0.3", "1", "3", "10"]
        frame.set_xticks([float(tick) for tick in ticks], ticks)
        frame.minorticks_off()
        frame.grid(alpha=0.25)
        frame.set_xlabel("radius R")
    grid[0].set_yticks(
        range(0, 15, 2),
        ["1", "100", "$10^4$", "$10^6$", "$10^8$", "$10^{10}$", "$10^{12}$", "$10^{14}$"],
    )
    grid[0].set_ylabel("tries per exact posterior draw")
    grid[0].text(0.028, math.log10(25_000) + 0.2, "default budget", color="#D55E00", fontsize=9)
    grid[1].plot([], [], color="#777777", lw=1, label="what R alone implies")
    handles, labels = grid[1].get_legend_handles_labels()
    grid[1].legend(handles[-1:], labels[-1:], fontsize=9, loc="upper left")
    grid[0].legend(title="columns", fontsize=9, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def benchmark(options: argparse.Namespace) -> Report:
    data_sets, draws = (2, 2000) if options.smoke else (DATA_SETS, REFERENCE_DRAWS)
    goals, tables, notes, details = [], [], [], {}
    if options.only in (None, "coverage"):
        goals, table, trials = coverage(data_sets, draws)
        tables.append(table)
        details["trials"] = [t._asdict() for t in trials]
    if options.only in (None, "real"):
        tables.append(real_data(options.smoke, options.data_dir))
    if options.only in (None, "limits"):
        designs, table = limits(options.smoke)
        tables.append(table)
        details["designs"] = [d._asdict() for d in designs]
        picture(designs, options.plot)
        notes.append(f"picture: {options.plot.name}")
    return Report("glm", goals, tables, notes, details)


def options(parser: argparse.ArgumentParser) -> None:
    where = Path(__file__).parents[1] / "docs" / "images" / "glm-limits.png"
    parser.add_argument("--plot", type=Path, default=where)
    parser.add_argument("--data-dir", type=Path, help="with ionosphere.csv and sonar.csv")
    parser.add_argument("--only", choices=("coverage", "real", "limits"))


if __name__ == "__main__":
    sys.exit(main(benchmark, __doc__, options))
