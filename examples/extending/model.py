"""A model: Weibull waiting times with one rate per column, gamma-distributed, on the log scale.

r_j ~ Gamma(order, decay) with a whole order, p(y_ij | r_j) = r_j k y_ij^(k-1) exp(-r_j y_ij^k).
The state is log r. The gamma is conjugate, so log p(y) has a closed form the sandwich can be held
against; for the correctness kit a tiny instance is summed over a grid as well.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from scipy import special

import bracketz as bz


class LogRates(NamedTuple):
    """The state: log r, (D,)."""

    log_rates: jax.Array


@bz.pytree_dataclass
class Waiting(bz.Model, bz.Enumerable):
    """Waiting times whose columns have rates of their own."""

    finite = False  # the nodes are a grid
    default_shape = (6, 3)

    decay: float = 0.5
    exponent: float = 1.5
    order: int = bz.static(default=2)
    walks: int = bz.static(default=3)

    def __post_init__(self):
        """Refuse what is no model."""
        for name in ("decay", "exponent", "order", "walks"):
            if not getattr(self, name) > 0:
                raise bz.InputError(f"{name} must be positive, got {getattr(self, name)}")

    def sample_prior(self, key, shape):
        """Logs of sums of exponential draws."""
        draws = jax.random.exponential(key, (self.order, shape[1]))
        return LogRates(jnp.log(draws.sum(0) / self.decay))

    def simulate(self, key, state, shape):
        """y^k is exponential."""
        waited = jax.random.exponential(key, shape) * jnp.exp(-state.log_rates)
        return waited ** (1 / self.exponent)

    def log_annealed(self, state, y, powers):
        """The gamma prior of log r (with its Jacobian), and the rows to their powers."""
        x, a, b, k = state.log_rates, self.order, self.decay, self.exponent
        log_prior = jnp.sum(a * jnp.log(b) - gammaln(a) + a * x - b * jnp.exp(x))
        rows = jnp.sum(x + jnp.log(k) + (k - 1) * jnp.log(y) - jnp.exp(x) * y**k, axis=1)
        return log_prior + powers @ rows

    def kernel(self, y, powers):
        """Random walks; at its mode the target's curvature in each x_j is order + sum of powers."""
        scale = 2.4 / jnp.sqrt(y.shape[1] * (self.order + powers.sum()))
        walk = bz.Metropolis(lambda state: self.log_annealed(state, y, powers), scale)
        return bz.Repeat(walk, self.walks)

    def exact_evidence(self, y):
        """The integral over each rate, for data of any size."""
        y, a, b, k = np.asarray(y, float), self.order, self.decay, self.exponent
        shape, rate = a + len(y), b + (y**k).sum(0)
        columns = a * np.log(b) - special.gammaln(a) + special.gammaln(shape) - shape * np.log(rate)
        return float(columns.sum() + (np.log(k) + (k - 1) * np.log(y)).sum())

    def tiny(self):
        """Two columns of three times."""
        return Waiting(decay=0.8, exponent=1.6, order=2), (3, 2)

    def nodes(self, shape):
        """Trapezoid rule over log r, for at most two columns."""
        if shape[1] > 2:
            raise bz.InputError(f"the grid is for at most 2 columns, got {shape[1]}")
        points = np.linspace(-12.0, 5.0, 120)
        grid = np.stack(np.meshgrid(*[points] * shape[1]), axis=-1).reshape(-1, shape[1])
        return LogRates(grid), shape[1] * np.log(points[1] - points[0])


if __name__ == "__main__":
    model = Waiting()
    data = bz.simulate(model, seed=1)
    answer = bz.sandwich(model, data, gap=0.2, first=256)
    print(f"bounds {answer.lower:.3f} and {answer.upper:.3f}; {answer.certificate}")
    print(f"log evidence {answer.log_ml:.3f} +- {answer.standard_error:.3f}")
    print(f"exactly {model.exact_evidence(data.y):.3f}")
    print(f"acceptance {np.mean(answer.reports['acceptance']):.2f}")
    print(bz.check.run(model, level="quick", only="densities"))
