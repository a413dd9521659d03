"""A radial function below -log posterior, and the two deterministic bounds it leads to.

**Claim.** In whitened coordinates let g_u(r) = F(m + L r u) - F(m) for a unit vector u. With c the
prior's smallest share, S = 1 - c and

    Q[v] >= max over unit u of sum_i v_i (a_i . u)^4,
    R = min(max_i |a_i|, sqrt(Q[w] / S)),    A = min(max_i t_i |a_i|, sqrt(Q[w t^2] / S)),
    B = min(max_i (1 - t_i^2) |a_i|^2, Q[w (1 - t^2)] / S) / 4,

every direction has g_u''(r) >= h''(r) := c + S max(exp(-R r), exp(-A r - B r^2)), hence
g_u(r) >= h(r) - |gamma| r with h(0) = h'(0) = 0. Proof: docs/glm.md.

r^(d-1) exp(|gamma| r - h(r)) is log-concave, so the tangent of its logarithm at the middle of a
cell lies above it in the whole cell. These tangents are the envelope: its integral and its
quantiles are exact, whatever the number of cells. Cost: six eigenvalue problems of the size
min(rows, columns (columns + 1) / 2).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import gammaln, logsumexp

from bracketz.errors import NumericalError
from bracketz.inference.glm.regression import EPSILON, INFLATION, Whitened

#: Cells of the envelope, and steps within one by which h is summed up.
CELLS, STEPS_PER_CELL = 2048, 8
#: The cells reach to where the log density of the radius is this far below its top.
DEPTH = 30.0
#: And no further: a density that has not fallen by then does not fall.
LONGEST = 1e8
#: Larger eigenvalue problems are left alone: the row norms bound the quartic forms too.
LARGEST = 1200
#: Scales of the Gaussian of the lower bound, relative to the whitened coordinates; where the
#: smallest is the best, smaller ones by a factor, down to the last.
SCALES, SHRINK, SMALLEST = np.linspace(0.4, 1.2, 17), 0.75, 1e-13


@dataclass(frozen=True)
class Rates:
    """How fast the curvature may fall along a ray."""

    linear: float  # R
    skew: float  # A
    quadratic: float  # B
    share: float  # c
    gradient: float  # at least |gamma|
    leverage: float  # max_i |a_i|, the R of the plain argument

    def exponents(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two concave functions of r; the likelihood's share of the curvature is at least exp of
        either."""
        return -self.linear * r, -self.skew * r - self.quadratic * r**2

    def least_mean_curvature(self, r: np.ndarray) -> np.ndarray:
        """At most the mean of h'' between neighbours of r: a concave exponent lies above its chord,
        and the mean of exp of a chord is known."""
        means = []
        for exponent in self.exponents(r):
            fall = np.maximum(-np.diff(exponent), 1e-300)
            means.append(np.exp(exponent[:-1]) * -np.expm1(-fall) / fall)
        return self.share + (1 - self.share) * np.maximum(*means)


def quartic_bound(weights: np.ndarray, rows: np.ndarray) -> float:
    """At least the largest sum_i v_i (a_i . u)^4 over unit vectors u; infinite if too large to
    compute.

    With U = u u', of unit norm and unit trace, the sum is the quadratic form sum_i v_i <a_i a_i',
    U>^2 in U, and <I, U>^2 - |U|^2 = 0. So for every s, the largest eigenvalue of that form less
    s <I, .>^2, plus s, is a bound; a good s is sought. It is exact where fourth moments are
    isotropic.
    """
    n, d = rows.shape
    size = d * (d + 1) // 2
    if min(n + 1, size) > LARGEST or n * size > 5e7:
        return np.inf
    i, j = np.triu_indices(d)
    stretch = np.where(i == j, 1.0, np.sqrt(2.0))
    squares = rows[:, i] * rows[:, j] * (stretch * np.sqrt(weights)[:, None])
    unit = (i == j).astype(float)
    if n + 1 < size:  # the span of the squares and the unit: beyond it every eigenvalue is 0
        triangle = np.asarray(np.linalg.qr(np.column_stack([squares.T, unit]), mode="r"))
        squares, unit = triangle[:, :-1].T, triangle[:, -1]
    form = squares.T @ squares

    values, vectors = eigh(form)
    largest = max(values[-1], 0.0)
    if largest == 0:
        return 0.0
    # Which s is best: lambda is the largest eigenvalue of form - s unit unit' where the secular
    # function is -1 / s. Any s gives a bound, so nothing rests on this.
    grid = np.linspace(values[-2] if len(values) > 1 else 0.0, largest, 514)[1:-1]
    with np.errstate(divide="ignore"):
        shifts = -1 / np.sum((vectors.T @ unit) ** 2 / (grid[:, None] - values), axis=1)
    usable = (shifts > 0) & np.isfinite(shifts)
    s = shifts[usable][np.argmin((grid + shifts)[usable])] if usable.any() else 0.0
    best = s + max(eigh(form - s * np.outer(unit, unit), eigvals_only=True)[-1], 0.0)
    return float(min(largest, best) + INFLATION * (largest + s * d))


