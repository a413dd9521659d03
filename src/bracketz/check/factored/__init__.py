"""Checks of models made of a prior and a likelihood, as users bring them (``Factored``).

They look at the four functions first (gradients, the prior's integral and sampler, the
likelihood's integral and simulator), then at the kernels, which a pilot tunes on simulated data,
and at runs. Cheap ones come first. The checks of other models are not run on them: those ask for
(rows, columns), a tiny instance and conditionals, which these models do not have.
"""

from bracketz.check.factored import gradients, kernels, likelihood, prior
from bracketz.check.factored.bench import Bench

#: In the order they are run.
CHECKS = (
    likelihood.CHECKS[0],
    *gradients.CHECKS,
    prior.CHECKS[0],
    likelihood.CHECKS[1],
    prior.CHECKS[1],
    likelihood.CHECKS[2],
    *kernels.CHECKS,
)

__all__ = ["CHECKS", "Bench"]
