"""A kernel written for BlackJAX, as one of ours."""

import jax.numpy as jnp

from bracketz.core.kernel import Reversible


class FromBlackJAX(Reversible):
    """A reversible BlackJAX algorithm: ``blackjax.hmc``, ``mala``, ``nuts``, ``rmh``, ...

    A step is ``init`` at the state and one ``step``, so that nothing is carried over from one
    density to the next. That it is reversible (in detailed balance with its log-density) is your
    word: Langevin dynamics without a Metropolis step, generalized HMC and microcanonical samplers
    are not, and ``bracketz.check`` tells.  It reports "acceptance" where the algorithm does.

    Args:
        algorithm: ``blackjax.hmc(log_density, step_size, inverse_mass_matrix, steps)``, its tuning
            fixed beforehand.

    Example:
        >>> import bracketz as bz, jax
        >>> class Still:  # as good as any algorithm: init, and a step that tells what happened
        ...     def init(self, position):
        ...         return type("State", (), {"position": position})
        ...
        ...     def step(self, key, state):
        ...         return state, None
        >>> bz.FromBlackJAX(Still()).step(jax.random.key(0), 1.0)
        1.0
    """

    def __init__(self, algorithm):
        self.algorithm = algorithm

    reports = ("acceptance",)

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        moved, info = self.algorithm.step(key, self.algorithm.init(state))
        accepted = getattr(info, "acceptance_rate", getattr(info, "acceptance_probability", None))
        return moved.position, {"acceptance": jnp.nan if accepted is None else accepted}
