"""What a conditional distribution is: something that can sample *and* score itself.

Kernels are made of these, so that the test of the paper's appendix, p(x|u)/p(x'|u) =
f(x,u)/f(x',u), can be run on exactly the object the kernel samples from.

Each is an *unnormalised* measure: ``log_density`` may carry a constant, and ``log_normalizer`` is
the log of its total mass. When the measure is p(latent_i) p(y_i | latent_i, rest)^b, that mass is
the predictive density of point i, the weight of the posterior particle filter. Sampling is a
deterministic function of noise drawn in bulk beforehand (``from_noise``). ``law`` and
``noise_shape`` say which noise ("log-gamma": logs of standard gammas of shapes ``gammas``), and
``support`` lists every value of a discrete one (None: continuous): with these the correctness kit
verifies, without drawing anything, that what is sampled is what is scored. ``bracketz.numerics``
has the usual ones.
"""

from typing import Protocol


class Conditional(Protocol):
    """What a kernel samples from and a test scores: an unnormalised measure.

    ``Categorical`` and ``Gaussian`` are ready-made; any class with these methods will do.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> coin: bz.Conditional = bz.Categorical(jnp.log(jnp.array([1.0, 3.0])))
        >>> coin.law, coin.support.tolist(), round(float(jnp.exp(coin.log_normalizer)), 3)
        ('uniform', [0, 1], 4.0)
    """

    @property
    def law(self) -> str:
        """Of the noise: "uniform" on [0, 1), "normal", or "log-gamma" (shapes ``gammas``)."""
        ...

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Shape of the noise of one draw."""
        ...

    @property
    def support(self):
        """Every value of a discrete one, along the leading axis; None: continuous."""
        ...

    def from_noise(self, noise):
        """A draw, as a deterministic function of its noise."""
        ...

    def sample(self, key):
        """A draw."""
        ...

    def log_density(self, value):
        """log of the measure at ``value``; it may carry a constant."""
        ...

    @property
    def log_normalizer(self):
        """log of the total mass."""
        ...


def log_prob(conditional: Conditional, value):
    """Normalised log-density of ``value``."""
    return conditional.log_density(value) - conditional.log_normalizer
