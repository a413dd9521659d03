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
from typing import Any

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
#: Components of a mixture that are tried, in this order.
COMPONENTS = (2, 3, 4, 6, 8)
EM_STEPS = 30


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

    A mixture must be worth its parameters by BIC. Tails follow from the coordinate of z with the
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
    weights, means, covariances = mixture(z, independent)
    roots = np.linalg.cholesky(covariances)
    inner = z
    if len(weights) > 1:
        own = np.argmax(_log_parts(z, weights, means, covariances), axis=1)
        inner = np.einsum("nij,nj->ni", np.linalg.inv(roots)[own], z - means[own])
        filled = COMPONENTS[-1] - len(weights)
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


def mixture(z: np.ndarray, independent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances of Gaussians fitted to a whitened sample by EM: as many as are
    worth it."""
    n, d = z.shape
    rng = np.random.default_rng(0)
    share = independent / n

    def score(log_likelihood: float, count: int) -> float:
        free = count * (1 + d + d * (d + 1) / 2) - 1
        return share * log_likelihood - 0.5 * free * np.log(independent)

    alone = (np.ones(1), z.mean(0)[None], np.atleast_2d(np.cov(z.T))[None])
    best, best_score = alone, score(_log_likelihood(z, *alone), 1)
    for count in COMPONENTS:
        if independent < 4 * count * (d + 1):
            break
        found = _em(z, count, rng)
        value = score(_log_likelihood(z, *found), count)
        if value <= best_score:
            if len(best[0]) > 1 or count > 2:
                break
            continue
        best, best_score = found, value
    return best


def _log_parts(z, weights, means, covariances) -> np.ndarray:
    """log of weight times density, (n, K)."""
    out = np.empty((len(z), len(weights)))
    for k, (mean, cov) in enumerate(zip(means, covariances, strict=True)):
        root = np.linalg.cholesky(cov)
        away = np.linalg.solve(root, (z - mean).T)
        out[:, k] = np.log(weights[k]) - 0.5 * np.sum(away**2, axis=0)
        out[:, k] -= np.sum(np.log(np.diagonal(root))) + 0.5 * z.shape[1] * np.log(2 * np.pi)
    return out


def _log_likelihood(z, weights, means, covariances) -> float:
    return float(np.sum(np.logaddexp.reduce(_log_parts(z, weights, means, covariances), axis=1)))


def _em(z: np.ndarray, count: int, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """EM from centres far apart; each covariance is drawn a little to the whole one."""
    n, d = z.shape
    centres = [z[rng.integers(n)]]
    while len(centres) < count:
        far = np.min([np.sum((z - c) ** 2, axis=1) for c in centres], axis=0)
        centres.append(z[rng.choice(n, p=far / far.sum())])
    means = np.array(centres)
    weights, covariances = np.full(count, 1 / count), np.stack([np.eye(d) / count**2] * count)
    before = -np.inf
    for _ in range(EM_STEPS):
        parts = _log_parts(z, weights, means, covariances)
        total = np.logaddexp.reduce(parts, axis=1)
        belongs = np.exp(parts - total[:, None])
        counts = belongs.sum(0) + 1e-9
        weights = np.maximum(counts / n, 1e-4)
        weights /= weights.sum()
        means = (belongs.T @ z) / counts[:, None]
        for k in range(count):
            away = z - means[k]
            own = (belongs[:, k, None] * away).T @ away
            covariances[k] = (own + 2.0 * 0.05 * np.eye(d)) / (counts[k] + 2.0)
        if total.sum() - before < 1e-3 * n:
            break
        before = total.sum()
    return weights, means, covariances


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


#: Draws from q that weigh the components of a mixture.
WEIGHED = 4096


def weighed(seen: Referenced, y, key) -> Referenced:
    """The same with the weights of a mixture's components nearer to the masses they stand for.

    A chain that begins in one mode stays there, so that a component whose weight is off by a factor
    moves every reverse run from that mode by its logarithm. Importance weights of draws from q
    give the masses: component k has the share of sum_i w_i r_k(z_i), r the responsibilities.
    """
    q = seen.reference.q
    if len(q.log_weights) == 1:
        return seen
    draws, log_w = _importance(seen, y, jax.random.split(key, WEIGHED))
    parts = np.asarray(jax.vmap(q.log_parts)(draws))
    log_w = np.where(np.isfinite(log_w), log_w, -np.inf)
    if np.exp(2 * np.logaddexp.reduce(log_w) - np.logaddexp.reduce(2 * log_w)) < 100:
        return seen  # too few draws carry weight
    share = np.exp(log_w - np.logaddexp.reduce(log_w))
    belongs = np.exp(parts - np.logaddexp.reduce(parts, axis=1)[:, None])
    masses = share @ belongs
    masses = np.where(np.isfinite(q.log_weights), np.maximum(masses, 1e-3), 0.0)
    with np.errstate(divide="ignore"):
        better = dataclasses.replace(q, log_weights=np.log(masses / masses.sum()))
    return Referenced(seen.model, dataclasses.replace(seen.reference, q=better))


@jax.jit
def _importance(seen: Referenced, y, keys):
    def one(key):
        z = seen.sample_prior(key)
        return z, seen.log_likelihood(z, y)

    return jax.lax.map(one, keys, batch_size=256)
