"""Hamiltonian Monte Carlo, and its one-step case, the Metropolis-adjusted Langevin algorithm."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from bracketz.core.kernel import Reversible

#: A trajectory's step is the step size times a uniform number between these: no trajectory is in
#: tune with a period of the target.
JITTER = (0.6, 1.2)


class HMC(Reversible):
    """Hamiltonian Monte Carlo with a jittered step, a kernel for states of real arrays.

    With a root R of the covariance to expect, momenta p ~ N(0, 1) and a step e = u * step_size, u
    uniform and drawn anew for each trajectory, ``steps`` leapfrog steps

        p += e/2 R' grad log f(x),    x += e R p,    p += e/2 R' grad log f(x)

    are volume-preserving and undone by flipping p; u does not depend on x. So, accepted with
    probability min(1, f(x') N(p') / f(x) N(p)), the kernel is in detailed balance with f and its
    own reversal. R is multiplied by, never solved with. It reports "acceptance", the probability of
    taking the proposal, and "move", the distance covered. Cost: ``steps`` + 1 gradients.

    Args:
        log_density: maps a state to a scalar, the log of the density to keep, up to a constant.
        step_size: of the leapfrog, before the jitter. Fix it beforehand: a kernel that adapts to
            the states it is moving voids unbiasedness.
        root: what the momenta are multiplied by: None (1), one number per coordinate of the
            flattened state, or a square matrix.
        steps: of the leapfrog; it may be traced.

    Example:
        >>> import bracketz as bz, jax
        >>> kernel = bz.HMC(lambda x: -0.5 * x @ x, step_size=0.5)
        >>> kernel.step(jax.random.key(0), jax.numpy.zeros(3)).shape
        (3,)
    """

    def __init__(self, log_density: Callable, step_size, root=None, steps=5):
        self.log_density = log_density
        self.step_size = step_size
        self.root = root
        self.steps = steps

    reports = ("acceptance", "move")

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        here, back = ravel_pytree(state)
        key_momentum, key_jitter, key_accept = jax.random.split(key, 3)
        low, high = JITTER
        size = self.step_size * jax.random.uniform(key_jitter, minval=low, maxval=high)
        slope = jax.value_and_grad(lambda x: self.log_density(back(x)))
        begin, gradient = slope(here)
        momentum = jax.random.normal(key_momentum, here.shape, here.dtype)

        def leap(_, carry):
            x, p, gradient, _ = carry
            p = p + 0.5 * size * pulled(self.root, gradient)
            x = x + size * pushed(self.root, p)
            value, gradient = slope(x)
            return x, p + 0.5 * size * pulled(self.root, gradient), gradient, value

        x, p, _, end = jax.lax.fori_loop(0, self.steps, leap, (here, momentum, gradient, begin))
        log_ratio = end - 0.5 * p @ p - begin + 0.5 * momentum @ momentum
        # Never to where the density is 0 or no number, not even from such a place.
        log_ratio = jnp.where(jnp.isnan(log_ratio) | ~jnp.isfinite(end), -jnp.inf, log_ratio)
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        new = jnp.where(accept, x, here)
        return back(new), {
            "acceptance": jnp.exp(jnp.minimum(log_ratio, 0.0)),
            "move": jnp.linalg.norm(new - here),
        }


class MALA(HMC):
    """The Metropolis-adjusted Langevin algorithm: ``HMC`` of one leapfrog step.

    Args:
        log_density: maps a state to a scalar, the log of the density to keep, up to a constant.
        step_size: of the step, before the jitter; its square is the Langevin time.
        root: as in ``HMC``.

    Example:
        >>> import bracketz as bz, jax
        >>> bz.MALA(lambda x: -0.5 * x @ x, step_size=0.5).steps
        1
    """

    def __init__(self, log_density: Callable, step_size, root=None):
        super().__init__(log_density, step_size, root, steps=1)


def pushed(root, vector):
    """R v."""
    if root is None:
        return vector
    return root @ vector if jnp.ndim(root) == 2 else root * vector


def pulled(root, vector):
    """R' v."""
    if root is None:
        return vector
    return root.T @ vector if jnp.ndim(root) == 2 else root * vector
