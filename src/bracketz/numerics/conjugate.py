"""Priors of hyperparameters, and the one home of their conjugate updates.

A prior is a ``Conditional`` (it samples and scores itself); ``given`` takes sufficient statistics,
gathered under any row of powers, and returns the posterior, which is of the same class:

    variance v of n Gaussians with squares q:   IG(a, s)  ->  IG(a + n/2, s + q/2)
    probabilities with counts n_k:              Dir(a_k)  ->  Dir(a_k + n_k)
    a probability, m times yes and l times no:  Be(a, b)  ->  Be(a + m, b + l)

Under powers b a row counts b_i times, so n = D sum_i b_i and q = sum_i b_i |y_i - mean_i|^2: counts
need not be whole. All three are functions of standard gamma variables, so that a kernel draws one
batch for all.

``toward`` is the geometric mean q^(1-m) p^m of two laws, normalised: parameters stand linearly in
the exponents, so it is of the same class, and its parameters are (1 - m) times q's plus m times
p's. What normalises it is left out, so densities of a path take (1 - m) log q + m log p instead.

``matched`` is the law nearest to a weighted sample, by KL(sample | law): the one with its mean
sufficient statistics (log v and 1 / v; log p). What has labels, which data cannot tell apart, is
matched by all its entries at once, so that the law has the same for each.

Gammas are drawn and carried as logs (law "log-gamma"), and probabilities as logs or log-odds. With
a concentration a below 1, log G = log G' + log(U) / a for a gamma G' of shape a + 1: at a = 0.003
half of the draws are below e^-231, and one in nine below the smallest positive number. In logs
nothing underflows.
"""

import math
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from scipy.special import digamma

from bracketz.numerics.noise import plain

Array = jax.Array | np.ndarray

#: Shapes and concentrations of matched laws. A sample of equal values has no largest likelihood.
LEAST, MOST = 1e-4, 1e8


def _solved(rising) -> float:
    """Where a rising function of a shape is 0, by bisection of its logarithm; the end of the range
    where it is not."""
    low, high = math.log(LEAST), math.log(MOST)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rising(math.exp(middle)) < 0 else (low, middle)
    return math.exp(0.5 * (low + high))


class _OfGammas:
    """What the three share as conditionals: a map from logs of standard gammas, densities
    normalised."""

    __slots__ = ()
    symbol = ""

    @property
    def words(self) -> str:
        """The law and its parameters (of the first component), for people."""
        values = [f"{np.ravel(a)[0]:.3g}" for a in self]  # type: ignore[attr-defined]
        return f"{self.symbol}({', '.join(values)})"

    @property
    def gammas(self) -> jax.Array:
        """The shapes of those gammas."""
        raise NotImplementedError

    @property
    def law(self):
        return "log-gamma"

    @property
    def support(self):
        return None

    @property
    def noise_shape(self):
        return jnp.shape(self.gammas)

    def from_noise(self, noise):
        raise NotImplementedError

    def sample(self, key):
        # JAX draws many at once on a card for its own keys alone; the bits are the same.
        return self.from_noise(jax.random.loggamma(plain(key), self.gammas))

    @property
    def log_normalizer(self):
        return 0.0

    def widened(self, factor: float) -> Self:
        """The same with its shapes or concentrations and scales divided: means stay about where
        they are, variances grow by the factor."""
        return type(self)(*(a / factor for a in self))  # type: ignore[attr-defined]

    def toward(self, other: Self, share) -> Self:
        """The law proportional to self^(1 - share) other^share, normalised."""
        pairs = zip(self, other, strict=True)  # type: ignore[call-overload]
        return type(self)(*((1 - share) * a + share * b for a, b in pairs))


class _InverseGamma(NamedTuple):
    shape: jax.Array | float
    scale: jax.Array | float


