"""Where floating-point numbers are few: large counts, wide priors, far offsets, covariances near
the edge. The deterministic interval holds there too, or the call is refused in a sentence."""

import dataclasses
import math
import signal
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

import bracketz as bz
from bracketz.errors import InputError, NumericalError
from bracketz.inference.glm.envelope import Rates, envelope, lower_bound, rates, upper_bound
from bracketz.inference.glm.regression import as_regression, whiten

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@pytest.fixture
def soon():
    """A call that takes more than 20 seconds has hung."""

    def late(*_):
        raise TimeoutError("no answer within 20 seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def log_factorial(y):
    """By Stirling's series, to 40 digits from 10,000 on."""
    y = Decimal(int(y))
    series = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188)]
    tail = sum(Decimal(p) / (q * y ** (2 * k + 1)) for k, (p, q) in enumerate(series))
    return y * y.ln() - y + (2 * PI * y).ln() / 2 + tail


def evidence_of_counts(y, scale):
    """Poisson with an intercept alone, to 60 digits but for an integral of size 1."""
    n, total, scale = len(y), sum(Decimal(int(v)) for v in y), Decimal(scale)
    b = (total / n).ln()
    for _ in range(60):
        curvature = n * b.exp() + 1 / scale**2
        b += (total - n * b.exp() - b / scale**2) / curvature
    top = total * b - n * b.exp() - sum(log_factorial(v) for v in y) - b * b / (2 * scale**2)
    top -= scale.ln() + (2 * PI).ln() / 2
    spread, rate = float(1 / curvature.sqrt()), float(n * b.exp())
    z = np.linspace(-12, 12, 4001)
    t = spread * z
    bregman = np.where(abs(t) < 0.01, t**2 / 2 + t**3 / 6 + t**4 / 24 + t**5 / 120, np.expm1(t) - t)
    area = np.sum(np.exp(-rate * bregman - t**2 / 2 / float(scale) ** 2)) * (z[1] - z[0])
    return top + Decimal(spread).ln() + Decimal(float(area)).ln()


@pytest.mark.parametrize(
    ("rows", "count", "scale"),
    [(1, 1e9, 1.0), (1, 1e15, 10.0), (1000, 1e5, 1.0), (1000, 1e7, 1.0), (1000, 1e9, 10.0)],
)
def test_large_counts(rows, count, scale):
    """Terms of the energy are far larger than it is."""
    y = count + 3.0 * np.arange(rows)
    with localcontext() as context:
        context.prec = 60
        truth = evidence_of_counts(y, scale)
        X = np.ones((rows, 1))
        answer = bz.certify_glm(X, y, family="poisson", prior_scale=scale, draws=50)
        off = [float(Decimal(v) - truth) for v in (*answer.deterministic, answer.lower)]
        off.append(float(Decimal(answer.upper) - truth))
    low, high, lower, upper = off
    assert low <= 0 <= high and high - low < 0.02
    # The sampled interval fails with probability 0.05; within rounding it does not.
    assert lower <= 1e-3 and upper >= -1e-3


@pytest.mark.parametrize("rows", [1000, 10_000])
def test_weights_of_large_counts(rows):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(rows), rng.normal(size=rows)])
    answer = bz.certify_glm(X, rng.poisson(1e9, rows), family="poisson", prior_scale=10.0)
    assert answer.upper - answer.lower < 0.1


def test_counts_far_from_the_prior(soon):
    """Newton's method begins where a full step overflows, and goes on to the mode."""
    answer = bz.certify_glm([[1.0]], [1e10], family="poisson", prior_scale=1e5, draws=0)
    low, high = answer.deterministic
    # Laplace's approximation, whose error is of the order 1e-10 here.
    eta = math.log(1e10)
    base = -0.5 * math.log(2 * math.pi * 1e10)
    truth = base - 0.5 * eta**2 / 1e10 - math.log(1e5) - 0.5 * math.log(1e10)
    assert low - 1e-6 <= truth <= high + 1e-6 and high - low < 1e-2


