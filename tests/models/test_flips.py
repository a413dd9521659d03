"""Metropolised bits: exact transition probabilities. (Balance, reversal and evidence of whole
sweeps: the tiny instance ``binary-flips`` goes through the tests of kernels and of the evidence the
others do.)"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import BinaryAttributes, simulate
from bracketz.core.conditional import log_prob
from bracketz.models.binary_attributes.flips import FlipByFlip
from bracketz.models.binary_attributes.row import BitByBit


def conditionals(components, power=0.6, seed=0):
    """A row's conditional under both updates, from a present row on: functions of that row."""
    model = BinaryAttributes(components=components)
    data = simulate(model, 6, 3, seed=seed)
    gibbs = model.kernel(data.y, jnp.full(6, power))
    z = jnp.asarray(data.exact.attributes)
    row = jax.tree.map(lambda a: a[2], gibbs.rows)
    weight = gibbs.conditional(gibbs.remove(gibbs.cache(z), row, z[2]), row, z[2]).row
    return lambda bits: BitByBit(weight, bits, False), lambda bits: FlipByFlip(weight, bits, False)


def test_a_bit_moves_as_often_as_balance_allows():
    """One bit: P(change) = p(other) / max(p(0), p(1)) against the Gibbs update's p(other)."""
    for power in (0.0, 0.3, 1.0):
        gibbs, flips = conditionals(1, power)
        off, on = jnp.zeros(1), jnp.ones(1)
        p = np.exp([log_prob(gibbs(off), v) for v in (off, on)])
        np.testing.assert_allclose(np.exp(log_prob(flips(off), on)), p[1] / p.max(), rtol=1e-12)
        np.testing.assert_allclose(np.exp(log_prob(flips(on), off)), p[0] / p.max(), rtol=1e-12)
        # Balance: the two flip probabilities, as scored, weighed with the Gibbs update's stationary
        # law.
        up, down = np.exp(log_prob(flips(off), on)), np.exp(log_prob(flips(on), off))
        np.testing.assert_allclose(p[0] * up, p[1] * down, rtol=1e-12)


@pytest.mark.slow
def test_every_row_of_probabilities_sums_to_one_and_impossible_moves_are_never_drawn():
    _, flips = conditionals(4)
    for current in (jnp.zeros(4), jnp.array([1.0, 0, 1, 0])):
        conditional = flips(current)
        every = conditional.support
        log_t = np.asarray(jax.vmap(lambda v, c=conditional: log_prob(c, v))(every))
        assert abs(np.exp(log_t).sum() - 1) < 1e-12
        assert np.isneginf(log_t).any() and not np.isnan(log_t).any()
        grid = (jnp.stack(jnp.meshgrid(*[jnp.arange(9) / 9] * 4), -1)).reshape(
            -1, 4
        )  # 0 is among the noise
        drawn = jax.vmap(conditional.from_noise)(grid)
        index = np.asarray(drawn @ (2.0 ** jnp.arange(4)[::-1])).astype(int)
        assert np.isfinite(log_t[index]).all()


def test_scored_chains_can_reach_every_row():
    """CMS is biased where the transition density can vanish (the kit's ``evidence.cms`` sees
    it)."""
    model = BinaryAttributes(components=2, row_update="flips")
    chain = model.scored_chain(simulate(model, 3, 2, seed=0).y)
    states, _ = model.nodes((3, 2))
    scores = jax.vmap(lambda new: chain.kernel.log_prob(new, jax.tree.map(lambda a: a[0], states)))(
        states
    )
    assert np.isfinite(scores).all()


def test_bits_stay_the_default():
    assert BinaryAttributes().row_update == "bits"
    assert not isinstance(conditionals(2)[0](jnp.zeros(2)), FlipByFlip)