class InverseGamma(_OfGammas, _InverseGamma):
    """Density scale^shape / Gamma(shape) * v^(-shape-1) exp(-scale / v)."""

    __slots__ = ()
    symbol = "IG"

    @property
    def gammas(self):
        return jnp.asarray(self.shape, dtype=float)

    def from_noise(self, noise):
        return self.scale * jnp.exp(-noise)

    def log_density(self, value):
        a, s = self.shape, self.scale
        return a * jnp.log(s) - gammaln(a) - (a + 1) * jnp.log(value) - s / value

    @classmethod
    def matched(cls, values, weights) -> "InverseGamma":
        """With E[1/v] = a / s and E[log 1/v] = psi(a) - log s those of the sample, (n,)."""
        precisions = 1 / np.asarray(values)
        mean = weights @ precisions
        spread = np.log(mean) - weights @ np.log(precisions)  # log a - psi(a), about 1 / (2 a)
        shape = _solved(lambda a: spread - np.log(a) + digamma(a))
        return cls(shape, shape / mean)

    def given(self, count, squares) -> "InverseGamma":
        return InverseGamma(self.shape + count / 2, self.scale + squares / 2)

    def grid(self, step: float = 0.4):
        """(values, log-weights) of a trapezoid rule in log v; its error falls like exp(-pi^2 /
        step)."""
        shape, scale = float(self.shape), float(self.scale)
        t = np.log(scale) + np.arange(-np.log(50.0), 17.0 / shape + np.log1p(1 / shape), step)
        return np.exp(t), t + math.log(step)


class _Dirichlet(NamedTuple):
    concentration: Array  # (..., K)


class Dirichlet(_OfGammas, _Dirichlet):
    """Logs of probabilities along the last axis.

    The density is with respect to the log-ratios s_k = log p_k - log p_K, k < K. Since dp = (prod_k
    p_k) ds, it is Gamma(sum_k a_k) prod_k p_k^(a_k) / Gamma(a_k): finite wherever the logs are.
    """

    __slots__ = ()
    symbol = "Dirichlet"

    @property
    def gammas(self):
        return self.concentration

    def from_noise(self, noise):
        return jax.nn.log_softmax(noise, axis=-1)

    def log_density(self, value):
        a = self.concentration
        each = jnp.sum(a * value - gammaln(a), axis=-1) + gammaln(jnp.sum(a, axis=-1))
        return jnp.sum(each)

    @classmethod
    def matched(cls, values, weights) -> "Dirichlet":
        """Symmetric, with the sample's mean of log p over its entries, (n, K)."""
        mean, count = float(np.mean(weights @ np.asarray(values))), np.shape(values)[-1]
        a = 1.0 if count == 1 else _solved(lambda a: digamma(a) - digamma(count * a) - mean)
        return cls(np.full(count, a))

    def given(self, counts) -> "Dirichlet":
        return Dirichlet(self.concentration + counts)

    def grid(self, step: float = 0.8):
        """As ``Beta.grid``, for two categories."""
        on, off = np.asarray(self.concentration)
        log_odds, log_weight = Beta(on, off).grid(step)
        both = np.stack([log_odds, -log_odds], axis=-1)
        return -np.logaddexp(0.0, -both), log_weight


class _Beta(NamedTuple):
    on: Array  # (...)
    off: Array  # (...)


class Beta(_OfGammas, _Beta):
    """Log-odds of one probability an entry: log p_1 - log p_2 of a Dirichlet with two.

    The density is with respect to them.
    """

    __slots__ = ()
    symbol = "beta"

    @property
    def _pair(self):
        return Dirichlet(
            jnp.stack(
                [jnp.asarray(self.on, dtype=float), jnp.asarray(self.off, dtype=float)], axis=-1
            )
        )

    @property
    def gammas(self):
        return self._pair.concentration

    def from_noise(self, noise):
        return noise[..., 0] - noise[..., 1]

    def log_density(self, value):
        return self._pair.log_density(jax.nn.log_sigmoid(jnp.stack([value, -value], axis=-1)))

    @classmethod
    def matched(cls, values, weights) -> "Beta":
        """One law for all entries, (n, K), with the sample's means of log p and log(1 - p); by
        turns, each of which raises the likelihood."""
        values = np.asarray(values)
        yes = float(np.mean(weights @ -np.logaddexp(0.0, -values)))
        no = float(np.mean(weights @ -np.logaddexp(0.0, values)))
        on = off = 1.0
        for _ in range(100):
            on = _solved(lambda a, b=off: digamma(a) - digamma(a + b) - yes)
            off = _solved(lambda b, a=on: digamma(b) - digamma(a + b) - no)
        each = np.ones(values.shape[1:])
        return cls(on * each, off * each)

    def given(self, on, off) -> "Beta":
        return Beta(self.on + on, self.off + off)

    def grid(self, step: float = 0.8):
        """(values, log-weights) of a trapezoid rule in the log-odds, for one entry."""
        on, off = float(np.squeeze(self.on)), float(np.squeeze(self.off))
        s = np.arange(-17.0 / on, 17.0 / off, step)
        return s.reshape(-1, *np.shape(self.on)), np.full(len(s), math.log(step))
