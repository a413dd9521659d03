"""A Gaussian channel: one signal, heard n times through noise. All of it is known in closed form.

    bracketz information examples/information/channel.py:Channel --rows 4 --columns 2
    bracketz fractional examples/information/channel.py:Channel --rows 8 --fraction 0.25

With signal-to-noise ratio s = signal_variance / noise_variance the information between x and y is
I = D/2 log(1 + n s), D columns.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import bracketz as bz


class Signal(NamedTuple):
    signal: jax.Array  # (D,)


class Redraw(bz.Reversible):
    """An exact draw, whatever the state was."""

    def __init__(self, conditional):
        self.conditional = conditional

    def step(self, key, state):
        return Signal(self.conditional.sample(key))


@bz.pytree_dataclass
class Channel(bz.Model, bz.ExactEvidence):
    """y_i = x + noise, i = 1..n."""

    signal_variance: float = 4.0
    noise_variance: float = 1.0

    default_shape = (4, 2)

    def sample_prior(self, key, shape):
        return Signal(jnp.sqrt(self.signal_variance) * jax.random.normal(key, shape[1:]))

    def simulate(self, key, state, shape):
        return state.signal + jnp.sqrt(self.noise_variance) * jax.random.normal(key, shape)

    def log_annealed(self, state, y, powers):
        normal = jax.scipy.stats.norm.logpdf
        prior = jnp.sum(normal(state.signal, 0.0, jnp.sqrt(self.signal_variance)))
        rows = jnp.sum(normal(y, state.signal, jnp.sqrt(self.noise_variance)), axis=1)
        return prior + jnp.sum(powers * rows)

    def kernel(self, y, powers):
        precision = 1 / self.signal_variance + jnp.sum(powers) / self.noise_variance
        root = jnp.sqrt(precision) * jnp.eye(y.shape[1])
        return Redraw(bz.Gaussian(root, powers @ y / self.noise_variance))

    def log_evidence(self, y, powers):
        """log Z at any row of powers, in closed form."""
        y, powers = np.asarray(y), np.asarray(powers)
        s2, n2 = self.signal_variance, self.noise_variance
        precision = 1 / s2 + powers.sum() / n2
        fit = np.sum((powers @ y / n2) ** 2) / precision - powers @ np.sum(y**2, axis=1) / n2
        constants = powers.sum() * np.log(2 * np.pi * n2) + np.log(s2 * precision)
        return float(0.5 * (fit - y.shape[1] * constants))

    def exact_evidence(self, y):
        return self.log_evidence(y, np.ones(len(y)))

    def exact_information(self, rows, columns):
        """I(x; y) in nats."""
        return 0.5 * columns * np.log1p(rows * self.signal_variance / self.noise_variance)

    def exact_entropy(self, rows, columns):
        """E[-log p(y)] in nats: that of the noise, and the information."""
        noise = 0.5 * rows * columns * np.log(2 * np.pi * np.e * self.noise_variance)
        return noise + self.exact_information(rows, columns)
