"""What a conditional distribution is: something that can sample *and* score itself.

Kernels are made of these, so that the test of the paper's appendix, p(x|u)/p(x'|u) =
f(x,u)/f(x',u), can be run on exactly the object the kernel samples from.

Each is an *unnormalised* measure: ``log_density`` may carry a constant, and ``log_normalizer`` is
the log of its total mass. When the measure is p(latent_i) p(y_i | latent_i, rest)^b, that mass is
the predictive density of point i, the weight of the posterior particle filter. Sampling is a
deterministic function of noise drawn in bulk beforehand (``from_noise``). ``law`` and
``noise_shape`` say which noise ("gamma": standard gamma variables of shapes ``gammas``), and
``support`` lists every value of a discrete one (None: continuous): with these the correctness kit
verifies, without drawing anything, that what is sampled is what is scored. ``bracketz.numerics``
has the usual ones.
"""

from typing import Protocol


class Conditional(Protocol):
    """What a kernel samples from and a test scores."""

    @property
    def law(self) -> str: ...
    @property
    def noise_shape(self) -> tuple[int, ...]: ...
    @property
    def support(self): ...
    def from_noise(self, noise): ...
    def sample(self, key): ...
    def log_density(self, value): ...
    @property
    def log_normalizer(self): ...


def log_prob(conditional: Conditional, value):
    """Normalised log-density of ``value``."""
    return conditional.log_density(value) - conditional.log_normalizer
