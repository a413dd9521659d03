"""The certificate of generalised linear models: every inequality, by search; then what follows.

Mutations tried by hand, and what caught them, are listed in docs/glm.md.
"""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import kstest, norm

import bracketz as bz
from bracketz.core.precision import double_precision
from bracketz.errors import InputError, NumericalError
from bracketz.inference.glm import regression as regression_module
from bracketz.inference.glm.envelope import (
    envelope,
    log_sphere,
    lower_bound,
    quartic_bound,
    rates,
    upper_bound,
)
from bracketz.inference.glm.families import FAMILIES
from bracketz.inference.glm.regression import as_regression, whiten
from bracketz.inference.glm.tries import draw_radius, rise, target


def simulated(seed, rows, columns, family="logistic", scale=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    X[:, 0] = 1.0
    eta = X @ (scale * rng.normal(size=columns))
    y = (
        rng.random(rows) < 1 / (1 + np.exp(-eta))
        if family == "logistic"
        else rng.poisson(np.exp(eta))
    )
    return X, np.asarray(y, dtype=float)


def whitened(X, y, family="logistic", prior_scale=1.0, offset=None):
    return whiten(
        as_regression(
            X, y, family=family, prior_scale=prior_scale, prior_covariance=None, offset=offset
        )
    )


def nasty():
    """(name, X, y, family, prior_scale): what breaks careless bounds."""
    X, y = simulated(0, 60, 3)
    spike, duplicate = X.copy(), np.column_stack([X, X[:, 1] * (1 + 1e-7)])
    spike[0] *= 200.0
    far = np.column_stack([np.ones(40), np.linspace(-3, 3, 40)])
    counts = simulated(1, 50, 3, "poisson")
    return {
        "plain": (X, y, "logistic", 1.0),
        "separable": (far, (far[:, 1] > 0).astype(float), "logistic", 10.0),
        "all ones": (X, np.ones(60), "logistic", 3.0),
        "leverage": (spike, y, "logistic", 1.0),
        "collinear": (duplicate, y, "logistic", 1.0),
        "tiny prior": (X, y, "logistic", 1e-3),
        "huge prior": (X, y, "logistic", 1e3),
        "scales": (X, y, "logistic", np.array([1e-2, 1.0, 1e2])),
        "one row": (np.array([[2.0]]), np.ones(1), "logistic", 5.0),
        "more columns than rows": (X[:3].T[:2].T.repeat(2, 1), y[:3], "logistic", 2.0),
        "counts": (*counts, "poisson", 1.0),
        "no counts": (counts[0], np.zeros(50), "poisson", 5.0),
        "one count": (np.array([[1.0]]), np.array([40.0]), "poisson", 10.0),
        "large counts": (counts[0][:, :2], counts[1] * 1000, "poisson", 10.0),
    }


NASTY = nasty()


def ray_curvature(at, u, r):
    """g_u''(r) from the definition: prior's share and phi'' of every row."""
    s = at.rows @ u
    kind = at.regression.kind
    return u @ at.prior @ u + np.sum(kind.curvature(at.eta + r * s) * s**2)


def least_curvature(found, r):
    """h''."""
    return found.share + (1 - found.share) * np.exp(np.maximum(*found.exponents(r)))


def worst_curvature(at, found, tries=16, seed=0):
    """The smallest g_u''(r) / h''(r) - 1 an optimiser finds."""
    rng, d = np.random.default_rng(seed), at.rows.shape[1]

    def excess(v):
        u, r = v[:-1] / np.linalg.norm(v[:-1]), np.exp(v[-1])
        return ray_curvature(at, u, r) / least_curvature(found, np.array(r)) - 1

    order = np.argsort(-np.linalg.norm(at.rows, axis=1))[: tries // 4]
    starts = [*at.rows[order], *-at.rows[order], *np.linalg.eigh(at.prior)[1].T]
    starts += list(rng.normal(size=(tries // 2, d)))
    worst, bounds = np.inf, [(None, None)] * d + [(-4.0, 4.0)]
    for start in starts:
        for r in (0.1, 1.0, 5.0):
            v = np.append(start / np.linalg.norm(start), np.log(r))
            worst = min(worst, excess(v))
            if d > 1 or r == 1.0:
                worst = min(worst, minimize(excess, v, method="L-BFGS-B", bounds=bounds).fun)
    return worst


# The inequalities, one by one.


@pytest.mark.parametrize("family", FAMILIES)
def test_curvature_falls_no_faster_than_claimed(family):
    kind = FAMILIES[family]
    eta, s = np.meshgrid(np.linspace(-12, 12, 241), np.linspace(-30, 30, 601))
    ratio = np.log(kind.curvature(eta + s)) - np.log(kind.curvature(eta))
    t = kind.skewness(eta)
    assert np.all(ratio >= -np.abs(s) - 1e-12)
    assert np.all(ratio >= -t * np.abs(s) - (1 - t**2) * s**2 / 4 - 1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_are_what_they_are_called(family):
    kind, eta = FAMILIES[family], np.linspace(-6, 6, 25)
    with double_precision():
        phi = lambda x: kind.rise(0.0, 0.0, x, jnp)  # noqa: E731
        one = jax.vmap(jax.grad(phi))(eta)
        two = jax.vmap(jax.grad(jax.grad(phi)))(eta)
        three = jax.vmap(jax.grad(jax.grad(jax.grad(phi))))(eta)
    for y in (0.0, 1.0):
        np.testing.assert_allclose(kind.residual(eta, y)[0] + y, one, rtol=1e-9)
        loss = kind.loss(eta, np.full(25, y))[0] - kind.loss(np.zeros(25), np.full(25, y))[0]
        np.testing.assert_allclose(loss, kind.rise(0.0, y, eta), atol=1e-12)
    np.testing.assert_allclose(kind.curvature(eta), two, rtol=1e-9)
    np.testing.assert_allclose(kind.skewness(eta) * two, np.abs(three), rtol=1e-7, atol=1e-9)
    assert np.all(np.abs(three) <= two * (1 + 1e-9))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_mean_rise_is_an_upper_bound_and_a_close_one(family):
    kind = FAMILIES[family]
    for eta in (-9.0, -1.0, 0.0, 2.0):
        for variance in (0.01, 0.5, 4.0, 30.0):
            spread = math.sqrt(variance)
            # Poisson: the integrand peaks at x = spread.
            places = [0.0, min(max(-eta / spread, -15.0), 15.0), min(spread, 15.0)]
            exact = quad(
                lambda x: kind.rise(eta, 0.0, spread * x) * norm.pdf(x),  # noqa: B023
                -20,
                25,
                points=places,
                epsabs=1e-13,
                limit=400,
            )[0]
            found = kind.mean_rise(np.array(eta), np.array(variance))
            assert exact - 1e-9 * (1 + exact) <= found <= exact * 1.01 + 1e-9


@pytest.mark.parametrize("name", NASTY)
def test_quartic_bound_withstands_a_search(name):
    X, y, family, scale = NASTY[name]
    at = whitened(X, y, family, scale)
    rng = np.random.default_rng(0)
    for v in (at.curvature, at.curvature * at.skewness**2):
        bound = quartic_bound(v, at.rows)

        def minus(u, v=v):
            u = u / np.linalg.norm(u)
            return -np.sum(v * (at.rows @ u) ** 4)

        starts = [*at.rows[:20], *rng.normal(size=(20, at.rows.shape[1]))]
        best = -min(minimize(minus, u, method="L-BFGS-B").fun for u in starts)
        assert best <= bound
        assert bound <= np.sum(v * np.linalg.norm(at.rows, axis=1) ** 4) * (1 + 1e-6)


def test_quartic_bound_is_close_where_moments_are_isotropic():
    angle = np.linspace(0, np.pi, 7, endpoint=False)
    rows = np.column_stack([np.cos(angle), np.sin(angle)])
    assert quartic_bound(np.ones(7), rows) == pytest.approx(7 * 3 / 8, rel=2e-3)  # a grid
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 8))
    assert (
        quartic_bound(np.full(4000, 1 / 4000), rows) < 3.9
    )  # 3 in the limit, 10 without the shift


# The envelope.


@pytest.mark.parametrize("name", NASTY)
def test_no_direction_bends_less_than_the_envelope(name):
    X, y, family, scale = NASTY[name]
    at = whitened(X, y, family, scale)
    assert worst_curvature(at, rates(at)) >= -1e-8


@pytest.mark.parametrize(
    ("which", "factor", "name"),
    [
        ("linear", 0.9, "one count"),
        ("linear", 0.5, "one row"),
        ("share", 1.1, "one count"),
        ("share", 2.0, "separable"),
        ("quadratic", 0.5, "one row"),
        ("skew", 0.9, "one row"),
    ],
)
def test_the_search_has_teeth(which, factor, name):
    """With a constant of the envelope off, the same search finds a violation."""
    X, y, family, scale = NASTY[name]
    at = whitened(X, y, family, scale)
    found = rates(at)
    wrong = dataclasses.replace(found, **{which: factor * getattr(found, which)})
    if which in ("skew", "quadratic"):  # the other bound would hide it
        wrong = dataclasses.replace(wrong, linear=1e9)
    assert worst_curvature(at, wrong) < -1e-6


@pytest.mark.parametrize("name", NASTY)
def test_no_point_lies_above_the_envelope(name):
    """-log posterior itself, by another route (the energy at m + L z), against the hull."""
    X, y, family, scale = NASTY[name]
    at = whitened(X, y, family, scale)
    d = len(at.mode)
    hull = envelope(rates(at), d)
    rng = np.random.default_rng(1)

    def room(z):
        r = np.linalg.norm(z)
        g = at.regression.energy(at.mode + at.to_beta @ z)[0] - at.energy
        return float(hull(r) - ((d - 1) * np.log(r) - g))

    tolerance = 1e-9 * (1 + abs(at.energy))
    order = np.argsort(-np.linalg.norm(at.rows, axis=1))[:5]
    starts = [*at.rows[order], *-at.rows[order], *rng.normal(size=(10, d))]
    for r in (1e-3, 0.5, 2.0, 6.0):
        places = sorted((r * u / np.linalg.norm(u) for u in starts), key=room)
        assert room(places[0]) >= -tolerance
        for z in places[:2]:  # where there is least room the search goes on
            least = minimize(room, z, method="Nelder-Mead", options={"maxiter": 200}).fun
            assert least >= -tolerance


def test_the_envelope_holds_away_from_the_mode(monkeypatch):
    """The slope that is left at a point that is not the mode is part of the bound."""
    newton = regression_module._newton
    monkeypatch.setattr(regression_module, "_newton", lambda r, x: newton(r, x) + 0.1)
    X, y = simulated(3, 40, 2)
    at = whitened(X, y)
    assert at.gradient > 0.1
    truth = evidence(X, y)
    assert lower_bound(at) < truth < upper_bound(at, envelope(rates(at), 2))
    hull = envelope(rates(at), 2)
    rng = np.random.default_rng(0)
    for z in rng.normal(size=(500, 2)) * 2:
        g = at.regression.energy(at.mode + at.to_beta @ z)[0] - at.energy
        assert np.log(np.linalg.norm(z)) - g <= hull(np.linalg.norm(z)) + 1e-9


@pytest.mark.parametrize("columns", [1, 2, 7, 40])
def test_the_hull_is_close_and_its_integral_its_own(columns):
    X, y = simulated(2, 90, min(columns, 7))
    found = rates(whitened(X, y))
    for cells in (64, 512):
        hull = envelope(found, columns, cells)
        exact = 0.0
        for a, b in zip(hull.start, np.append(hull.start[1:], hull.start[-1] + 60), strict=True):
            exact += quad(lambda r: np.exp(hull(r)), a, b - 1e-12 * b)[0]  # noqa: B023
        assert hull.log_integral == pytest.approx(np.log(exact), abs=1e-6)
    coarse, fine = envelope(found, columns, 1024), envelope(found, columns)
    assert fine.log_integral < coarse.log_integral < fine.log_integral + 2e-3


def test_a_gaussian_posterior_has_a_gaussian_envelope():
    """Where the prior is everything, both deterministic bounds meet."""
    X, y = simulated(4, 20, 3)
    answer = bz.certify_glm(X, y, family="logistic", prior_scale=1e-4, draws=0)
    low, high = answer.deterministic
    assert (
        high - low < 1e-3 and low <= 20 * math.log(0.5) + 1e-3 and high >= 20 * math.log(0.5) - 1e-3
    )


def test_the_sums_of_the_envelope_are_below_h():
    """h by quadrature of h'' against tangents at every middle."""
    X, y = simulated(2, 30, 3)
    found = rates(whitened(X, y))
    hull = envelope(found, 1, 64)  # in one dimension the envelope is slope r - h itself
    for middle, height, slope in zip(
        hull.middle[::7], hull.height[::7], hull.slope[::7], strict=True
    ):
        bend = quad(lambda r: least_curvature(found, r), 0, middle, limit=200)[0]
        h = quad(lambda r: (middle - r) * least_curvature(found, r), 0, middle, limit=200)[0]  # noqa: B023
        assert -1e-12 <= height - found.gradient * middle + h <= 5e-3 * h + 1e-8
        assert -1e-12 <= slope - found.gradient + bend <= 5e-3 * bend


# Tries.


@pytest.mark.parametrize("cells", [8, 2048])
def test_radii_follow_the_envelope(cells):
    """Kolmogorov's test at 1e-4; few cells show how a radius is drawn within one."""
    X, y = simulated(5, 40, 4)
    at = whitened(X, y)
    hull = envelope(rates(at), 4, cells)
    with double_precision():
        r, log_envelope = draw_radius(target(at, hull), jax.random.key(0), 20_000)
        np.testing.assert_allclose(log_envelope, hull(np.asarray(r)), atol=1e-9)
    grid = np.linspace(0, hull.start[-1], 200_001)
    mass = np.cumsum(np.exp(hull(grid) - hull.log_integral)) * grid[1]
    assert kstest(np.asarray(r), lambda x: np.interp(x, grid, mass)).pvalue > 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rise_is_the_energy_less_its_value_at_the_mode(family):
    X, y = simulated(6, 30, 3, family)
    at = whitened(X, y, family, 2.0, np.linspace(-0.5, 0.5, 30))
    z = np.random.default_rng(0).normal(size=(20, 3))
    with double_precision():
        found = rise(target(at, envelope(rates(at), 3)), jnp.asarray(z), family)
    exact = [at.regression.energy(at.mode + at.to_beta @ row)[0] - at.energy for row in z]
    np.testing.assert_allclose(found, exact, atol=1e-10)


def log_joint(X, y, family, scale, offset=0.0):
    """log p(y, beta), written for the tests alone; beta: (..., columns)."""

    def density(beta):
        eta = np.asarray(beta) @ X.T + offset
        if family == "logistic":
            fit = np.sum(y * eta - np.log1p(np.exp(eta)), axis=-1)
        else:
            constant = np.array([math.lgamma(k + 1) for k in y])
            fit = np.sum(y * eta - np.exp(eta) - constant, axis=-1)
        return fit + np.sum(norm.logpdf(beta, 0, scale), axis=-1)

    return density


def grid_of(X, y, family="logistic", scale=1.0, offset=0.0, points=301):
    """(axes, log densities) on a wide grid around the mode, in one or two dimensions."""
    density = log_joint(X, y, family, scale, offset)
    d = X.shape[1]
    mode = minimize(lambda b: -density(b), np.zeros(d)).x
    hessian = np.eye(d) / scale**2
    eta = X @ mode + offset
    w = np.exp(eta) if family == "poisson" else 1 / (2 + 2 * np.cosh(eta))
    reach = 14 * np.sqrt(np.diag(np.linalg.inv(hessian + (X.T * w) @ X)))
    axes = [np.linspace(m - r, m + r, points) for m, r in zip(mode, reach, strict=True)]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return axes, density(mesh)


def evidence(X, y, family="logistic", scale=1.0, offset=0.0):
    """By the trapezoidal rule, which for such densities is exact to rounding."""
    axes, values = grid_of(X, y, family, scale, offset)
    top = values.max()
    return top + np.log(np.sum(np.exp(values - top))) + sum(np.log(a[1] - a[0]) for a in axes)


@pytest.mark.parametrize(("family", "columns"), [("logistic", 1), ("logistic", 2), ("poisson", 2)])
def test_draws_are_exact(family, columns):
    """Every marginal against quadrature; Kolmogorov's test at 1e-4 each."""
    X, y = simulated(8, 12, columns, family)  # few rows: far from Gaussian
    draws = bz.glm_draws(X, y, 4000, family=family, prior_scale=3.0)
    assert draws.shape == (4000, columns)
    axes, values = grid_of(X, y, family, 3.0)
    mass = np.exp(values - values.max())
    for k, axis in enumerate(axes):
        marginal = mass.sum(axis=1 - k) if columns == 2 else mass
        cumulative = np.cumsum(marginal) / marginal.sum()
        assert kstest(draws[:, k], lambda x: np.interp(x, axis, cumulative)).pvalue > 1e-4  # noqa: B023


# The certificate.


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_cover(family):
    """Deterministic ones always. Sampled ones at 0.8: fewer than 20 of 30 has probability 0.02 if
    they cover exactly so often, and they cover more often."""
    covered = 0
    for seed in range(30):
        X, y = simulated(seed, 25, 2, family)
        scale = [0.5, 2.0, 8.0][seed % 3]
        truth = evidence(X, y, family, scale)
        answer = bz.certify_glm(
            X, y, family=family, prior_scale=scale, confidence=0.8, draws=50, seed=seed
        )
        low, high = answer.deterministic
        assert low <= truth <= high
        assert low <= answer.lower <= answer.log_ml <= answer.upper <= high
        assert abs(answer.log_ml - truth) < 6 * answer.standard_error
        covered += answer.lower <= truth <= answer.upper
    assert covered >= 20


def test_one_column_offset_and_covariance():
    X, y = simulated(9, 15, 1, "poisson")
    offset = np.linspace(-1, 1, 15)
    answer = bz.certify_glm(X, y, family="poisson", prior_scale=2.0, offset=offset)
    assert answer.lower <= evidence(X, y, "poisson", 2.0, offset) <= answer.upper
    X, y = simulated(9, 30, 3)
    scales = np.array([1.0, 2.0, 0.5])
    by_scale = bz.certify_glm(X, y, family="logistic", prior_scale=scales)
    by_matrix = bz.certify_glm(X, y, family="logistic", prior_covariance=np.diag(scales**2))
    assert by_scale.lower == pytest.approx(by_matrix.lower, abs=1e-9)
    # A change of coordinates leaves the evidence alone, up to rounding and the noise of sampling.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = bz.certify_glm(
        X @ turn, y, family="logistic", prior_covariance=turn.T @ np.diag(scales**2) @ turn
    )
    np.testing.assert_allclose(turned.deterministic, by_scale.deterministic, atol=1e-6)


def test_probabilities_are_at_most_one():
    """Where the envelope says more than that, it is not believed; and such problems are refused."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30))
    y = (X[:, 0] > 0).astype(float)
    answer = bz.certify_glm(X, y, family="logistic", prior_scale=10.0, draws=0)
    assert answer.deterministic[1] == 0.0 and answer.predicted_tries > 1e6
    with pytest.raises(InputError, match="exact draws may take"):
        bz.certify_glm(X, y, family="logistic", prior_scale=10.0)


def test_same_seed_same_numbers():
    X, y = simulated(10, 40, 3)
    one, two, other = (bz.certify_glm(X, y, family="logistic", seed=s, draws=20) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.draws, two.draws)
    assert (one.lower, one.upper, one.log_ml) == (two.lower, two.upper, two.log_ml)
    assert one.log_ml != other.log_ml and one.deterministic == other.deterministic


def test_prediction_and_answer():
    X, y = simulated(11, 100, 6)
    answer = bz.certify_glm(X, y, family="logistic", draws=300)
    # 300 draws or more on average: fewer than 230 has a probability below 1e-4.
    assert len(answer.draws) >= 230 and answer.tries_per_draw <= 1.3 * answer.predicted_tries
    assert answer.kind == "certified" and answer.radius <= answer.leverage
    plain = json.loads(json.dumps(answer.to_json()))
    assert plain["certificate"]["low"] == answer.lower and plain["draws"] == len(answer.draws)
    names = [name for name, _ in answer.rows()]
    assert "certified interval (0.95)" in names and "<table>" in answer._repr_html_()
    lines = answer.plot().axes[0].lines
    assert list(lines[0].get_xdata()) == list(answer.deterministic)
    assert list(lines[1].get_xdata()) == [answer.lower, answer.upper]
    bare = bz.certify_glm(X, y, family="logistic", draws=0)
    assert (bare.lower, bare.upper) == bare.deterministic == answer.deterministic
    assert bare.tries == 0 and bare.draws.shape == (0, 6)
    assert json.loads(json.dumps(bare.to_json()))["standard_error"] is None


def test_reverse_runs_from_exact_draws_agree():
    """conditional_upper, whose condition these draws meet, within 6 of its standard errors and what
    100 chains of 30 distributions are biased by: for normal errors a probability below 1e-8."""
    X, y = simulated(12, 30, 2)
    model = bz.from_functions(
        lambda x, y: y * (X @ x["beta"]) - jnp.logaddexp(X @ x["beta"], 0.0),
        log_prior=lambda x: jnp.sum(jax.scipy.stats.norm.logpdf(x["beta"])),
        sample_prior=lambda key: {"beta": jax.random.normal(key, (2,))},
    )
    draws = {"beta": bz.glm_draws(X, y, 200, family="logistic")}
    upper = bz.conditional_upper(model, y, draws, distributions=30, chains=100)
    answer = bz.certify_glm(X, y, family="logistic")
    assert abs(upper.upper - answer.log_ml) < 6 * upper.upper_error + 0.1


def test_refusals():
    X, y = simulated(13, 20, 2)
    bad = X.copy()
    bad[3, 1] = np.nan

    def refused(*args, **changes):
        with pytest.raises(InputError) as caught:
            bz.certify_glm(*args, **{"family": "logistic", **changes})
        sentence = str(caught.value)
        assert "\n" not in sentence and not sentence.endswith(".")
        return sentence

    assert "got 2" in refused(X, y + 1)
    assert "got -1" in refused(X, -np.ones(20), family="poisson")
    assert "got 0.5" in refused(X, y / 2, family="poisson")
    assert "`family`" in refused(X, y, family="probit")
    assert "one number per row of `X`, 20, got shape (19,)" in refused(X, y[1:])
    assert "rows and columns" in refused(y, y)
    assert "`X` holds nan at row 4" in refused(bad, y)
    assert "`prior_scale` must be positive, got -1" in refused(X, y, prior_scale=-1.0)
    assert "one per column" in refused(X, y, prior_scale=np.ones(3))
    assert "symmetric" in refused(X, y, prior_covariance=np.ones((2, 3)))
    assert "positive definite" in refused(X, y, prior_covariance=np.array([[1, 2], [2, 1]]))
    assert "`offset`" in refused(X, y, offset=np.zeros(3))
    assert "real numbers" in refused(X, np.array(["a"] * 20))
    assert "confidence" in refused(X, y, confidence=1.0)
    assert "seed" in refused(X, y, seed=-1)
    assert "at least 0" in refused(X, y, draws=-1)
    dear = refused(X, y, max_tries=100)
    assert "`max_tries`, 100" in dear and "ask for at most" in dear and "`draws` 0" in dear
    assert "ask for" not in refused(X, y, max_tries=1)
    with pytest.raises(InputError, match="`max_tries`"):
        bz.glm_draws(X, y, 1000, family="logistic", max_tries=100)


def test_columns_beyond_floating_point_are_refused():
    x = np.random.default_rng(0).normal(size=30)
    X = np.column_stack([x, x + 1e-12 * np.arange(30)])
    with pytest.raises(NumericalError, match="collinear"):
        bz.certify_glm(1e8 * X, np.arange(30) % 2, family="logistic", prior_scale=1e8)


def test_area_of_the_sphere():
    assert np.exp([log_sphere(d) for d in (1, 2, 3)]) == pytest.approx([2, 2 * np.pi, 4 * np.pi])
