"""A regression with a Gaussian prior: its density, its mode, and coordinates whitened there.

F(beta) = -log p(beta) - log p(y | beta), all constants included. With beta = m + L z, for the
numbers m and L as they are (m need not be the exact mode, nor L the exact root of the inverse
Hessian),

    F(m + L z) - F(m) = gamma . z + z' C z / 2 + sum_i D_i(a_i . z),    a_i = L' x_i,

with gamma = L' grad F(m), C = L' P L for the prior's precision P, and D_i the Bregman divergence of
phi at eta_i. L is inflated until C + sum_i w_i a_i a_i' >= I by more than what rounding can hide.
"""

import math
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
#: A prior whose Cholesky factor is off by more than this, relatively, is refused.
ROUGHEST_PRIOR = 1e-9
#: Asymmetry of a covariance beyond this, relatively, is no rounding.
ASYMMETRY = 1e-12
#: Newton steps; a few dozen suffice for any convex F.
STEPS = 500
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Regression:
    """What is observed and believed."""

    x: np.ndarray  # (rows, columns)
    y: np.ndarray  # (rows,)
    offset: np.ndarray  # (rows,)
    prior_root: np.ndarray  # Cholesky factor of the prior's covariance
    family: str

    @property
    def kind(self) -> Family:
        return FAMILIES[self.family]

    def predictor(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """eta, and at least what rounding can have done to it."""
        size = np.abs(self.offset) + np.abs(self.x) @ np.abs(beta)
        return self.offset + self.x @ beta, (beta.size + 2) * EPSILON * size

    def energy(self, beta: np.ndarray) -> tuple[float, float]:
        """F, minus the log joint density, and at least what rounding can have done to it: that of
        every term, of the predictor in it, and of the prior's root in the evidence."""
        kind, d = self.kind, beta.size
        eta, eta_error = self.predictor(beta)
        loss, loss_error = kind.loss(eta, self.y)
        slope = np.abs(kind.residual(eta, self.y)[0])
        b = solve_triangular(self.prior_root, beta, lower=True)
        logs = np.log(np.diag(self.prior_root))
        constant = 0.5 * d * np.log(2 * np.pi)
        value = math.fsum([*loss, *(0.5 * b**2), *logs, constant])
        error = np.sum(loss_error + slope * eta_error + kind.curvature(eta) * eta_error**2)
        error += 2 * np.linalg.norm(b) * np.linalg.norm(root_error(self.prior_root, b))
        error += root_roughness(self.prior_root) * (b @ b + 2 * d)
        error += 8 * EPSILON * (abs(value) + b @ b + np.sum(np.abs(logs)) + constant)
        return value, float(error)


def _condition(root: np.ndarray) -> np.ndarray:
    """|R^-1| |R|, which scales of the coefficients leave alone."""
    inverse = solve_triangular(root, np.eye(len(root)), lower=True)
    return np.abs(inverse) @ np.abs(root)


def root_error(root: np.ndarray, b: np.ndarray) -> np.ndarray:
    """At least what rounding does to b, to R b and back."""
    return (len(b) + 2) * EPSILON * (_condition(root) @ np.abs(b))


def root_roughness(root: np.ndarray) -> float:
    """At least the norm of R^-1 (R R' - covariance) R^-T for a Cholesky factor R.

    With v this number, the two priors' log evidence differs by at most v (|b|^2 + 2 d), b the mode:
    their log densities differ by at most v (|b|^2 + d) / 2 at b, but for v^2, and under the
    posterior, which is strongly log-concave, the distance to the mode is stochastically smaller
    than that of a standard normal vector to 0.
    """
    return float((len(root) + 1) * EPSILON * np.linalg.norm(_condition(root), 2) ** 2)


@dataclass(frozen=True)
class Whitened:
    """The regression in coordinates z, of which the posterior's curvature at 0 is about I.

    Numbers called an error bound what rounding can have done to the one they are named after.
    """

    regression: Regression
    mode: np.ndarray  # m
    to_beta: np.ndarray  # L
    to_b: np.ndarray  # z to coordinates b where the prior is standard: C = to_b' to_b
    b: np.ndarray  # m there
    energy: float  # F(m)
    energy_error: float
    eta: np.ndarray  # at m
    eta_error: np.ndarray
    rows: np.ndarray  # a_i, (rows, columns)
    row_error: np.ndarray  # of the norm of a_i
    curvature: np.ndarray  # w_i
    skewness: np.ndarray  # t_i
    prior: np.ndarray  # C
    gradient: float  # at least |gamma|
    gradient_error: float  # part of it
    share: float  # at most the smallest eigenvalue of C
    log_volume: float  # log |det L|

    @property
    def log_scale(self) -> float:
        """log p(y) less the log-integral of exp(-(F(m + L z) - F(m))) over z, up to
        ``energy_error``."""
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
    prior_root = _prior_root(prior_scale, prior_covariance, columns)
    return Regression(x, y, np.broadcast_to(offset, len(x)), prior_root, family)


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
    if covariance.shape != (columns, columns):
        raise InputError(
            f"`prior_covariance` must be a symmetric {columns} x {columns} matrix, got shape"
            f" {covariance.shape}"
        )
    scale = np.sqrt(np.abs(np.diag(covariance)))
    apart = np.abs(covariance - covariance.T)
    if np.any(apart > ASYMMETRY * np.outer(scale, scale)):
        raise InputError(
            f"`prior_covariance` must be symmetric; entries differ from their mirror image by up to"
            f" {apart.max():.2g}: take (C + C.T) / 2"
        )
    try:
        root = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    except np.linalg.LinAlgError:
        raise InputError("`prior_covariance` must be positive definite, and is not") from None
    rough = root_roughness(root)
    if not rough <= ROUGHEST_PRIOR:
        raise InputError(
            f"`prior_covariance` is too nearly singular: its root is off by {rough:.2g} in"
            f" floating-point numbers, above {ROUGHEST_PRIOR:.0e}; drop coefficients that others"
            " determine, or pass X @ root for `X`, with a root of your own and `prior_scale` 1"
        )
    return root


def whiten(regression: Regression) -> Whitened:
    """Newton's method to the mode, and what holds there whatever was rounded.

    Works in coordinates b with beta = R b, R the prior's root, where the prior is standard:
    H_b = I + X_b' W X_b is never worse conditioned than the data make it.
    """
    r, kind, root = regression, regression.kind, regression.prior_root
    x = r.x @ root  # of b
    b = _newton(r, x)
    mode = root @ b
    eta, eta_error = r.predictor(mode)
    w = kind.curvature(eta)
    n, d = x.shape
    size = d + 2
    hessian = np.eye(d) + (x.T * w) @ x
    # L = R K'^-1 with K K' the Hessian: L' H L = I.
    try:
        factor = np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        raise _collinear() from None
    to_b = solve_triangular(factor, np.eye(d), lower=True).T
    rows = x @ to_b
    # What rounding can have done to a row, to its share of the Hessian, and to the gradient.
    absolute = np.abs(r.x) @ np.abs(root) @ np.abs(to_b)
    row_error = 2 * size * EPSILON * np.linalg.norm(absolute, axis=1)
    norms = np.linalg.norm(rows, axis=1)
    rough = 4 * np.sum(w * norms * row_error)
    rough += np.sum(w * norms**2 * (2 * eta_error + (n + size) * EPSILON))
    rough += (n + size) * EPSILON * np.sum(to_b**2)
    gram = to_b.T @ to_b + (rows.T * w) @ rows
    rough += np.linalg.norm(gram - np.eye(d))
    if not rough < TOO_ROUGH:
        raise _collinear()
    inflate = 1 + INFLATION + rough
    to_b, rows, row_error, norms = (a * inflate for a in (to_b, rows, row_error, norms))
    residual, residual_error = kind.residual(eta, r.y)
    residual_error = residual_error + w * np.expm1(eta_error)
    residual_error = residual_error + (n + size) * EPSILON * np.abs(residual)
    gradient_error = norms @ residual_error + row_error @ np.abs(residual)
    b_error = root_error(root, b)
    gradient_error += np.linalg.norm(np.abs(to_b).T @ (b_error + size * EPSILON * np.abs(b)))
    gradient = np.linalg.norm(rows.T @ residual + to_b.T @ b) + gradient_error
    prior = to_b.T @ to_b
    share = np.linalg.eigvalsh(prior)[0] - 16 * size * EPSILON * np.trace(prior)
    logs = np.append(np.log(np.diag(root)), np.log(np.diag(to_b)))
    energy, energy_error = r.energy(mode)
    return Whitened(
        regression=r,
        mode=mode,
        to_beta=root @ to_b,
        to_b=to_b,
        b=b,
        energy=energy,
        energy_error=energy_error + 8 * EPSILON * float(np.sum(np.abs(logs))),
        eta=eta,
        eta_error=eta_error,
        rows=rows,
        row_error=row_error,
        curvature=w,
        skewness=kind.skewness(eta),
        prior=prior,
        gradient=float(gradient) * (1 + INFLATION),
        gradient_error=float(gradient_error) * (1 + INFLATION),
        share=float(np.clip(share, 0.0, 1.0)),
        log_volume=math.fsum(logs),
    )


def _collinear() -> NumericalError:
    return NumericalError(
        "the columns of `X` are too nearly collinear, or their numbers too far apart, for"
        " floating-point numbers: drop or standardise columns, or take a smaller `prior_scale`"
    )


def _newton(r: Regression, x: np.ndarray) -> np.ndarray:
    """Damped Newton steps to the minimum of |b|^2 / 2 - log p(y | b)."""
    kind = r.kind

    def value(b):
        with np.errstate(over="ignore", invalid="ignore"):
            return 0.5 * b @ b + np.sum(kind.loss(r.offset + x @ b, r.y)[0])

    b = np.zeros(x.shape[1])
    now = value(b)
    if not np.isfinite(now):
        raise InputError("`offset` is too large: the likelihood at zero is not a number")
    for _ in range(STEPS):
        eta = r.offset + x @ b
        w = kind.curvature(eta)
        gradient = b + x.T @ kind.residual(eta, r.y)[0]
        try:
            step = np.linalg.solve(np.eye(len(b)) + (x.T * w) @ x, gradient)
        except np.linalg.LinAlgError:
            raise _collinear() from None
        decrement = gradient @ step
        size = 1.0
        while not (then := value(b - size * step)) <= now - 0.25 * size * decrement:
            size *= 0.5
            if size < 1e-8 and decrement < 1e-9 * (1 + now):  # rounding: nothing is left to gain
                return b - step if decrement < 1e-12 else b
            if size < 1e-100:
                return b
        # Far out e^eta falls by a factor of e per step: longer ones.
        while decrement > 1 and (further := value(b - 2 * size * step)) < then:
            size, then = 2 * size, further
        b, now = b - size * step, then
        if decrement < 1e-24:
            return b
    return b  # wherever that is: the gradient left is part of the bound
