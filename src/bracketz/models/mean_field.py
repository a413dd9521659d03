"""Mean-field families q(latents) q(parameters): what those of the three models share.

Every update is the exact optimum of one factor given the other, so the objective never falls
(paper, eqn. variational-bayes-objfn). Notation: s_n noise variance, N x D data, K components.
"""

from math import lgamma
from typing import Any

import jax.numpy as jnp

from bracketz.core.capabilities import MeanField


def gaussian_kl(total_second_moment, covariance, count, variance):
    """KL of ``count`` Gaussians sharing ``covariance`` from N(0, variance I), given sum of E[x^T
    x]."""
    k = covariance.shape[0]
    log_det = jnp.linalg.slogdet(covariance)[1]
    return 0.5 * (total_second_moment / variance - count * (k + log_det - k * jnp.log(variance)))


class Relabelled(MeanField):
    """K exchangeable components have K! labelings."""

    model: Any

    @property
    def log_relabelings(self):
        return lgamma(self.model.components + 1)
