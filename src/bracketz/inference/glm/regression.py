"""A regression with a Gaussian prior: its density, its mode, and coordinates whitened there.

F(beta) = -log p(beta) - log p(y | beta), all constants included. With beta = m + L z, for the
numbers m and L as they are (m need not be the exact mode, nor L the exact root of the inverse
Hessian),

    F(m + L z) - F(m) = gamma . z + z' C z / 2 + sum_i D_i(a_i . z),    a_i = L' x_i,

with gamma = L' grad F(m), C = L' P L for the prior's precision P, and D_i the Bregman divergence of
phi at eta_i. L is inflated until C + sum_i w_i a_i a_i' >= I by more than what rounding can hide.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from bracketz.errors import InputError, NumericalError
from bracketz.inference.glm.families import FAMILIES, Family

#: L is this much larger than the root of the inverse Hessian, relatively, at the least; and more
#: where rounding is larger. Costs as many nats times the number of columns.
INFLATION = 1e-9
#: Rounding beyond this is no rounding any more.
TOO_ROUGH = 1e-4
#: Newton steps; a few dozen suffice for any convex F.
STEPS = 500
EPSILON = np.finfo(float).eps


@dataclass(frozen=True)
class Regression:
    """What is observed and believed. ``root``: Cholesky factor of the prior's covariance."""

    x: np.ndarray  # (rows, columns)
    y: np.ndarray  # (rows,)
    offset: np.ndarray  # (rows,)
    root: np.ndarray  # (columns, columns)
    family: str

    @property
    def kind(self) -> Family:
        return FAMILIES[self.family]

    def energy(self, beta: np.ndarray) -> float:
        """F: minus the log joint density."""
        eta = self.offset + self.x @ beta
        with np.errstate(over="ignore", invalid="ignore"):
            fit = np.sum(self.kind.cumulant(eta) - self.y * eta + self.kind.base(self.y))
        scaled = solve_triangular(self.root, beta, lower=True)
        prior = 0.5 * scaled @ scaled + np.sum(np.log(np.diag(self.root)))
        return float(fit + prior + 0.5 * beta.size * np.log(2 * np.pi))


@dataclass(frozen=True)
class Whitened:
    """The regression in coordinates z, of which the posterior's curvature at 0 is about I."""

    regression: Regression
    mode: np.ndarray  # m
    map: np.ndarray  # L
    energy: float  # F(m)
    eta: np.ndarray  # at m
    rows: np.ndarray  # a_i, (rows, columns)
    curvature: np.ndarray  # w_i
    skewness: np.ndarray  # t_i
    prior: np.ndarray  # C
    slope: float  # at least |gamma|
    share: float  # at most the smallest eigenvalue of C
    log_volume: float  # log |det L|
    half: np.ndarray  # the map to b, where the prior is standard: C = half' half
    b: np.ndarray  # m there

    @property
    def log_scale(self) -> float:
        """log p(y) less the log-integral of exp(-(F(m + L z) - F(m))) over z."""
        return self.log_volume - self.energy


def as_regression(x, y, *, family: str, prior_scale, prior_covariance, offset) -> Regression:
    """Checked arrays."""
    if family not in FAMILIES:
        raise InputError(f"`family` must be one of {', '.join(FAMILIES)}, got {family!r}")
    x, y = _numbers("X", x), _numbers("y", y)
    if x.ndim != 2 or not x.size:
        raise InputError(f"`X` must be a table of rows and columns, got shape {x.shape}")
    if y.shape != (len(x),):
        raise InputError(f"`y` must have one number per row of `X`, {len(x)}, got shape {y.shape}")
    FAMILIES[family].check(y)
    offset = np.zeros(len(x)) if offset is None else _numbers("offset", offset)
    if offset.shape not in ((), (len(x),)):
        raise InputError(f"`offset` must have one number per row, got shape {offset.shape}")
    columns = x.shape[1]
    root = _prior_root(prior_scale, prior_covariance, columns)
    return Regression(x, y, np.broadcast_to(offset, len(x)), root, family)


def _numbers(name: str, values) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputError(f"`{name}` must hold real numbers, got type {array.dtype}")
    array = array.astype(float)
    if not np.all(np.isfinite(array)):
        where = np.argwhere(~np.isfinite(array))[0]
        place = f" at row {where[0] + 1}" if array.ndim else ""
        raise InputError(f"`{name}` holds {array[tuple(where)]}{place}; remove or fill it in first")
    return array


