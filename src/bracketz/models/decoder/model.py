"""Decoder: one image of a deep generative model, its latent vector integrated out.

With a decoder g (any JAX function of parameters and a latent vector),

    z ~ N(0, 1) in d dimensions,      y_j | z ~ Bernoulli(sigmoid(g_j(z)))  or  N(g_j(z), s^2),

the log-likelihood of an image is log p(y) = log of the integral of N(z; 0, 1) prod_j p(y_j | z), an
evidence whose data points are the pixels. Given g, images are independent: the held-out
log-likelihood of a test set is the sum over its images, and ``bracketz.bracket_each`` brackets
thousands of them at once.

Where g is linear, g(z) = W z + c, and pixels are Gaussian, y ~ N(c, W W' + s^2) and log p(y) is
known (``gaussian_evidence``).

Cost of a density: one call of g. Of a sweep: some leapfrog steps, a gradient of g each.
"""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.validation import require_at_least
from bracketz.errors import InputError, unknown
from bracketz.models.factored import Factored

OBSERVATIONS = ("bernoulli", "gaussian")


def one_layer(params, z):
    """What decodes where nothing else is given: W tanh(V z) + c."""
    return params["outer"] @ jnp.tanh(params["inner"] @ z) + params["offset"]


def _small() -> dict[str, np.ndarray]:
    """A decoder of 2 latents and 6 pixels, bent enough for its posteriors to be no Gaussians."""
    rng = np.random.default_rng(5)
    return {
        "inner": rng.normal(size=(4, 2)),
        "outer": 1.5 * rng.normal(size=(6, 4)),
        "offset": rng.normal(size=6),
    }


def _own(value):
    """A copy in double precision. JAX 0.10 keeps what it has made of a NumPy array that a jitted
    function closes over, and would hand a run here the user's single-precision one."""
    array = np.array(value)
    return array.astype(float) if array.dtype.kind == "f" else array


@pytree_dataclass
class Decoder(Factored):
    """One image of a deep generative model, its latent vector integrated out.

    The state is the latent vector, (``latents``,), with a standard Gaussian prior; y is the image,
    (D,). ``sandwich`` brackets log p(y) of an image simulated here, ``evidence`` that of an
    observed one, ``bracket_each`` those of thousands.

    Args:
        params: what ``function`` takes first, a pytree of arrays; a small network by default.
        noise: standard deviation of Gaussian pixels.
        function: (params, z) -> (D,): logits of Bernoulli pixels, means of Gaussian ones.
        latents: d, the length of z.
        observation: "bernoulli" or "gaussian".

    Raises:
        InputError: no such observation, noise that is not positive, or a function that does not
            give a vector.

    Example:
        >>> import bracketz as bz, jax.numpy as jnp
        >>> params = {"weights": jnp.ones((5, 2)), "offset": jnp.zeros(5)}
        >>> model = bz.Decoder(params, function=lambda p, z: p["weights"] @ z + p["offset"])
        >>> bz.simulate(model, seed=1).y.shape
        (5,)
    """

    params: Any = None
    noise: float = 1.0
    function: Callable = static(default=one_layer)
    latents: int = static(default=2)
    observation: str = static(default="bernoulli")

    name = "decoder"

    def __post_init__(self):
        params = _small() if self.params is None else self.params
        object.__setattr__(self, "params", jax.tree.map(_own, params))
        if self.observation not in OBSERVATIONS:
            raise unknown("observation", self.observation, OBSERVATIONS)
        require_at_least(1, latents=self.latents)
        if not self.noise > 0:
            raise InputError(f"noise must be positive, got {self.noise}")
        z = jax.ShapeDtypeStruct((self.latents,), float)
        shape = np.shape(jax.eval_shape(self.function, self.params, z))
        if len(shape) != 1:
            raise InputError(
                f"`function` must give a vector, one number for each pixel, and gives shape {shape}"
            )

    @property
    def label(self):
        return self.name

    @property
    def source(self):
        try:
            return super().source + inspect.getsource(self.function)
        except (OSError, TypeError):
            return super().source + getattr(self.function, "__qualname__", "")

    def log_prior(self, x):
        return -0.5 * x @ x - 0.5 * self.latents * jnp.log(2 * jnp.pi)

    def log_likelihood(self, x, y):
        decoded = self.function(self.params, x)
        if self.observation == "bernoulli":
            # log sigmoid(g) or log sigmoid(-g), without rounding where they are near 0.
            return y * decoded - jax.nn.softplus(decoded)
        away = (y - decoded) / self.noise
        return -0.5 * away**2 - jnp.log(self.noise) - 0.5 * jnp.log(2 * jnp.pi)

    def sample_prior(self, key, shape=None):
        return jax.random.normal(key, (self.latents,))

    def simulate(self, key, x, shape=None):
        decoded = self.function(self.params, x)
        if self.observation == "bernoulli":
            return jax.random.bernoulli(key, jax.nn.sigmoid(decoded)).astype(int)
        return decoded + self.noise * jax.random.normal(key, decoded.shape)

    def check_data(self, y):
        if self.observation == "bernoulli" and not np.isin(y, (0, 1)).all():
            raise InputError("pixels of a decoder with `observation` bernoulli must be 0 or 1")

    def constrain(self, x):
        return {"latent": x}

    def unconstrain(self, values):
        return values["latent"]


def gaussian_evidence(weights, offset, noise: float, y) -> float:
    """log p(y) of a linear decoder with Gaussian pixels: log N(y; c, W W' + s^2).

    Args:
        weights: W, (D, d).
        offset: c, (D,).
        noise: s.
        y: the image, (D,).
    """
    weights, away = np.asarray(weights, float), np.asarray(y, float) - offset
    covariance = weights @ weights.T + noise**2 * np.eye(len(away))
    sign, size = np.linalg.slogdet(2 * np.pi * covariance)
    assert sign > 0
    return float(-0.5 * (size + away @ np.linalg.solve(covariance, away)))