def test_a_far_offset(soon):
    """700 Newton steps of length 1, were they not made longer."""
    answer = bz.certify_glm(
        np.ones((1000, 1)), np.ones(1000), family="poisson", offset=700.0, draws=0
    )
    b = np.linspace(-701, -698, 40_001)
    values = 1000 * (700 + b) - 1000 * np.exp(700 + b) - 0.5 * b**2 - 0.5 * np.log(2 * np.pi)
    truth = logsumexp(values) + np.log(b[1] - b[0])
    low, high = answer.deterministic
    assert low <= truth + 1e-6 and truth - 1e-6 <= high and high - low < 0.1


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e12, 1e100])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_wide_priors_end(soon, family, scale):
    """An interval or a sentence, but an end."""
    for y in (np.zeros(20), np.ones(20)):
        try:
            answer = bz.certify_glm(np.ones((20, 1)), y, family=family, prior_scale=scale, draws=0)
        except NumericalError as error:
            assert "prior_scale" in str(error) and "\n" not in str(error)
        else:
            low, high = answer.deterministic
            assert low <= high <= 0 and (low > -1000 or scale > 1e12)


@pytest.mark.parametrize(("family", "scale"), [("poisson", 1e3), ("logistic", 1e6)])
def test_the_lower_bound_of_a_lopsided_posterior(family, scale):
    """A Gaussian of the posterior's width at the mode reaches where the likelihood is nothing."""
    answer = bz.certify_glm([[1.0]], [0.0], family=family, prior_scale=scale, draws=0)
    loss = np.exp if family == "poisson" else (lambda e: np.logaddexp(e, 0.0))

    def density(b):
        return math.exp(-loss(scale * b) - 0.5 * b * b) / math.sqrt(2 * math.pi)

    with np.errstate(over="ignore"):
        truth = math.log(quad(density, -12, 40 / scale, points=[-9 / scale, 0], limit=500)[0])
    low, high = answer.deterministic
    assert low <= truth <= high and truth - low < 12.0


def test_an_envelope_that_does_not_fall(soon):
    """h' tends to 1 / R where the prior has no share; a gradient of more is never made up for."""
    falls = Rates(linear=10.0, skew=10.0, quadratic=0.0, share=0.0, gradient=0.09, leverage=10.0)
    assert np.isfinite(envelope(falls, 1).log_integral)
    for gradient in (0.11, np.nan):
        with pytest.raises(NumericalError, match=r"does not fall.*smaller `prior_scale`"):
            envelope(dataclasses.replace(falls, gradient=gradient), 1)


@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_row_far_out(family, scale):
    """A mean of 0 times one that overflows is a number all the same."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    X[3] *= 1e8
    y = rng.integers(0, 2, 30) * (np.arange(30) != 3)
    answer = bz.certify_glm(X, y, family=family, prior_scale=scale, draws=0)
    low, high = answer.deterministic
    assert -1000 < low <= high <= 0


def prepared(X, y, family, scale=1.0):
    given = {"prior_scale": scale, "prior_covariance": None, "offset": None}
    return whiten(as_regression(X, y, family=family, **given))


@pytest.mark.parametrize("what", ["eta", "rows"])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_the_constants_hold_within_the_errors(family, what):
    """Of eta and of rows, those of hardly any weight included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * np.where(np.arange(40) % 4, 1.0, 30.0)[:, None]
    at = prepared(X, rng.integers(0, 2, 40), family)
    error = np.full(40, 1e-3)
    name = {"eta": "eta_error", "rows": "row_error"}[what]
    doubtful = dataclasses.replace(at, **{name: error})
    bound, low = rates(doubtful), lower_bound(doubtful)
    for sign in (-1, 1, rng.choice([-1, 1], 40)):
        moved, kind = np.multiply(sign, error), at.regression.kind
        if what == "eta":
            eta = at.eta + moved
            curvature, skewness = kind.curvature(eta), kind.skewness(eta)
            other = dataclasses.replace(at, eta=eta, curvature=curvature, skewness=skewness)
        else:
            longer = 1 + moved / np.linalg.norm(at.rows, axis=1)
            other = dataclasses.replace(at, rows=at.rows * longer[:, None])
        exact = rates(other)
        assert exact.linear <= bound.linear and exact.skew <= bound.skew
        assert exact.quadratic <= bound.quadratic and exact.leverage <= bound.leverage + 1e-12
        assert low <= lower_bound(other) + 1e-9