def _prior_root(scale, covariance, columns: int) -> np.ndarray:
    if covariance is None:
        scale = _numbers("prior_scale", scale)
        if scale.shape not in ((), (columns,)):
            raise InputError(
                f"`prior_scale` must be one number or one per column of `X`, {columns}, got shape"
                f" {scale.shape}"
            )
        if np.any(scale <= 0):
            raise InputError(f"`prior_scale` must be positive, got {np.min(scale):g}")
        return np.diag(np.broadcast_to(scale, columns))
    covariance = _numbers("prior_covariance", covariance)
    if covariance.shape != (columns, columns) or not np.allclose(covariance, covariance.T):
        raise InputError(
            f"`prior_covariance` must be a symmetric {columns} x {columns} matrix, got shape"
            f" {covariance.shape}"
        )
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise InputError("`prior_covariance` must be positive definite, and is not") from None


def whiten(regression: Regression) -> Whitened:
    """Newton's method to the mode, and what holds there whatever was rounded.

    Works in coordinates b with beta = root b, where the prior is standard: H_b = I + X_b' W X_b is
    never worse conditioned than the data make it.
    """
    r, kind = regression, regression.kind
    x = r.x @ r.root  # of b
    b = _newton(r, x)
    mode = r.root @ b
    eta = r.offset + r.x @ mode
    w = kind.curvature(eta)
    hessian = np.eye(len(b)) + (x.T * w) @ x
    # L = root K'^-1 with K K' the Hessian: L' H L = I.
    try:
        factor = np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        raise _collinear() from None
    half = solve_triangular(factor, np.eye(len(b)), lower=True).T
    rows = x @ half
    # What rounding can have done to a row, to its share of the Hessian, and to the gradient.
    size = len(b) + 2
    row_error = size * EPSILON * np.linalg.norm(np.abs(x) @ np.abs(half), axis=1)
    rough = 4 * np.sum(w * np.linalg.norm(rows, axis=1) * row_error)
    eta_error = size * EPSILON * (np.abs(r.offset) + np.abs(r.x) @ np.abs(mode))
    trace = np.sum(w * np.sum(rows**2, axis=1) * (1 + eta_error / EPSILON / len(x)))
    rough += (len(x) + size) * EPSILON * (trace + np.sum(half**2))
    gram = half.T @ half + (rows.T * w) @ rows
    rough += np.linalg.norm(gram - np.eye(len(b)))
    if not rough < TOO_ROUGH:
        raise _collinear()
    inflate = 1 + INFLATION + rough
    half, rows = half * inflate, rows * inflate
    residual = kind.mean(eta) - r.y
    slope = np.linalg.norm(rows.T @ residual + half.T @ b)
    magnitude = np.abs(kind.mean(eta)) + np.abs(r.y)
    slope += np.sum(np.linalg.norm(rows, axis=1) * (w * eta_error + len(x) * EPSILON * magnitude))
    slope += row_error @ np.abs(residual) + size * EPSILON * np.linalg.norm(np.abs(half).T @ abs(b))
    prior = half.T @ half
    share = float(np.clip(np.linalg.eigvalsh(prior)[0] - 2 * rough - INFLATION, 0.0, 1.0))
    return Whitened(
        regression=r,
        mode=mode,
        map=r.root @ half,
        energy=r.energy(mode),
        eta=eta,
        rows=rows,
        curvature=w,
        skewness=kind.skewness(eta),
        prior=prior,
        slope=float(slope) * (1 + INFLATION),
        share=share,
        log_volume=float(np.sum(np.log(np.diag(r.root))) + np.sum(np.log(np.diag(half)))),
        half=half,
        b=b,
    )


def _collinear() -> NumericalError:
    return NumericalError(
        "the columns of `X` are too nearly collinear for floating-point numbers: drop or"
        " standardise columns, or take a smaller `prior_scale`"
    )


def _newton(r: Regression, x: np.ndarray) -> np.ndarray:
    """Damped Newton steps to the minimum of |b|^2 / 2 + sum_i phi(eta_i) - y_i eta_i."""
    kind = r.kind

    def value(b):
        eta = r.offset + x @ b
        with np.errstate(over="ignore"):
            return 0.5 * b @ b + np.sum(kind.cumulant(eta) - r.y * eta)

    b = np.zeros(x.shape[1])
    now = value(b)
    if not np.isfinite(now):
        raise InputError("`offset` is too large: the likelihood at zero is not a number")
    for _ in range(STEPS):
        eta = r.offset + x @ b
        w = kind.curvature(eta)
        gradient = b + x.T @ (kind.mean(eta) - r.y)
        try:
            step = np.linalg.solve(np.eye(len(b)) + (x.T * w) @ x, gradient)
        except np.linalg.LinAlgError:
            raise _collinear() from None
        decrement = gradient @ step
        size = 1.0
        while not (then := value(b - size * step)) <= now - 0.25 * size * decrement:
            size *= 0.5
            if size < 1e-8:  # rounding: nothing is left to gain
                return b - step if decrement < 1e-12 else b
        b, now = b - size * step, then
        if decrement < 1e-24:
            return b
    return b  # wherever that is: the slope left is part of the bound
