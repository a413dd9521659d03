"""A kernel: Metropolis-adjusted Langevin, one coordinate after the other.

The scan visits the coordinates of the (flattened) state in order, so it is not in detailed balance
as a whole; its exact time reversal visits them from last to first. It is used in a Gaussian whose
log standard deviation goes with its mean, and whose evidence a grid gives.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.stats import norm

import bracketz as bz


@dataclass(frozen=True)
class LangevinScan(bz.Kernel):
    """Visit every coordinate with a Langevin proposal; `scale` (flat, one each) is its spread."""

    log_density: Callable
    scale: jax.Array
    backward: bool = False

    @property
    def reports(self):
        """The probability of taking a proposal, averaged over the coordinates."""
        return ("acceptance",)

    def reversed(self):
        """Each visit is in detailed balance: only the order turns round."""
        return replace(self, backward=not self.backward)

    def step(self, key, state):
        """One scan."""
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        """One scan, and its acceptance."""
        start, unravel = ravel_pytree(state)
        both = jax.value_and_grad(lambda x: self.log_density(unravel(x)))

        def visit(carry, given):
            x, value, slope = carry
            i, noise, uniform = given
            scale = self.scale[i]
            ahead = x[i] + 0.5 * scale**2 * slope[i]
            new_x = x.at[i].set(ahead + scale * noise)
            new_value, new_slope = both(new_x)
            back = new_x[i] + 0.5 * scale**2 * new_slope[i]
            ratio = new_value - value + 0.5 * noise**2 - 0.5 * ((x[i] - back) / scale) ** 2
            taken = jnp.log(uniform) < ratio  # a ratio that is no number is refused
            new = (new_x, new_value, new_slope)
            kept = jax.tree.map(lambda new, old: jnp.where(taken, new, old), new, carry)
            return kept, jnp.exp(jnp.minimum(jnp.nan_to_num(ratio, nan=-jnp.inf), 0.0))

        keys = jax.random.split(key)
        noise = jax.random.normal(keys[0], start.shape)
        given = jnp.arange(start.size), noise, jax.random.uniform(keys[1], start.shape)
        (end, *_), chances = jax.lax.scan(
            visit, (start, *both(start)), given, reverse=self.backward
        )
        return unravel(end), {"acceptance": chances.mean()}


class MeanAndScale(NamedTuple):
    """The state: the mean and the log standard deviation."""

    mean: jax.Array
    log_sd: jax.Array


@bz.pytree_dataclass
class Normal(bz.Model, bz.Enumerable):
    """m ~ N(0, mean_sd^2), log s ~ N(slope m, log_sd_sd^2), every y_ij ~ N(m, s^2)."""

    finite = False
    default_shape = (5, 1)

    mean_sd: float = 2.0
    log_sd_sd: float = 0.3
    slope: float = 0.4

    def sample_prior(self, key, shape):
        """Two normal draws."""
        noise = jax.random.normal(key, (2,))
        mean = self.mean_sd * noise[0]
        return MeanAndScale(mean, self.slope * mean + self.log_sd_sd * noise[1])

    def simulate(self, key, state, shape):
        """Normal draws."""
        return state.mean + jnp.exp(state.log_sd) * jax.random.normal(key, shape)

    def log_annealed(self, state, y, powers):
        """The prior times the rows to their powers."""
        prior = norm.logpdf(state.mean, 0.0, self.mean_sd)
        prior += norm.logpdf(state.log_sd, self.slope * state.mean, self.log_sd_sd)
        return prior + powers @ norm.logpdf(y, state.mean, jnp.exp(state.log_sd)).sum(1)

    def kernel(self, y, powers):
        """A Langevin scan, narrower the more data there are."""
        count = powers.sum() * y.shape[1]
        scale = 1.2 / jnp.sqrt(1 / jnp.array([self.mean_sd, self.log_sd_sd]) ** 2 + count)
        return LangevinScan(lambda state: self.log_annealed(state, y, powers), scale)

    def tiny(self):
        """Three numbers."""
        return Normal(mean_sd=1.1, log_sd_sd=0.3, slope=0.5), (3, 1)

    def nodes(self, shape):
        """Trapezoid rule over both, 6 prior standard deviations either way."""
        points = np.linspace(-6.0, 6.0, 241)
        mean, rest = np.meshgrid(self.mean_sd * points, self.log_sd_sd * points)
        log_cell = 2 * np.log(points[1] - points[0]) + np.log(self.mean_sd * self.log_sd_sd)
        return MeanAndScale(mean.ravel(), (self.slope * mean + rest).ravel()), log_cell


if __name__ == "__main__":
    model = Normal()
    data = bz.simulate(model, seed=2)
    answer = bz.sandwich(model, data, gap=0.2, first=256)
    print(f"log evidence {answer.log_ml:.3f} +- {answer.standard_error:.3f}")
    print(f"by quadrature {model.exact_evidence(data.y):.3f}")
    print(f"acceptance {np.mean(answer.reports['acceptance']):.2f}")
    print(bz.check.run(model, level="quick", only="geweke.exchange"))
