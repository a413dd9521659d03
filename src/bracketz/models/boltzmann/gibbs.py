"""Block Gibbs: a layer at once, since its units are independent given the other layer."""

import dataclasses

import jax
import jax.numpy as jnp

from bracketz.core.kernel import ScoredKernel, Visit
from bracketz.models.boltzmann.state import Units
from bracketz.numerics.conditionals import Categorical


def bits(key, logits):
    """Independent bits that are on with odds exp(logits)."""
    return (jax.random.uniform(key, logits.shape) < jax.nn.sigmoid(logits)).astype(jnp.int8)


def log_chance(values, logits):
    """log of their probability."""
    return jnp.sum(jax.nn.log_sigmoid(jnp.where(values == 1, logits, -logits)))


@dataclasses.dataclass(frozen=True, eq=False)
class LayerByLayer(ScoredKernel):
    """All hidden units given the visible ones, then all visible ones given the hidden; the reversal
    takes the visible ones first. One sweep costs O(V H)."""

    visible_bias: jax.Array  # (V,), powers and base included
    hidden_bias: jax.Array  # (H,), powers included
    weights: jax.Array  # (H, V), powers included
    hidden_first: bool = True

    def hidden_logits(self, visible):
        return self.hidden_bias + self.weights @ visible.astype(float)

    def visible_logits(self, hidden):
        return self.visible_bias + hidden.astype(float) @ self.weights

    def step(self, key, state):
        first, second = jax.random.split(key)
        if self.hidden_first:
            hidden = bits(first, self.hidden_logits(state.visible))
            return Units(bits(second, self.visible_logits(hidden)), hidden)
        visible = bits(first, self.visible_logits(state.hidden))
        return Units(visible, bits(second, self.hidden_logits(visible)))

    def log_prob(self, new_state, state):
        old_or_new = state if self.hidden_first else new_state
        hidden = log_chance(new_state.hidden, self.hidden_logits(old_or_new.visible))
        old_or_new = new_state if self.hidden_first else state
        return hidden + log_chance(new_state.visible, self.visible_logits(old_or_new.hidden))

    def reversed(self):
        return dataclasses.replace(self, hidden_first=not self.hidden_first)

    def visits(self, state, parameters):
        def visit(layer, number, logits):
            units = getattr(state, layer)

            def put(value):
                changed = units.at[number].set(value.astype(units.dtype))
                return state._replace(**{layer: changed}), None

            def conditional():
                logit = logits()[number]
                return Categorical(jnp.stack([jnp.zeros(()), logit]))

            return Visit(
                f"{layer} unit {number + 1}", conditional, units[number].astype(jnp.int32), put
            )

        hidden = [
            visit("hidden", j, lambda: self.hidden_logits(state.visible))
            for j in range(self.hidden_bias.shape[0])
        ]
        visible = [
            visit("visible", i, lambda: self.visible_logits(state.hidden))
            for i in range(self.visible_bias.shape[0])
        ]
        return tuple(hidden + visible if self.hidden_first else visible + hidden)
