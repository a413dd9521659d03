"""Mistakes users make, on three models, and the check that names each.

    python tests/check/user_mistakes.py --write   # docs/user-mistakes.md, both levels

Each model is four functions; a mistake replaces one or two of them, or brings a kernel.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jax.scipy.stats import gamma, norm, poisson

import bracketz as bz
from bracketz.adapters.functions import FunctionModel, from_functions
from bracketz.kernels.compose import Repeat
from bracketz.kernels.metropolis import Metropolis

PAGE = Path(__file__).parents[2] / "docs" / "user-mistakes.md"


class Parts(NamedTuple):
    """A model as its author writes it."""

    log_likelihood: Callable
    log_prior: Callable
    sample_prior: Callable
    simulate: Callable
    data: tuple = ()

    def model(self, name: str = "model") -> FunctionModel:
        functions = {key: value for key, value in self._asdict().items() if key != "data"}
        return from_functions(**functions, data=self.data, name=name)


# Normal: mean and scale unknown; 12 values.


def normal_likelihood(x, y):
    return norm.logpdf(y, x["mu"], jnp.exp(x["log_sigma"]))


def normal_prior(x):
    sigma = jnp.exp(x["log_sigma"])
    return norm.logpdf(x["mu"], 0, 2) + gamma.logpdf(sigma, 3, scale=0.4) + x["log_sigma"]


def normal_sample(key):
    a, b = jax.random.split(key)
    sigma = 0.4 * jax.random.gamma(b, 3.0)
    return {"mu": 2 * jax.random.normal(a), "log_sigma": jnp.log(sigma)}


def normal_simulate(key, x):
    return x["mu"] + jnp.exp(x["log_sigma"]) * jax.random.normal(key, (12,))


NORMAL = Parts(normal_likelihood, normal_prior, normal_sample, normal_simulate)

# Poisson regression: intercept and slope, 15 counts.

AGES = np.linspace(-1, 1.5, 15)


def rate(x, ages):
    return jnp.exp(x["intercept"] + x["slope"] * ages)


def poisson_likelihood(x, y, ages):
    return poisson.logpmf(y, rate(x, ages))


def poisson_prior(x):
    return norm.logpdf(x["intercept"], 1, 0.5) + norm.logpdf(x["slope"], 0, 0.7)


def poisson_sample(key):
    a, b = jax.random.split(key)
    return {
        "intercept": 1 + 0.5 * jax.random.normal(a),
        "slope": 0.7 * jax.random.normal(b),
    }


def poisson_simulate(key, x, ages):
    return jax.random.poisson(key, rate(x, ages))


POISSON = Parts(poisson_likelihood, poisson_prior, poisson_sample, poisson_simulate, (AGES,))

# Hierarchical: effects of 4 groups, 3 values in each.

GROUPS = np.repeat(np.arange(4), 3)


def groups_likelihood(x, y, groups):
    return norm.logpdf(y, x["theta"][groups], 0.6)


def groups_prior(x):
    tau = jnp.exp(x["log_tau"])
    hyper = norm.logpdf(x["mu"], 0, 1.5) + jnp.log(2) + norm.logpdf(tau, 0, 1) + x["log_tau"]
    return hyper + jnp.sum(norm.logpdf(x["theta"], x["mu"], tau))


def groups_sample(key):
    a, b, c = jax.random.split(key, 3)
    mu, tau = 1.5 * jax.random.normal(a), jnp.abs(jax.random.normal(b))
    theta = mu + tau * jax.random.normal(c, (4,))
    return {"log_tau": jnp.log(tau), "mu": mu, "theta": theta}


def groups_simulate(key, x, groups):
    return x["theta"][groups] + 0.6 * jax.random.normal(key, (12,))


HIERARCHICAL = Parts(groups_likelihood, groups_prior, groups_sample, groups_simulate, (GROUPS,))

RIGHT = {"normal": NORMAL, "poisson": POISSON, "hierarchical": HIERARCHICAL}


# Kernels people write.


@bz.pytree_dataclass
class RightKernel(FunctionModel):
    """A random walk on what it should keep."""

    def kernel(self, y, powers):
        return Repeat(Metropolis(lambda x: self.log_annealed(x, y, powers), 0.4), 5)


@bz.pytree_dataclass
class IgnoresPowers(FunctionModel):
    """The posterior at every power."""

    def kernel(self, y, powers):
        return Repeat(Metropolis(lambda x: self.log_annealed(x, y, jnp.ones_like(powers)), 0.4), 5)


@bz.pytree_dataclass
class AcceptsWithoutJacobian(FunctionModel):
    """The accept step takes the density of the scale for that of its logarithm."""

    def kernel(self, y, powers):
        def density(x):
            scale = x["log_sigma"] if "log_sigma" in x else x["log_tau"]
            return self.log_annealed(x, y, powers) - scale

        return Repeat(Metropolis(density, 0.4), 5)


@bz.pytree_dataclass
class OnlyFirstPower(FunctionModel):
    """The powers of the rows are taken to be equal to the first."""

    def kernel(self, y, powers):
        equal = jnp.full_like(powers, powers[0])
        return Repeat(Metropolis(lambda x: self.log_annealed(x, y, equal), 0.4), 5)


def with_kernel(cls, parts: Parts) -> FunctionModel:
    made = parts.model()
    return cls(made.data, made.prior, made.draws, made.functions, made.called)


# Mistakes.


class Mistake(NamedTuple):
    what: str
    model: str
    make: Callable[[], Any]
    names: tuple[str, ...]  # checks of which the first to fail must be one
    says: str = ""  # part of its sentence


def _new(parts: Parts, **changes) -> Callable[[], FunctionModel]:
    return lambda: parts._replace(**changes).model()


def _omit(function, row: int):
    return lambda x, y, *data: function(x, y, *data).at[row].set(0.0)


def _shuffled(function):
    def simulate(key, x, *data):
        a, b = jax.random.split(key)
        return jax.random.permutation(b, function(a, x, *data))

    return simulate


def _changed(function, change):
    """``function`` with something done to what it returns."""
    return lambda *args: change(function(*args), *args)


def _trap_normal(x, y):
    """log(y - mu) is no number where y < mu; the other branch is taken there."""
    z = (y - x["mu"]) / jnp.exp(x["log_sigma"])
    square = jnp.where(z > 0, jnp.exp(2 * jnp.log(z)), z**2)
    return -0.5 * square - x["log_sigma"] - 0.5 * jnp.log(2 * jnp.pi)


def _trap_groups(x, y, groups):
    z = (y - x["theta"][groups]) / 0.6
    square = jnp.where(z > 0, jnp.exp(2 * jnp.log(z)), z**2)
    return -0.5 * square - jnp.log(0.6) - 0.5 * jnp.log(2 * jnp.pi)


def _trap_poisson(x, y, ages):
    eta = x["intercept"] + x["slope"] * ages
    eta = jnp.where(eta > 0, jnp.sqrt(eta) ** 2, eta)
    return y * eta - jnp.exp(eta) - gammaln(y + 1.0)


HALF_LOG = 0.5 * np.log(2 * np.pi)
SIM, INT = ("likelihood.simulator",), ("likelihood.integral",)
ROWS, PRIOR = ("likelihood.rows",), ("prior.sampler",)
EXACT = ("prior.integral",)

MISTAKES = (
    # The prior.
    Mistake(
        "Jacobian of the logarithm forgotten",
        "normal",
        _new(NORMAL, log_prior=lambda x: normal_prior(x) - x["log_sigma"]),
        EXACT,
        "Jacobian of `log_sigma` is missing",
    ),
    Mistake(
        "Jacobian of the logarithm forgotten",
        "hierarchical",
        _new(HIERARCHICAL, log_prior=lambda x: groups_prior(x) - x["log_tau"]),
        PRIOR,
        "Jacobian of `log_tau` is missing",
    ),
    Mistake(
        "Jacobian with the wrong sign",
        "normal",
        _new(NORMAL, log_prior=lambda x: normal_prior(x) - 2 * x["log_sigma"]),
        EXACT,
        "wrong sign",
    ),
    Mistake(
        "Jacobian where none belongs",
        "poisson",
        _new(POISSON, log_prior=lambda x: poisson_prior(x) + x["slope"]),
        EXACT,
        "`slope` is there twice",
    ),
    Mistake(
        "constant of the prior dropped",
        "normal",
        _new(NORMAL, log_prior=lambda x: normal_prior(x) + HALF_LOG),
        EXACT,
        "log sqrt(2 pi)",
    ),
    Mistake(
        "constant of the prior dropped",
        "poisson",
        _new(POISSON, log_prior=lambda x: poisson_prior(x) + 2 * HALF_LOG),
        EXACT,
        "log sqrt(2 pi), 2 times",
    ),
    Mistake(
        "constant of the prior dropped (the 2 of a half-normal)",
        "hierarchical",
        _new(HIERARCHICAL, log_prior=lambda x: groups_prior(x) - jnp.log(2)),
        PRIOR,
        "right but for that constant",
    ),
    Mistake(
        "prior sampler with another scale",
        "normal",
        _new(
            NORMAL,
            log_prior=_changed(
                normal_prior,
                lambda p, x: p - norm.logpdf(x["mu"], 0, 2) + norm.logpdf(x["mu"], 0, 4),
            ),
        ),
        PRIOR,
        "draws of `mu`",
    ),
    Mistake(
        "prior sampler with another scale",
        "poisson",
        _new(
            POISSON,
            sample_prior=_changed(poisson_sample, lambda x, key: x | {"slope": 0.7 * x["slope"]}),
        ),
        PRIOR,
        "draws of `slope`",
    ),
    Mistake(
        "prior sampler with another scale (a variance for a deviation)",
        "hierarchical",
        _new(
            HIERARCHICAL,
            sample_prior=_changed(
                groups_sample,
                lambda x, key: (
                    x | {"theta": x["mu"] + (x["theta"] - x["mu"]) * jnp.exp(x["log_tau"])}
                ),
            ),
        ),
        PRIOR,
        # Of `theta` or of `log_tau`: either has the wrong law given the other.
        "by `sample_prior` do not have the law",
    ),
    Mistake(
        "rate of a gamma prior for its scale",
        "normal",
        _new(
            NORMAL,
            sample_prior=_changed(
                normal_sample, lambda x, key: x | {"log_sigma": x["log_sigma"] + 2 * jnp.log(2.5)}
            ),
        ),
        PRIOR,
        "draws of `log_sigma`",
    ),
    # The likelihood.
    Mistake(
        "a row left out",
        "normal",
        _new(NORMAL, log_likelihood=_omit(normal_likelihood, 11)),
        ROWS,
        "`y[11]`",
    ),
    Mistake(
        "a row left out",
        "poisson",
        _new(POISSON, log_likelihood=_omit(poisson_likelihood, 0)),
        ROWS,
        "`y[0]`",
    ),
    Mistake(
        "a row left out, likelihood summed",
        "hierarchical",
        _new(HIERARCHICAL, log_likelihood=lambda x, y, g: jnp.sum(groups_likelihood(x, y, g)[:-1])),
        ROWS,
        "`y[11]`",
    ),
    Mistake(
        "constant of the likelihood dropped",
        "normal",
        _new(NORMAL, log_likelihood=lambda x, y: normal_likelihood(x, y) + HALF_LOG),
        INT,
        "log sqrt(2 pi)",
    ),
    Mistake(
        "log y! dropped",
        "poisson",
        _new(
            POISSON, log_likelihood=lambda x, y, a: poisson_likelihood(x, y, a) + gammaln(y + 1.0)
        ),
        INT,
        "`log y!` is missing",
    ),
    Mistake(
        "log y! dropped, likelihood summed",
        "poisson",
        _new(
            POISSON,
            log_likelihood=lambda x, y, a: jnp.sum(poisson_likelihood(x, y, a) + gammaln(y + 1.0)),
        ),
        INT,
        "`log y!` is missing",
    ),
    Mistake(
        "log of the scale dropped",
        "normal",
        _new(NORMAL, log_likelihood=lambda x, y: normal_likelihood(x, y) + x["log_sigma"]),
        INT,
        "`- log_sigma` is missing",
    ),
    Mistake(
        "constant of the likelihood dropped",
        "hierarchical",
        _new(HIERARCHICAL, log_likelihood=lambda x, y, g: groups_likelihood(x, y, g) + np.log(0.6)),
        INT,
        "a constant",
    ),
    Mistake(
        "averaged instead of summed",
        "normal",
        _new(NORMAL, log_likelihood=lambda x, y: jnp.mean(normal_likelihood(x, y))),
        INT,
        "averaged",
    ),
    Mistake(
        "averaged instead of summed",
        "poisson",
        _new(POISSON, log_likelihood=lambda x, y, a: jnp.mean(poisson_likelihood(x, y, a))),
        INT,
        "averaged",
    ),
    Mistake(
        "every row counted twice",
        "hierarchical",
        _new(HIERARCHICAL, log_likelihood=lambda x, y, g: 2 * groups_likelihood(x, y, g)),
        INT,
        "twice",
    ),
    Mistake(
        "the sum given for every row",
        "hierarchical",
        _new(
            HIERARCHICAL,
            log_likelihood=lambda x, y, g: jnp.full(12, jnp.sum(groups_likelihood(x, y, g))),
        ),
        ROWS,
        "count more than once",
    ),
    Mistake(
        "gradient that is no number, by `jnp.where`",
        "normal",
        _new(NORMAL, log_likelihood=_trap_normal),
        ("gradients.likelihood",),
        "`jnp.where`",
    ),
    Mistake(
        "gradient that is no number, by `jnp.where`",
        "poisson",
        _new(POISSON, log_likelihood=_trap_poisson),
        ("gradients.likelihood",),
        "`jnp.where`",
    ),
    Mistake(
        "gradient that is no number, by `jnp.where`",
        "hierarchical",
        _new(HIERARCHICAL, log_likelihood=_trap_groups),
        ("gradients.likelihood",),
        "`jnp.where`",
    ),
    # The simulator.
    Mistake(
        "variance for a deviation in the simulator",
        "normal",
        _new(
            NORMAL,
            simulate=lambda key, x: (
                x["mu"] + jnp.exp(2 * x["log_sigma"]) * jax.random.normal(key, (12,))
            ),
        ),
        SIM,
        "times as wide",
    ),
    Mistake(
        "variance for a deviation in the likelihood",
        "normal",
        _new(
            NORMAL, log_likelihood=lambda x, y: norm.logpdf(y, x["mu"], jnp.exp(2 * x["log_sigma"]))
        ),
        SIM,
        "times as wide",
    ),
    Mistake(
        "variance for a deviation in the likelihood",
        "hierarchical",
        _new(HIERARCHICAL, log_likelihood=lambda x, y, g: norm.logpdf(y, x["theta"][g], 0.36)),
        SIM,
        "times as wide",
    ),
    Mistake(
        "intercept missing in the simulator",
        "poisson",
        _new(POISSON, simulate=lambda key, x, a: jax.random.poisson(key, jnp.exp(x["slope"] * a))),
        SIM,
        "from where the likelihood",
    ),
    Mistake(
        "another link in the likelihood",
        "poisson",
        _new(
            POISSON,
            log_likelihood=lambda x, y, a: poisson.logpmf(
                y, jax.nn.softplus(x["intercept"] + x["slope"] * a)
            ),
        ),
        SIM,
        "from where the likelihood",
    ),
    Mistake(
        "rows shuffled by the simulator",
        "poisson",
        _new(POISSON, simulate=_shuffled(poisson_simulate)),
        SIM,
    ),
    Mistake(
        "rows shuffled by the simulator",
        "hierarchical",
        _new(HIERARCHICAL, simulate=_shuffled(groups_simulate)),
        SIM,
    ),
    Mistake(
        "one noise for all rows",
        "hierarchical",
        _new(HIERARCHICAL, simulate=lambda key, x, g: x["theta"][g] + 0.6 * jax.random.normal(key)),
        SIM,
        "not independent",
    ),
    # Kernels.
    Mistake(
        "own kernel ignores the powers",
        "normal",
        lambda: with_kernel(IgnoresPowers, NORMAL),
        ("kernels.prior",),
    ),
    Mistake(
        "own kernel ignores the powers",
        "poisson",
        lambda: with_kernel(IgnoresPowers, POISSON),
        ("kernels.prior",),
    ),
    Mistake(
        "own kernel accepts without the Jacobian",
        "normal",
        lambda: with_kernel(AcceptsWithoutJacobian, NORMAL),
        ("kernels.prior",),
        "`log_sigma`",
    ),
    Mistake(
        "own kernel accepts without the Jacobian",
        "hierarchical",
        lambda: with_kernel(AcceptsWithoutJacobian, HIERARCHICAL),
        ("kernels.prior",),
        "`log_tau`",
    ),
    Mistake(
        "own kernel takes the powers of all rows for equal",
        "hierarchical",
        lambda: with_kernel(OnlyFirstPower, HIERARCHICAL),
        ("kernels.between",),
    ),
)


def found_by(mistake: Mistake, level: str, seed: int = 0):
    """The first failure, or None."""
    report = bz.check.run(mistake.make(), level=level, seed=seed)
    return report.failures[0] if report.failures else None


def page() -> str:
    """The table, both levels run afresh."""
    lines = [
        "# Mistakes users make, and what names them",
        "",
        "Written by `python tests/check/user_mistakes.py --write`;"
        " tests/check/test_user_mistakes.py holds it to what is found.",
        "Three models made by `from_functions`: a normal with unknown mean and scale, a Poisson"
        " regression, and a normal with groups.",
        "The first check that fails is shown, with what it says at level quick.",
        "",
        "| mistake | model | quick | standard | what it says |",
        "|---|---|---|---|---|",
    ]
    for m in MISTAKES:
        quick, standard = (found_by(m, level) for level in ("quick", "standard"))
        names = [f"`{r.name}`" if r else "passes" for r in (quick, standard)]
        said = quick.detail.replace("|", "\\|") if quick else ""
        lines.append(f"| {m.what} | {m.model} | {names[0]} | {names[1]} | {said} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        print(page())
