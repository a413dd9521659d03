"""Nested sampling's moves on the binary attribute model."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from bracketz.core.pytree import pytree_dataclass
from bracketz.models.binary_attributes.row import BitByBit
from bracketz.models.collapsed import CollapsedConstrained


@pytree_dataclass
class BinaryConstrained(CollapsedConstrained):
    """Each bit from its Bernoulli prior restricted to the values that keep p(y | Z) above the
    cutoff."""

    model: Any
    y: jax.Array

    def _gibbs(self):
        return self.model._gibbs(self.y, jnp.ones(self.y.shape[0]), whole_row=False)

    def _redraw(self, gibbs, cache, row, latent, level, cutoff, u):
        bit_by_bit = gibbs.conditional(cache, row, latent)
        assert isinstance(bit_by_bit, BitByBit)
        weight = bit_by_bit.row
        gain = functools.partial(weight.weight, 0.0)  # log-likelihood, up to a constant of this row
        wishes = (u < jax.nn.sigmoid(weight.log_odds)).astype(latent.dtype)
        # A constant of the row shifts the cutoff, so that no running level is carried from bit to
        # bit.
        before = weight.quadratics(latent, weight.covariance @ latent, weight.gram @ latent)
        offset = level - gain(*before)

        def choose(k, v0, r0, dv, dr):
            # A wish refused leaves the current value, which is inside.
            allowed = gain(v0 + wishes[k] * dv, r0 + wishes[k] * dr) > cutoff - offset
            return jnp.where(allowed, wishes[k], latent[k])

        bits, after = bit_by_bit.walk(choose)
        return bits, offset + gain(*after)
