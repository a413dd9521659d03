"""Partition functions that are known: by transfer matrix, Kaufman's formula, Onsager's limit."""

import numpy as np
from scipy.integrate import quad

from bracketz.errors import InputError

#: Numbers in the vector of the transfer matrix.
MOST_NUMBERS = 1 << 21


def transfer(bonds: np.ndarray, logits: np.ndarray, periodic: bool) -> float:
    """log of the sum over all states of a grid, site by site.

    The vector holds, for each of the q^D states of a row, the sum over all rows above. A row is
    appended by one factor per bond: N D q^D steps (free boundary; around a periodic grid it keeps
    the first row's state as well, q^D times as much). The grid is turned so that rows are short.

    Args:
        bonds: strengths of the bonds to the right and down, (2, N, D).
        logits: of each site's states, (N, D, q).
        periodic: whether the grid closes upon itself.

    Returns:
        log Z.

    Raises:
        InputError: the vector would be too long.
    """
    n, d, q = logits.shape
    if d > n:
        return transfer(np.swapaxes(bonds[::-1], 1, 2), np.swapaxes(logits, 0, 1), periodic)
    around = periodic and n > 1
    if q ** (2 * d if around else d) > MOST_NUMBERS:
        raise InputError(
            f"a transfer matrix for rows of {d} sites with {q} states is too large; use a smaller"
            " grid"
        )
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    log_scale = float(np.sum(logits.max(axis=2)))
    equal = np.eye(q)

    def axis(values, *axes):
        """``values`` along these axes of the row."""
        shape = [1] * d
        for a in axes:
            shape[a] = q
        return (values if list(axes) == sorted(axes) else values.T).reshape(shape)

    def within(vector, i):
        """The row's own sites and bonds."""
        for j in range(d):
            vector = vector * axis(weights[i, j], j)
            if d > 1 and bonds[0, i, j] > 0:
                vector = vector * axis(1 + np.expm1(bonds[0, i, j]) * equal, j, (j + 1) % d)
        return vector

    def below(vector, i):
        """Down from row i: the row's axes are the last d."""
        for j in range(d):
            total = np.sum(vector, axis=j - d, keepdims=True)
            vector = total + np.expm1(bonds[1, i, j]) * vector
        return vector

    rows = (q,) * d
    # Around: the first row's state comes along, in front.
    vector = np.eye(q**d).reshape(q**d, *rows) if around else np.ones((1, *rows))
    vector = within(vector, 0)
    for i in range(1, n):
        vector = within(below(vector, i - 1), i)
        most = vector.max()
        vector, log_scale = vector / most, log_scale + float(np.log(most))
    if around:
        vector = np.trace(below(vector, n - 1).reshape(q**d, q**d))
    return log_scale + float(np.log(np.sum(vector)))


def kaufman(rows: int, columns: int, coupling: float, vertical: float | None = None) -> float:
    """log Z of the Ising model on a torus without a field (Kaufman 1949).

    With K within rows, L within columns and tanh K* = exp(-2 K), the modes are cosh g_k = cosh 2L
    cosh 2K* - sinh 2L sinh 2K* cos(pi k / N), k = 0..2N-1, and g_0 = 2 (L - K*) has a sign. Over
    the N odd and the N even ones,

        Z = (2 sinh 2K)^(N D / 2) / 2 * [ prod_odd 2 cosh(D g / 2) + prod_odd 2 sinh(D g / 2)
                                        + prod_even 2 cosh(D g / 2) + prod_even 2 sinh(D g / 2) ].

    Args:
        rows, columns: N and D.
        coupling: K, positive.
        vertical: L; the same by default.

    Returns:
        log Z.
    """
    k, v = float(coupling), float(coupling if vertical is None else vertical)
    n, d = rows, columns
    dual = -0.5 * np.log(np.tanh(k))  # K*
    modes = np.arange(2 * n)
    cosh = np.cosh(2 * v) * np.cosh(2 * dual) - np.sinh(2 * v) * np.sinh(2 * dual) * np.cos(
        np.pi * modes / n
    )
    gamma = np.arccosh(np.maximum(cosh, 1.0))
    gamma[0] = 2 * (v - dual)
    half = 0.5 * d * gamma

    def log_product(which, sign):
        """(sign, log |prod (e^h + sign e^-h)|)."""
        h = half[which::2]
        terms = 1 + sign * np.exp(-2 * np.abs(h))
        flips = np.sum(h < 0) if sign < 0 else 0
        with np.errstate(divide="ignore"):
            return (-1) ** flips, float(np.sum(np.abs(h) + np.log(terms)))

    parts = [log_product(which, sign) for which in (1, 0) for sign in (1, -1)]
    most = max(value for _, value in parts)
    total = sum(sign * np.exp(value - most) for sign, value in parts)
    return float(0.5 * n * d * np.log(2 * np.sinh(2 * k)) + most + np.log(0.5 * total))


def onsager(coupling: float) -> float:
    """log Z per site of the infinite square grid without a field (Onsager 1944):

        log(sqrt(2) cosh 2K) + 1/pi * integral_0^(pi/2) log(1 + sqrt(1 - k^2 sin^2 t)) dt,

    k = 2 sinh 2K / cosh^2 2K, which is 1 at the critical coupling log(1 + sqrt 2) / 2 = 0.4407.

    Args:
        coupling: K.

    Returns:
        The limit of log Z / (N D).
    """
    k = 2 * np.sinh(2 * coupling) / np.cosh(2 * coupling) ** 2
    value, _ = quad(
        lambda t: np.log1p(np.sqrt(max(0.0, 1 - (k * np.sin(t)) ** 2))),
        0,
        np.pi / 2,
        epsabs=1e-12,
    )
    return float(np.log(np.sqrt(2) * np.cosh(2 * coupling)) + value / np.pi)
