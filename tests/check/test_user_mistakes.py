"""Mistakes users make are named, right models pass, and what cannot be checked is said."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from jax.scipy.stats import norm
from user_mistakes import MISTAKES, NORMAL, PAGE, RIGHT, RightKernel, found_by, with_kernel

import bracketz as bz
from bracketz.adapters.functions import from_functions

#: One of each kind, for level standard.
CHOSEN = (1, 6, 9, 14, 26, 33, 38)


def _id(mistake) -> str:
    return f"{mistake.model}-{mistake.what}".replace(" ", "-")


def _names(mistake, level: str) -> None:
    found = found_by(mistake, level)
    assert found is not None, "no check failed"
    assert found.name in mistake.names, (found.name, found.detail)
    assert mistake.says in found.detail


@pytest.mark.parametrize("mistake", MISTAKES, ids=_id)
def test_a_mistake_is_named_at_quick(mistake):
    _names(mistake, "quick")


@pytest.mark.slow
@pytest.mark.parametrize("mistake", [MISTAKES[k] for k in CHOSEN], ids=_id)
def test_a_mistake_is_named_at_standard(mistake):
    _names(mistake, "standard")


def test_twelve_kinds_of_mistakes_on_three_models():
    assert len({m.what.partition(" (")[0] for m in MISTAKES}) >= 12
    assert {m.model for m in MISTAKES} == set(RIGHT)


def test_the_page_has_every_mistake():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(MISTAKES)
    for row, m in zip(rows, MISTAKES, strict=True):
        assert row.startswith(f"| {m.what} | {m.model} | `{m.names[0]}` | `{m.names[0]}` |"), row


@pytest.mark.slow
@pytest.mark.parametrize("level", ["quick", "standard"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name, level):
    """False-positive rate: 1 % per run; deterministic for the seeds."""
    report = bz.check.run(RIGHT[name].model(), level=level, seed=0, keep_going=True)
    assert report.passed, str(report)


@pytest.mark.slow
def test_a_right_kernel_of_one_s_own_passes():
    report = bz.check.run(with_kernel(RightKernel, NORMAL), level="quick", only="kernels")
    assert report.passed and not report.unchecked


# Likelihoods of other forms: all right.

UNIT = {"log_prior": norm.logpdf, "sample_prior": jax.random.normal}
X = np.linspace(-2, 2, 9)


def _ar(x, y):
    return norm.logpdf(y, jnp.tanh(x) * jnp.concatenate([jnp.zeros(1), y[:-1]]))


def _ar_simulate(key, x):
    def one(last, noise):
        return (jnp.tanh(x) * last + noise,) * 2

    return jax.lax.scan(one, 0.0, jax.random.normal(key, (6,)))[1]


def _pairs(x, y):
    return jax.scipy.stats.multivariate_normal.logpdf(
        y, jnp.stack([x, -x]), jnp.array([[1, 0.8], [0.8, 1.5]])
    )


def _pairs_simulate(key, x):
    root = jnp.linalg.cholesky(jnp.array([[1, 0.8], [0.8, 1.5]]))
    return jnp.stack([x, -x]) + jax.random.normal(key, (4, 2)) @ root.T


FORMS = {
    "counts kept as floats": (
        lambda x, y: jax.scipy.stats.poisson.logpmf(y, jnp.exp(x)),
        lambda key, x: jax.random.poisson(key, jnp.exp(x), (6,)).astype(float),
    ),
    "0 and 1 by hand": (
        lambda x, y: y * jax.nn.log_sigmoid(x + X) + (1 - y) * jax.nn.log_sigmoid(-x - X),
        lambda key, x: jax.random.bernoulli(key, jax.nn.sigmoid(x + X)).astype(int),
    ),
    "categories, one number": (
        lambda x, y: jnp.sum(jax.nn.log_softmax(jnp.stack([0.0, x, -x]))[y]),
        lambda key, x: jax.random.categorical(key, jnp.stack([0.0, x, -x]), shape=(9,)),
    ),
    "exponential by hand": (
        lambda x, y: x - jnp.exp(x) * y,
        lambda key, x: jax.random.exponential(key, (7,)) * jnp.exp(-x),
    ),
    "heavy tails": (
        lambda x, y: jax.scipy.stats.cauchy.logpdf(y, x),
        lambda key, x: x + jax.random.cauchy(key, (7,)),
    ),
    "an end that depends on the parameter": (
        lambda x, y: jax.scipy.stats.uniform.logpdf(y, 0, jnp.exp(x)),
        lambda key, x: jnp.exp(x) * jax.random.uniform(key, (7,)),
    ),
    "censored": (
        lambda x, y: jnp.where(y <= 0, norm.logcdf(-x), norm.logpdf(y, x)),
        lambda key, x: jnp.maximum(x + jax.random.normal(key, (10,)), 0),
    ),
    "autoregressive": (_ar, _ar_simulate),
    "pairs": (_pairs, _pairs_simulate),
}


@pytest.mark.parametrize("form", FORMS)
def test_likelihoods_of_other_forms_pass(form):
    log_likelihood, simulate = FORMS[form]
    model = from_functions(log_likelihood, simulate=simulate, **UNIT)
    report = bz.check.run(model, level="quick", only="likelihood", keep_going=True)
    assert report.passed, str(report)
    if form == "pairs":
        assert [r.name for r in report.unchecked] == ["likelihood.integral"]
    else:
        assert not report.unchecked


def test_constants_are_missed_in_no_form():
    """Where data points have several entries, or depend on each other."""
    for log_likelihood, simulate, name in (
        (lambda x, y: _ar(x, y) + 0.3, _ar_simulate, "likelihood.integral"),
        (lambda x, y: _pairs(x, y) + 0.3, _pairs_simulate, "likelihood.simulator"),
    ):
        model = from_functions(log_likelihood, simulate=simulate, **UNIT)
        report = bz.check.run(model, level="quick", only="likelihood")
        assert report.failures[0].name == name, str(report)


def test_what_cannot_be_checked_is_said_and_counted_apart():
    model = from_functions(lambda x, y: norm.logpdf(y, x), **UNIT)
    report = bz.check.run(model, level="quick")
    assert report.passed and {r.name for r in report.unchecked} > {"likelihood.rows"}
    assert f"could not be checked: {len(report.unchecked)} (" in str(report)
    assert "no simulator" in str(report) and "passed: 3, failed: 0" in report.tally
    assert report.to_json()["unchecked"]["likelihood.rows"] == report.unchecked[0].detail


def test_a_likelihood_that_leaves_a_row_out_is_never_not_applicable():
    parts = RIGHT["poisson"]
    model = parts._replace(
        log_likelihood=lambda x, y, ages: parts.log_likelihood(x, y, ages).at[2].set(0.0)
    ).model()
    report = bz.check.run(model, level="quick", only="likelihood", keep_going=True)
    assert {r.name for r in report.failures} == {
        "likelihood.rows",
        "likelihood.integral",
        "likelihood.simulator",
    }


def test_zero_inflated_counts_sum_to_one():
    def log_likelihood(x, y):
        zero = jnp.log(0.3 + 0.7 * jnp.exp(-jnp.exp(x)))
        return jnp.where(y == 0, zero, jnp.log(0.7) + y * x - jnp.exp(x) - gammaln(y + 1.0))

    def simulate(key, x):
        a, b = jax.random.split(key)
        return jax.random.poisson(a, jnp.exp(x), (8,)) * jax.random.bernoulli(b, 0.7, (8,))

    model = from_functions(log_likelihood, simulate=simulate, **UNIT)
    assert bz.check.run(model, level="quick", only="likelihood").passed


def test_shape_is_of_no_use_and_refused():
    with pytest.raises(bz.InputError, match="knows the size of its data"):
        bz.check.run(NORMAL.model(), shape=(3, 1))


def test_other_models_that_leave_a_row_out_fail_too():
    """``densities.likelihood`` has nothing to integrate there, which is the mistake."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    from regression import PolynomialRegression

    @bz.pytree_dataclass
    class LeavesOut(PolynomialRegression):
        def log_annealed(self, state, y, powers):
            return super().log_annealed(state, y, powers.at[3].set(0.0))

    report = bz.check.run(LeavesOut(), level="quick", only="densities.likelihood")
    assert "does not depend on the data of row 4" in str(report)
