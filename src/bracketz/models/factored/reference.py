"""A fitted reference instead of the prior.

For a density q with a sampler, anneal q(x)^(1-b) (p(x) p(y|x))^b. It is the path of powers of the
model whose prior is q and whose likelihood is the one number p(x) p(y|x) / q(x), so everything that
runs on a model runs on it, and its evidence is the same p(y): integral q * p(x) p(y|x) / q.

q may depend on y, never on the exact sample. Forwards nothing else is asked: E[w] = p(y) for any
fixed q that is positive where the posterior is. Backwards E[w] = 1 / p(y) holds over exact samples
x ~ p(x | y); a q that was fitted to x makes the first weights too good, and "upper" bounds come out
below the truth (tests/models/test_factored.py has the figures).

States are whitened: x = m + R z, with R R' the covariance of the pilot's last population. q is a
Gaussian in z, a mixture of them where that population has several modes or a bend, and of Student's
t where it has heavier tails; the Jacobian |R| is part of the likelihood.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bracketz.core.pytree import pytree_dataclass
from bracketz.kernels.hamiltonian import pushed
from bracketz.models.factored.model import Factored, Flattening

#: Degrees of freedom of a Student's t: at most so many, or it is a Gaussian.
MOST_DEGREES = 30
FEWEST_DEGREES = 5
#: Standard deviations of the pilot's sample times this.
WIDENED = 1.1
#: Components of a mixture, at the most. Fewer are filled up with empty ones, so that a program
#: compiled for one mixture serves them all.
MOST_COMPONENTS = 8
#: Beginnings of EM, steps after each and after each merger, and of the one that is chosen.
BEGINNINGS, FEW_STEPS, MANY_STEPS = 3, 4, 20
#: Points of which one becomes a centre; points to begin with.
CANDIDATES, THINNED = 4, 600
#: Nats of log-likelihood that a parameter of a mixture must be worth. An overfitted one costs half
#: a nat in the sample and half a nat outside it; to find the true number of parts is no aim here.
PENALTY = 1.0


@pytree_dataclass
class Mixture:
    """Gaussians or Student's t in z. ``inverse_roots`` are those of the roots, so that no density
    solves; components of weight 0 fill the arrays up."""

    log_weights: Any  # (K,)
    means: Any  # (K, d)
    roots: Any  # (K, d, d), or (1, d): one component with independent coordinates
    inverse_roots: Any
    degrees: Any  # 0: Gaussian

    @classmethod
    def of(cls, weights, means, roots, degrees: int) -> "Mixture":
        """From roots of the covariances."""
        if degrees:
            roots = roots * np.sqrt((degrees - 2) / degrees)  # a t's own variance: nu / (nu - 2)
        inverse = 1 / roots if roots.ndim == 2 else np.linalg.inv(roots)
        with np.errstate(divide="ignore"):
            return cls(np.log(weights), means, roots, inverse, np.float64(degrees))

    @property
    def family(self) -> str:
        """What it is called."""
        count = int(np.sum(np.isfinite(self.log_weights)))
        kind = f"Student's t with {int(self.degrees)} degrees" if self.degrees else "Gaussian"
        return kind if count == 1 else f"mixture of {count}, {kind}"

    def log_parts(self, z):
        """log of weight times density, by component."""
        d = z.shape[0]
        if jnp.ndim(self.roots) == 2:
            away = self.inverse_roots * (z - self.means)
            size = jnp.sum(jnp.log(self.inverse_roots), axis=1)
        else:
            away = jnp.einsum("kij,kj->ki", self.inverse_roots, z - self.means)
            size = jnp.sum(jnp.log(jnp.diagonal(self.inverse_roots, axis1=1, axis2=2)), axis=1)
        square = jnp.sum(away * away, axis=1)
        heavy = self.degrees > 0
        nu = jnp.where(heavy, self.degrees, 10.0)
        tail = -0.5 * (nu + d) * jnp.log1p(square / nu)
        student = gammaln(0.5 * (nu + d)) - gammaln(0.5 * nu) - 0.5 * d * jnp.log(nu * jnp.pi)
        gaussian = -0.5 * square - 0.5 * d * jnp.log(2 * jnp.pi)
        return self.log_weights + size + jnp.where(heavy, student + tail, gaussian)

    def log_density(self, z):
        """log q(z), normalised."""
        return jax.nn.logsumexp(self.log_parts(z))

    def sample(self, key):
        """z ~ q. A t is a Gaussian over the root of a mean of squared Gaussians."""
        key_part, key_normal, key_tail = jax.random.split(key, 3)
        part = jax.random.categorical(key_part, self.log_weights)
        noise = jax.random.normal(key_normal, self.means.shape[1:])
        squares = jax.random.normal(key_tail, (MOST_DEGREES,)) ** 2
        counted = jnp.where(jnp.arange(MOST_DEGREES) < self.degrees, squares, 0.0)
        mean = jnp.where(self.degrees > 0, jnp.sum(counted) / jnp.maximum(self.degrees, 1), 1.0)
        means, roots = jnp.asarray(self.means), jnp.asarray(self.roots)
        return means[part] + pushed(roots[part], noise / jnp.sqrt(mean))


@pytree_dataclass
class Reference:
    """x = mean + root z, with z ~ q."""

    mean: Any  # (d,)
    root: Any  # (d, d), or (d,)
    q: Mixture

    @property
    def log_jacobian(self):
        """log |dx / dz|."""
        diagonal = self.root if jnp.ndim(self.root) == 1 else jnp.diagonal(self.root)
        return jnp.sum(jnp.log(jnp.abs(diagonal)))

    def place(self, z):
        """x of z."""
        return self.mean + pushed(self.root, z)

    def whiten(self, x):
        """z of x."""
        if jnp.ndim(self.root) == 1:
            return (x - self.mean) / self.root
        return jax.scipy.linalg.solve_triangular(self.root, x - self.mean, lower=True)


def fit(sample: np.ndarray, dense: bool, independent: int) -> Reference:
    """q from a sample (n, d) that is worth ``independent`` independent draws: its moments, widened,
    and as many modes and as heavy tails as it has.

    A mixture must be worth its parameters. Tails follow from the coordinate of z with the
    largest excess kurtosis within its component, 6 / (nu - 4) for a t with nu degrees of freedom,
    if that is more than chance.
    """
    mean = sample.mean(0)
    d = sample.shape[1]
    if not dense:
        root = np.maximum(sample.std(0, ddof=1), 1e-300)
        z = (sample - mean) / root
        q = Mixture.of(
            np.ones(1), np.zeros((1, d)), WIDENED * np.ones((1, d)), _degrees(z, independent)
        )
        return Reference(mean, root, q)
    root = np.linalg.cholesky(covariance(sample))
    z = np.linalg.solve(root, (sample - mean).T).T
    parts = mixture(z, independent)
    weights, means, covariances = parts
    roots = np.linalg.cholesky(covariances)
    inner = z
    if len(weights) > 1:
        own = np.argmax(_log_parts(z, parts), axis=0)
        inner = np.einsum("nij,nj->ni", np.linalg.inv(roots)[own], z - means[own])
        filled = MOST_COMPONENTS - len(weights)
        weights = np.append(weights, np.zeros(filled))
        means = np.concatenate([means, np.zeros((filled, d))])
        roots = np.concatenate([roots, np.tile(np.eye(d), (filled, 1, 1))])
    return Reference(
        mean, root, Mixture.of(weights, means, WIDENED * roots, _degrees(inner, independent))
    )


def _degrees(z: np.ndarray, independent: int) -> int:
    """Degrees of freedom of a t with tails like these; 0: a Gaussian."""
    centred = z - z.mean(0)
    excess = np.max(np.mean(centred**4, axis=0) / np.mean(centred**2, axis=0) ** 2 - 3)
    if excess < 4 * np.sqrt(24 / independent):
        return 0
    return int(np.clip(np.round(4 + 6 / excess), FEWEST_DEGREES, MOST_DEGREES))


def mixture(z: np.ndarray, independent: int) -> "_Parts":
    """Gaussians fitted to a whitened sample by EM: as many as are worth it.

    From as many components as the sample can tell apart downwards: the two that are nearest become
    one, and EM goes on. A mode that has a component from the beginning keeps it; upwards, where two
    modes share one component, EM hardly ever parts them.
    """
    n, d = z.shape
    rng = np.random.default_rng(0)
    share = independent / n

    def score(log_likelihood: float, count: int) -> float:
        return share * log_likelihood - PENALTY * (count * (1 + d + d * (d + 1) / 2) - 1)

    most = min(MOST_COMPONENTS, independent // (4 * (d + 1)))
    alone = _Parts(np.ones(1), z.mean(0)[None], np.atleast_2d(np.cov(z.T))[None])
    if most < 2:
        return alone
    best, best_score = alone, score(_log_likelihood(z, alone), 1)
    few = z[:: max(1, n // THINNED)]
    begun = [_em(few, _far_apart(few, most, rng), FEW_STEPS) for _ in range(BEGINNINGS)]
    parts, value = max(begun, key=lambda found: found[1])
    parts, value = _em(z, parts, MANY_STEPS)
    while True:
        count = len(parts.weights)
        if score(value, count) > best_score:
            best, best_score = parts, score(value, count)
        if count == 2:
            break
        parts, value = _em(z, _merged(parts), FEW_STEPS)
    return best if best is alone else _em(z, best, MANY_STEPS)[0]


class _Parts(NamedTuple):
    """A mixture of K Gaussians by its moments."""

    weights: np.ndarray  # (K,)
    means: np.ndarray  # (K, d)
    covariances: np.ndarray  # (K, d, d)


def _log_parts(z: np.ndarray, parts: _Parts) -> np.ndarray:
    """log of weight times density, (K, n)."""
    inverse = np.linalg.inv(np.linalg.cholesky(parts.covariances))
    away = (z - parts.means[:, None]) @ np.swapaxes(inverse, 1, 2)
    size = np.sum(np.log(np.diagonal(inverse, axis1=1, axis2=2)), axis=1)
    constant = np.log(parts.weights) + size - 0.5 * z.shape[1] * np.log(2 * np.pi)
    return constant[:, None] - 0.5 * np.einsum("kni,kni->kn", away, away)


def _log_likelihood(z: np.ndarray, parts: _Parts) -> float:
    return float(np.sum(_log_sum(_log_parts(z, parts))))


def _log_sum(log_parts: np.ndarray) -> np.ndarray:
    top = log_parts.max(0)
    return top + np.log(np.sum(np.exp(log_parts - top), axis=0))


def _far_apart(z: np.ndarray, count: int, rng) -> _Parts:
    """Centres at points of the sample that are far from each other, each the one of a few that
    leaves the others least far from a centre: one far point alone is no centre."""
    n, d = z.shape
    chosen = [int(rng.integers(n))]
    nearest = np.sum((z - z[chosen[0]]) ** 2, axis=1)
    while len(chosen) < count:
        some = rng.choice(n, size=CANDIDATES, p=nearest / nearest.sum())
        away = np.sum((z - z[some][:, None]) ** 2, axis=2)
        then = np.minimum(nearest, away)
        best = int(np.argmin(then.sum(1)))
        chosen.append(int(some[best]))
        nearest = then[best]
    same = np.stack([np.eye(d) / count**2] * count)
    return _Parts(np.full(count, 1 / count), z[chosen], same)


def _em(z: np.ndarray, parts: _Parts, steps: int) -> tuple[_Parts, float]:
    """(the mixture after some steps, its log-likelihood); each covariance is drawn a little to the
    whole one."""
    n, d = z.shape
    before = -np.inf
    for _ in range(steps):
        log_parts = _log_parts(z, parts)
        total = _log_sum(log_parts)
        if total.sum() - before < 1e-3 * n:
            break
        before = total.sum()
        belongs = np.exp(log_parts - total)
        counts = belongs.sum(1) + 1e-9
        weights = np.maximum(counts / n, 1e-4)
        means = (belongs @ z) / counts[:, None]
        away = z - means[:, None]
        own = np.swapaxes(away * belongs[:, :, None], 1, 2) @ away
        covariances = (own + 2.0 * 0.05 * np.eye(d)) / (counts + 2.0)[:, None, None]
        parts = _Parts(weights / weights.sum(), means, covariances)
    return parts, _log_likelihood(z, parts)


def _merged(parts: _Parts) -> _Parts:
    """The two that lose least by it made one, moments kept: w log |S| is to grow least."""
    weights, means, covariances = parts
    first, second = np.triu_indices(len(weights), 1)
    a, b = weights[first], weights[second]
    both = a + b
    away = means[first] - means[second]
    mean = (a[:, None] * means[first] + b[:, None] * means[second]) / both[:, None]
    covariance = (
        a[:, None, None] * covariances[first] + b[:, None, None] * covariances[second]
    ) / both[:, None, None] + (a * b / both**2)[:, None, None] * away[:, :, None] * away[:, None]
    sizes = np.linalg.slogdet(covariances)[1]
    loss = both * np.linalg.slogdet(covariance)[1] - a * sizes[first] - b * sizes[second]
    least = int(np.argmin(loss))
    rest = [k for k in range(len(weights)) if k not in (first[least], second[least])]
    return _Parts(
        np.append(weights[rest], both[least]),
        np.concatenate([means[rest], mean[least][None]]),
        np.concatenate([covariances[rest], covariance[least][None]]),
    )


def covariance(sample: np.ndarray) -> np.ndarray:
    """Of a sample (n, d), its correlations shrunk by as much as chance makes of them."""
    n, d = sample.shape
    spread = np.maximum(sample.std(0, ddof=1), 1e-300)
    correlation = np.corrcoef(sample / spread, rowvar=False).reshape(d, d)
    correlation[~np.isfinite(correlation)] = 0.0
    keep = n / (n + d)
    correlation = keep * correlation + (1 - keep) * np.eye(d)
    return correlation * spread * spread[:, None]


@pytree_dataclass
class Referenced(Factored):
    """``model`` seen from a reference: q as the prior, p(x) p(y|x) / q(x) as the likelihood."""

    model: Factored
    reference: Reference

    def adopt(self, state):
        """z of a state of the model."""
        return self.reference.whiten(Flattening(self.model).split(state)[0])

    def restore(self, z):
        """The model's state."""
        return Flattening(self.model).join(self.reference.place(z))

    @property
    def label(self):
        return self.model.label

    def log_prior(self, x):
        return self.reference.q.log_density(x)

    def log_likelihood(self, x, y):
        state = self.restore(x)
        joint = self.model.log_joint(state, y)
        return joint + self.reference.log_jacobian - self.reference.q.log_density(x)

    def sample_prior(self, key, shape=None):
        return self.reference.q.sample(key)

    def constrain(self, x):
        return self.model.constrain(self.restore(x))


