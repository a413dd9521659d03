"""Moves that mix faster than drawing from the conditional, at the same cost.

A Gibbs update draws a bit afresh and so often redraws the value it had. The Metropolised update
(Liu 1996) proposes the other value always and accepts with min(1, p(other) / p(present)): still in
detailed balance with the conditional, since p(z) min(1, p(z') / p(z)) is symmetric in z and z', and
it changes the bit with probability p(other) / max(p(0), p(1)) in place of p(other), the most that
balance allows (Peskun 1973).
"""

import jax.numpy as jnp

from bracketz.models.binary_attributes.row import BitByBit


class FlipByFlip(BitByBit):
    """The bits of a row in order, each flipped with probability min(1, odds of the other value).

    Every visit is reversible, so the reversal takes the bits in the opposite order. A transition
    that would keep a bit at its less likely value has probability 0, so estimators that divide by a
    transition density use ``BitByBit``.
    """

    def _log_flip(self, logit, k):
        """log min(1, p(other) / p(present)) of bit k."""
        return jnp.minimum(jnp.where(self.current[k] > 0, -logit, logit), 0.0)

    def from_noise(self, u):
        def choose(k, logit):
            old = self.current[k]
            return jnp.where(u[k] < jnp.exp(self._log_flip(logit, k)), 1 - old, old)

        return self._scan(choose)[0]

    def log_density(self, value):
        _, logits = self._scan(lambda k, logit: value[k])
        flip = self._log_flip(logits, slice(None))
        return jnp.sum(jnp.where(value == self.current, jnp.log(-jnp.expm1(flip)), flip))
