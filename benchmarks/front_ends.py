"""Textbook models from every front end: are both bounds near, and what did the user have to write?

    python benchmarks/front_ends.py [--json] [--smoke] [--only NumPyro,PyMC,Stan] [--seeds 2]

Each model of examples/your_model on data simulated from it, ``bz.sandwich(model, data, gap=0.2,
chains=256, looks=3)``: how far lower and upper bound lie from Bennett's estimate, and that one's
error bar; the number of lines of the model's function; seconds of the second call, in which nothing
is compiled. A NumPyro regression with known noise is held against its closed form.
"""

import argparse
import importlib
import inspect
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from report import Report, Row, Table, at_most, main, number, say

import bracketz as bz

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "your_model"))
#: Modules of examples/your_model, each with a dictionary MODELS.
FRONT_ENDS = {"NumPyro": "numpyro_models", "PyMC": "pymc_models", "Stan": "stan_models"}
#: Either bound from Bennett's estimate, and that one from the closed form (nats).
BOUND, CLOSED_FORM = 0.1, 0.03


def known_noise(X, y=None):
    import numpyro
    import numpyro.distributions as dist

    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, 0.5), obs=y)


def closed_form(X: np.ndarray, y: np.ndarray) -> float:
    covariance = X @ X.T + 0.25 * np.eye(len(y))
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return float(-0.5 * (y @ np.linalg.solve(covariance, y) + log_det))


def lines_of(module, make) -> int:
    """Lines of the function that is the model, without its docstring and blank ones."""
    function = make
    names = inspect.unwrap(make).__code__.co_names
    for name in names:  # a lambda around the function that is the model
        found = getattr(module, name, None)
        own = inspect.isfunction(found) and found.__module__ == module.__name__
        if own and name != "covariates":
            function = found
    source = inspect.getsource(function)
    doc = inspect.getdoc(function)
    count = sum(bool(line.strip()) for line in source.splitlines())
    return count - (len(doc.splitlines()) if doc else 0)


def run(options: argparse.Namespace) -> Report:
    warnings.filterwarnings("ignore")
    rows, lines = [], []
    seeds = range(1 if options.smoke else options.seeds)
    chosen = options.only.split(",")
    for front_end, name in FRONT_ENDS.items():
        if front_end not in chosen:
            continue
        module = importlib.import_module(name)
        models = dict(module.MODELS)
        if options.smoke:
            models = dict(list(models.items())[:1])
        for case, make in models.items():
            model = make()
            found, seconds = [], float("nan")
            for seed in seeds:
                began = time.perf_counter()
                answer = bz.sandwich(
                    model, bz.simulate(model, seed=seed), gap=0.2, chains=256, looks=3, seed=seed
                )
                seconds = time.perf_counter() - began
                found.append(answer)
                say(f"  {front_end} {case} {seed}: {answer.lower:.3f} {answer.upper:.3f}")
            below = max(abs(a.log_ml - a.lower) for a in found)
            above = max(abs(a.upper - a.log_ml) for a in found)
            who, last = f"{front_end}: {case}", found[-1]
            for quantity, value in (("lower bound", below), ("upper bound", above)):
                rows.append(
                    Row("front_ends", who, f"{quantity} off", value, "nats", at_most(BOUND))
                )
            lines.append(
                [
                    front_end,
                    case,
                    f"{last.lower:.2f}",
                    f"{last.log_ml:.2f} ± {last.standard_error:.2f}",
                    f"{last.upper:.2f}",
                    number(below),
                    number(above),
                    last.preparation["begins_at"] if last.preparation else "-",
                    lines_of(module, make),
                    f"{seconds:.1f}",
                ]
            )
    if "NumPyro" in chosen:
        rows.append(_against_closed_form(seeds))
    columns = (
        "front end",
        "model",
        "lower",
        "log evidence (BAR)",
        "upper",
        "lower off",
        "upper off",
        "begins at",
        "lines",
        "seconds",
    )
    table = Table("Textbook models, the last data set of each", columns, lines)
    return Report("front_ends", rows, [table])


def _against_closed_form(seeds) -> Row:
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = bz.from_numpyro(known_noise, X)
    off = []
    for seed in seeds:
        data = bz.simulate(model, seed=seed)
        answer = bz.sandwich(model, data, gap=0.1, chains=1024, seed=seed)
        off.append(abs(answer.log_ml - closed_form(X, np.asarray(data.y))))
    return Row(
        "front_ends",
        "NumPyro: known noise",
        "closed form, off",
        max(off),
        "nats",
        at_most(CLOSED_FORM),
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default=",".join(FRONT_ENDS), help="front ends, with commas")
    parser.add_argument("--seeds", type=int, default=2, help="data sets of each model")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or "", add_options))
