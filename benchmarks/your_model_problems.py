"""The problems of ``your_model.py``: four small ones, three data sets, and two that are hard.

Each is written as its owner would write it, and again for PyMC where it is compared. Covariates are
made from fixed seeds; data are simulated from the model, one data set per seed.
"""

import csv
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

import bracketz as bz


def covariates(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Standard normal ones."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


@bz.pytree_dataclass
class Centres(bz.Factored):
    """Cluster centres in the plane with unit noise, labels summed out."""

    centres: int = bz.static(default=3)
    rows: int = bz.static(default=50)
    spread: float = 3.0

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["centres"], 0, self.spread))

    def log_likelihood(self, x, y):
        square = jnp.sum((y[:, None] - x["centres"]) ** 2, axis=2)
        return jax.nn.logsumexp(-0.5 * square, axis=1) - jnp.log(2 * jnp.pi * self.centres)

    def sample_prior(self, key, shape=None):
        return {"centres": self.spread * jax.random.normal(key, (self.centres, 2))}

    def simulate(self, key, x, shape=None):
        key_label, key_noise = jax.random.split(key)
        label = jax.random.randint(key_label, (self.rows,), 0, self.centres)
        return x["centres"][label] + jax.random.normal(key_noise, (self.rows, 2))

    def in_pymc(self, y):
        """The same for PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            centres = pm.Normal("centres", 0, self.spread, shape=(self.centres, 2))
            square = pt.sum((y[:, None] - centres[None]) ** 2, axis=2)
            each = pt.logsumexp(-0.5 * square, axis=1) - np.log(2 * np.pi * self.centres)
            pm.Potential("likelihood", pt.sum(each))
        return model


@bz.pytree_dataclass
class LowRankV(bz.Factored):
    """Rows V u + noise with u ~ N(0, I) integrated out: N(0, V V' + s I), V (columns, 2).

    V may be rotated and mirrored. With M = s I + V'V, a 2 x 2 matrix, det(V V' + s I) = s^(D-2)
    det M and its inverse is (I - V M^-1 V') / s; data enter by Y'Y alone, so the likelihood is one
    number.
    """

    rows: int = bz.static(default=50)
    columns: int = bz.static(default=5)
    noise: float = 0.5

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["V"]))

    def log_likelihood(self, x, y):
        v, s = x["V"], self.noise
        a, b = v[:, 0], v[:, 1]
        aa, ab, bb = s + a @ a, a @ b, s + b @ b
        det = aa * bb - ab * ab
        squares = y.T @ y
        of_a, of_b = squares @ a, squares @ b
        within = bb * (a @ of_a) - 2 * ab * (a @ of_b) + aa * (b @ of_b)
        log_det = (self.columns - 2) * jnp.log(s) + jnp.log(det) + self.columns * _LOG_2PI
        return -0.5 * self.rows * log_det - 0.5 * (jnp.trace(squares) - within / det) / s

    def sample_prior(self, key, shape=None):
        return {"V": jax.random.normal(key, (self.columns, 2))}

    def simulate(self, key, x, shape=None):
        key_u, key_noise = jax.random.split(key)
        u = jax.random.normal(key_u, (self.rows, 2))
        noise = jax.random.normal(key_noise, (self.rows, self.columns))
        return u @ x["V"].T + jnp.sqrt(self.noise) * noise

    def in_pymc(self, y):
        """The same for PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            v = pm.Normal("V", 0, 1, shape=(self.columns, 2))
            s, a, b = self.noise, v[:, 0], v[:, 1]
            aa, ab, bb = s + pt.dot(a, a), pt.dot(a, b), s + pt.dot(b, b)
            det = aa * bb - ab * ab
            squares = y.T @ y
            of_a, of_b = pt.dot(squares, a), pt.dot(squares, b)
            within = bb * pt.dot(a, of_a) - 2 * ab * pt.dot(a, of_b) + aa * pt.dot(b, of_b)
            constant = (self.columns - 2) * np.log(s) + self.columns * _LOG_2PI
            square = (np.trace(squares) - within / det) / s
            pm.Potential("likelihood", -0.5 * (self.rows * (constant + pt.log(det)) + square))
        return model


_LOG_2PI = float(np.log(2 * np.pi))


@bz.pytree_dataclass
class Logistic(bz.Factored):
    """Logistic regression, every coefficient N(0, 1)."""

    X: Any

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["beta"]))

    def log_likelihood(self, x, y):
        eta = self.X @ x["beta"]
        return y * eta - jax.nn.softplus(eta)

    def sample_prior(self, key, shape=None):
        return {"beta": jax.random.normal(key, (self.X.shape[1],))}

    def simulate(self, key, x, shape=None):
        drawn = jax.random.bernoulli(key, jax.nn.sigmoid(self.X @ x["beta"]))
        return drawn.astype(self.X.dtype)

    def in_pymc(self, y):
        """The same for PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            beta = pm.Normal("beta", 0, 1, shape=self.X.shape[1])
            pm.Bernoulli("y", logit_p=pt.dot(self.X, beta), observed=y)
        return model


@bz.pytree_dataclass
class Linear(bz.Factored):
    """Linear regression, every coefficient N(0, 1), noise of a known standard deviation."""

    X: Any
    sigma: float = 0.5

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["beta"]))

    def log_likelihood(self, x, y):
        return norm.logpdf(y, self.X @ x["beta"], self.sigma)

    def sample_prior(self, key, shape=None):
        return {"beta": jax.random.normal(key, (self.X.shape[1],))}

    def simulate(self, key, x, shape=None):
        noise = jax.random.normal(key, (self.X.shape[0],))
        return self.X @ x["beta"] + self.sigma * noise

    def exact_log_evidence(self, y) -> float:
        """y ~ N(0, X X' + s^2 I)."""
        covariance = self.X @ self.X.T + self.sigma**2 * np.eye(len(y))
        _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
        return float(-0.5 * (y @ np.linalg.solve(covariance, y) + log_det))

    def in_pymc(self, y):
        """The same for PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            beta = pm.Normal("beta", 0, 1, shape=self.X.shape[1])
            pm.Normal("y", pt.dot(self.X, beta), self.sigma, observed=y)
        return model


@bz.pytree_dataclass
class FreeMixture(bz.Factored):
    """A Gaussian mixture on the line: means N(0, 3), log standard deviations N(0, 1), equal
    weights, labels summed out. Where a component holds one point its scale may go to 0."""

    components: int = bz.static(default=3)
    rows: int = bz.static(default=60)

    def log_prior(self, x):
        return jnp.sum(norm.logpdf(x["means"], 0, 3)) + jnp.sum(norm.logpdf(x["log_scales"]))

    def log_likelihood(self, x, y):
        each = norm.logpdf(y[:, None], x["means"], jnp.exp(x["log_scales"]))
        return jax.nn.logsumexp(each, axis=1) - jnp.log(self.components)

    def sample_prior(self, key, shape=None):
        key_mean, key_scale = jax.random.split(key)
        return {
            "means": 3 * jax.random.normal(key_mean, (self.components,)),
            "log_scales": jax.random.normal(key_scale, (self.components,)),
        }

    def simulate(self, key, x, shape=None):
        key_label, key_noise = jax.random.split(key)
        label = jax.random.randint(key_label, (self.rows,), 0, self.components)
        noise = jax.random.normal(key_noise, (self.rows,))
        return x["means"][label] + jnp.exp(x["log_scales"])[label] * noise


#: The four of the table, by name.
FOUR: dict[str, Any] = {
    "3 centres, 6-d": Centres(),
    "low rank, 10-d": LowRankV(),
    "logistic, 10-d": Logistic(covariates(200, 10)),
    "linear, 5-d": Linear(covariates(100, 5)),
}

#: Where simple Hamiltonian Monte Carlo is off by nats.
HARD: dict[str, Any] = {
    "mixture, free scales": FreeMixture(),
    "logistic, scales 0.01 to 100": Logistic(covariates(200, 8) * np.logspace(-2, 2, 8)),
}


def standardised(columns: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1 after a column of ones; constant ones are dropped (with a
    prior that is normalised they do not change the log evidence)."""
    spread = columns.std(0)
    kept = columns[:, spread > 0]
    scaled = (kept - kept.mean(0)) / kept.std(0)
    return np.column_stack([np.ones(len(columns)), scaled])


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of scikit-learn's copy, (569, 31)."""
    from sklearn.datasets import load_breast_cancer

    columns, y = load_breast_cancer(return_X_y=True)
    return standardised(np.asarray(columns)), np.asarray(y, float)


def from_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of a file whose first column is y."""
    with path.open() as file:
        values = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])
    return standardised(values[:, 1:]), values[:, 0]