@pytest.mark.parametrize("sign", [1, -1])
def test_fourth_moments_hold_within_the_errors_of_long_rows(sign):
    """Where rows are longer than 1, so that an error of theirs counts for more in a moment; and
    where moments are what the constants come from."""
    rng = np.random.default_rng(1)
    at = prepared(rng.normal(size=(60, 2)), rng.integers(0, 2, 60), "logistic")
    scale = 3 / np.linalg.norm(at.rows, axis=1).min()
    at = dataclasses.replace(at, rows=scale * at.rows, curvature=at.curvature / scale**2)
    error = np.full(60, 1e-2)
    bound = rates(dataclasses.replace(at, row_error=error))
    assert bound.linear < 0.9 * bound.leverage
    longer = 1 + sign * error / np.linalg.norm(at.rows, axis=1)
    exact = rates(dataclasses.replace(at, rows=at.rows * longer[:, None]))
    assert exact.linear <= bound.linear and exact.quadratic <= bound.quadratic


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_the_energy_is_within_its_error(family):
    """Against 60 digits; a bound a million times too large would be no use."""
    rng = np.random.default_rng(0)
    for count in (1e4, 1e8, 1e12):
        X = np.column_stack([np.ones(30), rng.normal(size=30)])
        y = rng.integers(0, 2, 30)
        if family == "poisson":
            y = np.round(count * rng.random(30) + 1e4)
        at = prepared(X, y, family, 3.0)
        with localcontext() as context:
            context.prec = 60
            mode, three = [Decimal(v) for v in at.mode], Decimal(3)
            exact = sum(v * v for v in mode) / 18 + 2 * three.ln() + (2 * PI).ln()
            for row, each in zip(X, y, strict=True):
                eta = sum(Decimal(v) * b for v, b in zip(row, mode, strict=True))
                if family == "logistic":
                    exact += (1 + eta.exp()).ln() - int(each) * eta
                else:
                    exact += eta.exp() - int(each) * eta + log_factorial(each)
            off = abs(float(Decimal(at.energy) - exact))
        assert off <= at.energy_error <= 1e-9 * (1 + at.energy)
        assert at.energy_error > 1e-16 * at.energy


def test_both_bounds_give_way_by_the_error_of_the_energy():
    at = prepared(np.ones((5, 1)), np.array([0, 1, 1, 0, 1.0]), "logistic")
    hull, worse = envelope(rates(at), 1), dataclasses.replace(at, energy_error=1.0)
    assert upper_bound(worse, hull) == pytest.approx(upper_bound(at, hull) + 1)
    assert lower_bound(worse) == pytest.approx(lower_bound(at) - 1)


def nearly_singular(gap, trial):
    """(row, covariance, the standard deviation of the row's predictor): of one column really."""
    one, two = np.random.default_rng(trial).uniform(0.5, 2, 2)
    both = np.sqrt(one * two) * (1 - gap)
    row = np.array([np.sqrt(two), -np.sqrt(one)]) / np.sqrt(gap)
    x, y = Fraction(row[0]), Fraction(row[1])
    variance = x**2 * Fraction(one) + y**2 * Fraction(two) + 2 * x * y * Fraction(both)
    return row, [[one, both], [both, two]], math.sqrt(variance)


@pytest.mark.parametrize("trial", range(4))
def test_a_nearly_singular_covariance(trial):
    """Agrees with the same model in one column, or is refused."""
    row, covariance, spread = nearly_singular(1e-12, trial)
    with pytest.raises(InputError, match="nearly singular") as caught:
        bz.certify_glm([row], [1e6], family="poisson", prior_covariance=covariance, draws=0)
    assert "prior_scale" in str(caught.value) and "1e-09" in str(caught.value)
    for gap in (1e-3, 1e-5):
        row, covariance, spread = nearly_singular(gap, trial)
        two = bz.certify_glm([row], [1e6], family="poisson", prior_covariance=covariance, draws=0)
        one = bz.certify_glm([[1.0]], [1e6], family="poisson", prior_scale=spread, draws=0)
        (low, high), (other_low, other_high) = two.deterministic, one.deterministic
        assert max(low, other_low) <= min(high, other_high)


def test_a_covariance_is_symmetric():
    X, y = np.ones((3, 2)), [0.0, 1.0, 1.0]
    with pytest.raises(InputError, match="symmetric"):
        matrix = [[1.0, 0.5], [0.5 + 4e-6, 1.0]]
        bz.certify_glm(X, y, family="logistic", prior_covariance=matrix, draws=0)
    # Scales do not make a covariance singular, nor does rounding make it asymmetric.
    matrix = np.array([[1e-8, 0.5 * (1 + 1e-15)], [0.5, 1e8]])
    assert bz.certify_glm(X, y, family="logistic", prior_covariance=matrix, draws=0).upper <= 0
