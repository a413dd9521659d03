"""Log-Gaussian Cox process: counts of points on a grid whose log intensity is a Gaussian field.

The unit square in R x C cells of area a = 1 / (R C). With u_c the middle of a cell,

    x ~ N(m, K),   K_cc' = s^2 exp(-|u_c - u_c'| / l),        y_c | x ~ Poisson(a e^(x_c)),

and m = log(expected) - s^2 / 2, so that ``expected`` points are expected in all: E e^x = expected.
The defaults of s^2, l and the expected number are those of Moller, Syversveen and Waagepetersen
(1998) for the 126 Finnish pines.

**Coordinates.** With K = U D U' the state is xi ~ N(0, 1) and x = m + U D^(1/2) xi: white under the
prior. Under the powers b the log-density of x has the curvature K^-1 + b a diag(e^x), whose mean
over the prior is M = K^-1 + b L with L = a expected the same in all cells. In xi it is

    D^(1/2) U' M U D^(1/2) = 1 + b L D,

diagonal: the mass matrix that takes both the prior's covariance and the expected curvature of the
likelihood into account costs d numbers, and no Cholesky factor of it is needed. Its inverse root,
(1 + b L D)^(-1/2), is what kernels are scaled by (``root_at``).

Cost of a gradient: two products with U D^(1/2), 4 d^2 operations, matrix products where there are
many chains. Memory: d^2 numbers once, d per chain.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.validation import require_at_least, require_positive, require_room
from bracketz.errors import InputError
from bracketz.models.factored import Factored


@pytree_dataclass
class CoxProcess(Factored):
    """A log-Gaussian Cox process on a grid over the unit square.

    The state is white, (rows * columns,); ``constrain`` gives the log intensity. y are the counts,
    (rows, columns); ``counts`` makes them of points.

    Args:
        variance: s^2, of the log intensity.
        length: l, over which its correlation falls by e.
        expected: number of points in all.
        rows, columns: of the grid.

    Raises:
        InputError: a value that is not positive.

    Example:
        >>> import bracketz as bz
        >>> model = bz.CoxProcess(rows=4, columns=4)
        >>> bz.simulate(model, seed=1).y.shape
        (4, 4)
    """

    variance: float = 1.91
    length: float = 1 / 33
    expected: float = 126.0
    rows: int = static(default=3)
    columns: int = static(default=3)
    #: U D^(1/2) and D, made of the fields above.
    basis: Any = dataclasses.field(init=False, default=None)
    spectrum: Any = dataclasses.field(init=False, default=None)

    name = "cox"

    def __post_init__(self):
        require_positive(variance=self.variance, length=self.length, expected=self.expected)
        require_at_least(1, rows=self.rows, columns=self.columns)
        cells = self.rows * self.columns
        require_room(3 * cells**2, f"a grid of {cells} cells", "take fewer of them")
        across, down = np.meshgrid(
            (np.arange(self.columns) + 0.5) / self.columns, (np.arange(self.rows) + 0.5) / self.rows
        )
        apart = np.hypot(
            across.ravel() - across.ravel()[:, None], down.ravel() - down.ravel()[:, None]
        )
        spectrum, vectors = np.linalg.eigh(self.variance * np.exp(-apart / self.length))
        spectrum = np.maximum(spectrum, 0.0)  # of rounding: the kernel is positive definite
        object.__setattr__(self, "basis", vectors * np.sqrt(spectrum))
        object.__setattr__(self, "spectrum", spectrum)

    @property
    def label(self):
        return self.name

    @property
    def area(self) -> float:
        """Of a cell."""
        return 1 / (self.rows * self.columns)

    @property
    def mean(self):
        """Of the log intensity, m."""
        return jnp.log(self.expected) - 0.5 * self.variance

    def log_intensity(self, x):
        """x of the white state, (rows * columns,)."""
        return self.mean + self.basis @ x

    def log_prior(self, x):
        return -0.5 * x @ x - 0.5 * x.shape[0] * jnp.log(2 * jnp.pi)

    def log_likelihood(self, x, y):
        log_rate = self.log_intensity(x) + jnp.log(self.area)
        y = jnp.ravel(y)
        return y * log_rate - jnp.exp(log_rate) - gammaln(y + 1.0)

    def sample_prior(self, key, shape=None):
        return jax.random.normal(key, (self.rows * self.columns,))

    def simulate(self, key, x, shape=None):
        rate = self.area * jnp.exp(self.log_intensity(x))
        return jax.random.poisson(key, rate).reshape(self.rows, self.columns)

    def root_at(self, beta):
        return (1 + beta * self.area * self.expected * self.spectrum) ** -0.5

    def constrain(self, x):
        return {"log_intensity": self.log_intensity(x).reshape(self.rows, self.columns)}

    def unconstrain(self, values):
        away = jnp.ravel(values["log_intensity"]) - self.mean
        return (self.basis.T @ away) / self.spectrum

    def check_data(self, y):
        if np.any(np.asarray(y) < 0) or np.any(np.asarray(y) != np.floor(y)):
            raise InputError("counts of a Cox process must be whole numbers of at least 0")

    def counts(self, points) -> np.ndarray:
        """How many points of the unit square lie in each cell.

        Args:
            points: (x, y) in [0, 1], (n, 2).

        Returns:
            Counts, (rows, columns); row 0 is at y = 0.

        Raises:
            InputError: a point outside the unit square.
        """
        points = np.asarray(points, float)
        if points.ndim != 2 or points.shape[1] != 2 or np.any((points < 0) | (points > 1)):
            raise InputError("points must be pairs of numbers between 0 and 1, (n, 2)")
        sides = np.array([self.columns, self.rows])
        column, row = np.minimum((points * sides).astype(int), sides - 1).T
        found = np.zeros((self.rows, self.columns), int)
        np.add.at(found, (row, column), 1)
        return found