#: Draws from q by whose importance weights it is fitted again, how many of them are resampled for
#: that, and how often at the most.
DRAWS, RESAMPLED, ROUNDS = 4096, 2048, 2
#: Draws by which the components of a mixture are weighed in the end.
WEIGHED = 16384
#: Effective draws without which nothing is fitted, and the share of draws that is enough.
FEWEST_EFFECTIVE, ENOUGH = 100.0, 0.7


def refined(seen: Referenced, y, key) -> tuple[Referenced, float]:
    """The same with a reference fitted again, to draws of its own with importance weights; and how
    well the masses of its components are known (``_weighed``).

    These are independent of each other, where the pilot's population descends from few, and they
    know the masses of the modes: a chain that begins in one mode stays there, so that a component
    whose weight is off by a factor moves every reverse run from that mode by its logarithm. A fit
    that is no better (by effective draws) is not taken.
    """
    best, best_size = seen, 0.0
    for number in range(ROUNDS + 1):
        draws, weights, size = _importance(seen, y, jax.random.fold_in(key, number), DRAWS)
        if size <= best_size:
            break
        best, best_size = seen, size
        if size < FEWEST_EFFECTIVE or size > ENOUGH * DRAWS or number == ROUNDS:
            break
        places = (np.arange(RESAMPLED) + 0.5) / RESAMPLED * weights.sum()
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), DRAWS - 1)
        mean, root = seen.reference.mean, seen.reference.root
        dense, z = np.ndim(root) == 2, draws[chosen]
        sample = mean + (z @ root.T if dense else z * root)
        seen = Referenced(seen.model, fit(sample, dense, int(min(size, RESAMPLED))))
    if len(best.reference.q.log_weights) == 1:
        return best, 0.0
    return _weighed(best, *_importance(best, y, jax.random.fold_in(key, ROUNDS + 1), WEIGHED))


