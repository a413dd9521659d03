"""Grouped logistic: successes in many groups, their log-odds scattered about an unknown mean.

    m ~ N(0, s_m^2),   log t ~ N(c, s_t^2),   z_g ~ N(0, 1),
    y_g ~ Binomial(n, sigmoid(m + t z_g))

for g = 1..G: G + 2 dimensions, with m and t shared by all groups. The state has z, not t z: few
trials per group say little of it, and its prior does not depend on t.

Given (m, t), groups are independent, and each is an integral in one dimension. So the evidence is
an integral over two dimensions of a product of G integrals of one, by quadrature for any number of
groups (``exact_evidence``): the truth that thousand-dimensional runs are held against.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bracketz.core.capabilities import ExactEvidence
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.validation import require_at_least, require_positive
from bracketz.errors import InputError
from bracketz.models.factored import Factored

#: Nodes in one group, and in each of the two shared dimensions.
GROUP_NODES, SHARED_NODES = 161, 81
#: Half width of the first look at the shared dimensions, in standard deviations of their prior; and
#: what is left out then, in nats below the largest value.
WIDE, NEGLIGIBLE = 8.0, 40.0


class Effects(NamedTuple):
    mean: jax.Array  # m
    log_scale: jax.Array  # log t
    effects: jax.Array  # z, (groups,)


@pytree_dataclass
class GroupedLogistic(Factored, ExactEvidence):
    """Successes in many groups, log-odds m + t z_g with m and t unknown.

    y are the successes of each group, (groups,).

    Args:
        mean_scale: s_m, prior standard deviation of the mean log-odds.
        log_scale_mean: c, prior mean of log t.
        log_scale_scale: s_t, its prior standard deviation.
        groups: G.
        trials: n, of each group.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz
        >>> model = bz.GroupedLogistic(groups=5)
        >>> data = bz.simulate(model, seed=1)
        >>> model.exact_evidence(data.y) < 0
        True
    """

    mean_scale: float = 1.0
    log_scale_mean: float = -0.5
    log_scale_scale: float = 0.5
    groups: int = static(default=8)
    trials: int = static(default=5)

    name = "grouped-logistic"

    def __post_init__(self):
        require_positive(mean_scale=self.mean_scale, log_scale_scale=self.log_scale_scale)
        require_at_least(1, groups=self.groups, trials=self.trials)

    @property
    def label(self):
        return self.name

    def log_prior(self, x):
        shared = (
            _log_normal(x.mean / self.mean_scale)
            - jnp.log(self.mean_scale)
            + _log_normal((x.log_scale - self.log_scale_mean) / self.log_scale_scale)
            - jnp.log(self.log_scale_scale)
        )
        return shared + jnp.sum(_log_normal(x.effects))

    def log_likelihood(self, x, y):
        return self._log_binomial(x.mean + jnp.exp(x.log_scale) * x.effects, y)

    def _log_binomial(self, log_odds, y):
        n = self.trials
        ways = gammaln(n + 1.0) - gammaln(y + 1.0) - gammaln(n - y + 1.0)
        return ways + y * log_odds - n * jax.nn.softplus(log_odds)

    def sample_prior(self, key, shape=None):
        key_mean, key_scale, key_effects = jax.random.split(key, 3)
        return Effects(
            self.mean_scale * jax.random.normal(key_mean),
            self.log_scale_mean + self.log_scale_scale * jax.random.normal(key_scale),
            jax.random.normal(key_effects, (self.groups,)),
        )

    def simulate(self, key, x, shape=None):
        chance = jax.nn.sigmoid(x.mean + jnp.exp(x.log_scale) * x.effects)
        return jnp.sum(jax.random.bernoulli(key, chance, (self.trials, self.groups)), axis=0)

    def constrain(self, x):
        return {"mean": x.mean, "scale": jnp.exp(x.log_scale), "effects": x.effects}

    def unconstrain(self, values):
        return Effects(values["mean"], jnp.log(values["scale"]), values["effects"])

    def check_data(self, y):
        y = np.asarray(y)
        if np.any(y < 0) or np.any(y > self.trials) or np.any(y != np.floor(y)):
            raise InputError(f"successes must be whole numbers from 0 to `trials`, {self.trials}")

    def exact_evidence(self, y):
        """log p(y) by quadrature: groups with the same successes share one integral, so that the
        cost does not grow with their number.

        Two looks at (m, log t): a coarse grid over the prior finds where the integrand is more than
        e^-40 of its maximum, a fine one covers that. Trapezoids converge geometrically there.
        """
        counts = np.bincount(np.asarray(y, int), minlength=self.trials + 1)
        with double_precision():
            means = self.mean_scale * np.linspace(-WIDE, WIDE, SHARED_NODES)
            logs = self.log_scale_mean + self.log_scale_scale * np.linspace(
                -WIDE, WIDE, SHARED_NODES
            )
            for look in range(3):
                values = np.asarray(_integrand(self, counts, means, logs))
                if look == 2:
                    break
                means, logs = (
                    _narrowed(axis, values.max(1 - k)) for k, axis in enumerate((means, logs))
                )
        cell = (means[1] - means[0]) * (logs[1] - logs[0])
        top = values.max()
        return float(top + np.log(np.sum(np.exp(values - top)) * cell))


def _narrowed(axis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """As many nodes where something is left."""
    kept = np.flatnonzero(values > values.max() - NEGLIGIBLE)
    low, high = max(kept[0] - 1, 0), min(kept[-1] + 1, len(axis) - 1)
    return np.linspace(axis[low], axis[high], SHARED_NODES)


@jax.jit
def _integrand(model: GroupedLogistic, counts, means, logs):
    """log p(m) p(log t) prod_g p(y_g | m, t) on a grid, (means, logs)."""
    # Trapezoids, not Hermite's nodes: where t is large the likelihood of a group is a step.
    nodes = np.linspace(-WIDE, WIDE, GROUP_NODES)
    weights = np.exp(-0.5 * nodes**2)
    weights = weights / weights.sum()
    successes = jnp.arange(model.trials + 1.0)

    def at(mean, log_scale):
        log_odds = mean + jnp.exp(log_scale) * nodes
        terms = jax.vmap(lambda s: model._log_binomial(log_odds, s))(successes)
        groups = jax.nn.logsumexp(terms + jnp.log(weights), axis=1)
        shared = model.log_prior(Effects(mean, log_scale, jnp.zeros(0)))
        return shared + jnp.sum(jnp.where(counts > 0, counts * groups, 0.0))

    return jax.vmap(lambda m: jax.vmap(lambda s: at(m, s))(logs))(means)


def _log_normal(x):
    return -0.5 * x * x - 0.5 * jnp.log(2 * jnp.pi)
