"""All states of the smaller layer: exact samples and the partition function of small machines.

With the other layer summed out, a state s of one layer has weight exp(bias . s) prod_k (1 + exp(c_k
+ (W s)_k)). There are 2^m of them for m units, O(2^m V H) operations; the other layer's units are
independent given s.
"""

import jax
import jax.numpy as jnp

#: Units of a layer whose states are enumerated, at the most.
MOST_UNITS = 20
#: States whose weights are computed at a time.
BATCH = 4096


def states_of(index, units: int):
    """The state with this number, (units,) bits."""
    return (index >> jnp.arange(units)) & 1


def log_weights(bias, other_bias, weights):
    """log of the weight of each state of the layer with ``bias`` (m,): (2^m,).

    ``weights`` are (m, other).
    """
    m = bias.shape[0]

    def one(index):
        state = states_of(index, m).astype(float)
        return state @ bias + jnp.sum(jax.nn.softplus(other_bias + state @ weights))

    return jax.lax.map(one, jnp.arange(2**m), batch_size=min(BATCH, 2**m))


def draw(key, bias, other_bias, weights):
    """An exact sample of the layer, by the inverse of its cumulative weights."""
    found = log_weights(bias, other_bias, weights)
    cumulative = jnp.cumsum(jnp.exp(found - jnp.max(found)))
    u = jax.random.uniform(key) * cumulative[-1]
    index = jnp.searchsorted(cumulative, u, side="right")
    return states_of(jnp.minimum(index, found.shape[0] - 1), bias.shape[0]).astype(jnp.int8)