def _weighed(seen: Referenced, draws, weights, size: float) -> tuple[Referenced, float]:
    """The same with the components' masses by importance weights, m_k = the share of sum_i w_i
    r_k(z_i), r the responsibilities; and the standard deviation of log m_k, of the component the
    exact sample is in, which is k with probability m_k.

    Reverse chains that stay in one component are all off by the same log m_k - log (true mass).
    """
    q = seen.reference.q
    parts = np.asarray(_parts_of(q, draws)).T
    shares = np.exp(parts - _log_sum(parts))
    weights = weights / max(weights.sum(), 1e-300)
    masses = shares @ weights
    variances = (weights**2 * (shares - masses[:, None]) ** 2).sum(1)
    noise = float(np.sqrt(np.sum(variances / np.maximum(masses, 1e-300))))
    if size < FEWEST_EFFECTIVE:
        return seen, noise
    masses = np.where(np.isfinite(q.log_weights), np.maximum(masses, 1e-3), 0.0)
    with np.errstate(divide="ignore"):
        better = dataclasses.replace(q, log_weights=np.log(masses / masses.sum()))
    return Referenced(seen.model, dataclasses.replace(seen.reference, q=better)), noise


@jax.jit
def _parts_of(q: Mixture, draws):
    return jax.vmap(q.log_parts)(draws)


def _importance(seen: Referenced, y, key, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """(draws of q, their importance weights up to a factor, how many draws these are worth)."""
    drawn = jax.tree.map(np.asarray, _drawn(seen, y, jax.random.split(key, count)))
    draws, log_w = drawn
    log_w = np.where(np.isfinite(log_w), log_w, -np.inf)
    top = log_w.max()
    weights = np.exp(log_w - top) if np.isfinite(top) else np.zeros(count)
    return draws, weights, float(weights.sum() ** 2 / max((weights**2).sum(), 1e-300))


@jax.jit
def _drawn(seen: Referenced, y, keys):
    def one(key):
        z = seen.sample_prior(key)
        return z, seen.log_likelihood(z, y)

    return jax.lax.map(one, keys, batch_size=256)