def rates(at: Whitened) -> Rates:
    """The constants of the claim, for the worst eta and rows within their errors."""
    doubt = 2 * at.eta_error + INFLATION
    w, t = at.curvature * (1 + doubt), np.minimum(at.skewness + doubt, 1.0)
    evenness = np.minimum((1 - at.skewness**2) * (1 + doubt) + INFLATION, 1.0)
    norms = np.linalg.norm(at.rows, axis=1) + at.row_error
    likelihood_share = max(1 - at.share, INFLATION)

    def moment(v):
        rounding = 4 * np.sum(v * norms**3 * at.row_error)
        return (quartic_bound(v, at.rows) + rounding) / likelihood_share

    linear = min(norms.max(), np.sqrt(moment(w)))
    if np.all(at.skewness == 1):
        skew, quadratic = linear, 0.0
    else:
        skew = min(np.max(t * norms), np.sqrt(moment(w * t**2)))
        quadratic = min(np.max(evenness * norms**2), moment(w * evenness)) / 4
    up = 1 + INFLATION
    return Rates(
        linear=float(linear * up),
        skew=float(skew * up),
        quadratic=float(quadratic * up),
        share=at.share,
        gradient=at.gradient,
        leverage=float(norms.max()),
    )


@dataclass(frozen=True)
class Envelope:
    """log (r^(d-1) exp(|gamma| r - h(r))) <= height + slope (r - middle) in every cell; the last
    one has no end."""

    start: np.ndarray  # (cells,)
    width: np.ndarray
    middle: np.ndarray
    height: np.ndarray
    slope: np.ndarray
    log_mass: np.ndarray  # of every cell

    @property
    def log_integral(self) -> float:
        """Of exp(envelope) over the radius."""
        return float(logsumexp(self.log_mass))

    def __call__(self, r: np.ndarray) -> np.ndarray:
        """The envelope's logarithm at a radius."""
        cell = np.clip(np.searchsorted(self.start, r, side="right") - 1, 0, len(self.start) - 1)
        return self.height[cell] + self.slope[cell] * (r - self.middle[cell])


def envelope(constants: Rates, columns: int, cells: int = CELLS) -> Envelope:
    """Tangents to a lower bound on h, summed up step by step.

    With k the chords' lower bound on h'', the increments of h' are exact for k, and those of h at
    most as large: k falls within a step, as the weight of an instant does in the double integral,
    so their product's mean exceeds the product of their means.

    Raises:
        NumericalError: the density does not fall: the gradient left exceeds what h' comes to.
    """
    steps, reach = cells * STEPS_PER_CELL, np.sqrt(columns) + 4.0
    while True:
        r = np.linspace(0.0, reach, steps + 1)
        step = r[1]
        bend = constants.least_mean_curvature(r)
        rise = np.concatenate([[0.0], np.cumsum(bend) * step])  # h'
        h = np.concatenate([[0.0], np.cumsum((rise[:-1] + 0.5 * bend * step) * step)])
        with np.errstate(divide="ignore"):
            log_density = (columns - 1) * np.log(r) if columns > 1 else np.zeros_like(r)
        log_density = log_density + constants.gradient * r - h
        if log_density[-1] < np.max(log_density) - DEPTH:
            break
        reach *= 1.25
        if reach > LONGEST or not np.isfinite(log_density[-1]):
            raise NumericalError(
                "the envelope does not fall: the gradient left by rounding is"
                f" {constants.gradient:.2g}, radius {constants.linear:.2g}, the prior's share"
                f" {constants.share:.2g}; take a smaller `prior_scale`, smaller numbers in `X`, or"
                " an `offset` nearer to 0"
            )
    at = np.append(np.arange(cells) * STEPS_PER_CELL + STEPS_PER_CELL // 2, steps)
    start = np.append(r[:-1:STEPS_PER_CELL], r[-1])
    width = np.append(np.diff(start), np.inf)
    middle = r[at]
    slope = (columns - 1) / middle + constants.gradient - rise[at]
    rounding = INFLATION + 4 * steps * EPSILON * (h[at] + np.abs(log_density[at]))  # of the sums
    height = log_density[at] + rounding
    edge = np.where(slope > 0, start + width, start)  # where the tangent is highest
    falls = np.maximum(np.abs(slope), 1e-12)
    with np.errstate(invalid="ignore"):
        log_mass = height + slope * (edge - middle) + np.log(-np.expm1(-falls * width) / falls)
    return Envelope(start, width, middle, height, slope, log_mass)


def log_sphere(columns: int) -> float:
    """Of the area of the unit sphere."""
    return float(np.log(2) + 0.5 * columns * np.log(np.pi) - gammaln(0.5 * columns))


def upper_bound(at: Whitened, hull: Envelope) -> float:
    """log p(y) is at most this: the envelope's integral."""
    columns = len(at.mode)
    return float(at.log_scale + at.energy_error + log_sphere(columns) + hull.log_integral)


def lower_bound(at: Whitened) -> float:
    """log p(y) is at least this: the evidence lower bound of N(m, s^2 L L'), with every mean in
    closed form or bounded, for the best of several scales s.

    It is concave in s. Its best s is far below 1 where the posterior is lopsided.
    """
    variances = (np.linalg.norm(at.rows, axis=1) + at.row_error) ** 2
    trace, d, kind = np.trace(at.prior), len(at.mode), at.regression.kind

    def gain(s):
        rise = np.sum(kind.mean_rise(at.eta, s**2 * variances, at.eta_error)) + 0.5 * s**2 * trace
        return d * np.log(s) - rise * (1 + INFLATION)

    s, last = SCALES[0], gain(SCALES[0])
    best = max(last, *(gain(each) for each in SCALES[1:]))
    while last == best and s > SMALLEST:
        s *= SHRINK
        last = gain(s)
        best = max(best, last)
    entropy = 0.5 * d * np.log(2 * np.pi * np.e)
    return float(at.log_scale + entropy + best - at.energy_error - INFLATION * (1 + d))
