"""Metropolised bits: exact transition probabilities. (Balance, reversal and evidence of whole
sweeps: the tiny instance ``binary-flips`` goes through the tests of kernels and of the evidence the
others do.)"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import BinaryAttributes, simulate
from bracketz.check.subject import outline
from bracketz.core.conditional import log_prob
from bracketz.models.binary_attributes.flips import FlipByFlip
from bracketz.models.binary_attributes.row import BitByBit


def conditionals(components):
    """A row's conditional under both updates, from a present row on: functions of the power and of
    that row."""
    model = BinaryAttributes(components=components)
    data = simulate(model, 6, 3, seed=0)

    def weight(power):
        kernel = model.kernel(data.y, jnp.full(6, power))
        z = jnp.asarray(data.exact.attributes)
        row = jax.tree.map(lambda a: a[2], kernel.rows)
        return kernel.conditional(kernel.remove(kernel.cache(z), row, z[2]), row, z[2]).row

    return (
        lambda power, bits: BitByBit(weight(power), bits, False),
        lambda power, bits: FlipByFlip(weight(power), bits, False),
    )


def test_a_bit_moves_as_often_as_balance_allows():
    """One bit: P(change) = p(other) / max(p(0), p(1)) against the Gibbs update's p(other)."""
    gibbs, flips = conditionals(1)
    off, on = np.zeros(1), np.ones(1)

    @jax.jit
    def probabilities(power):
        found = [log_prob(gibbs(power, off), v) for v in (off, on)]
        moves = [log_prob(flips(power, off), on), log_prob(flips(power, on), off)]
        return jnp.exp(jnp.stack(found + moves))

    for power in (0.0, 0.3, 1.0):
        *p, up, down = np.asarray(probabilities(power))
        np.testing.assert_allclose(up, p[1] / max(p), rtol=1e-12)
        np.testing.assert_allclose(down, p[0] / max(p), rtol=1e-12)
        # Balance: the two flip probabilities, as scored, weighed with the Gibbs update's stationary
        # law.
        np.testing.assert_allclose(p[0] * up, p[1] * down, rtol=1e-12)


@pytest.mark.slow
def test_every_row_of_probabilities_sums_to_one_and_impossible_moves_are_never_drawn():
    _, flips = conditionals(4)
    grid = np.stack(np.meshgrid(*[np.arange(9) / 9] * 4), -1).reshape(-1, 4)  # 0 is among the noise

    @jax.jit
    def scored_and_drawn(current):
        conditional = flips(0.6, current)
        log_t = jax.vmap(lambda v: log_prob(conditional, v))(conditional.support)
        return log_t, jax.vmap(conditional.from_noise)(grid) @ (2.0 ** jnp.arange(4)[::-1])

    for current in (np.zeros(4), np.array([1.0, 0, 1, 0])):
        log_t, index = map(np.asarray, scored_and_drawn(current))
        assert abs(np.exp(log_t).sum() - 1) < 1e-12
        assert np.isneginf(log_t).any() and not np.isnan(log_t).any()
        assert np.isfinite(log_t[index.astype(int)]).all()


def test_scored_chains_can_reach_every_row():
    """CMS is biased where the transition density can vanish (the kit's ``evidence.cms`` sees
    it)."""
    model = BinaryAttributes(components=2, row_update="flips")
    chain = model.scored_chain(simulate(model, 3, 2, seed=0).y)
    states, _ = model.nodes((3, 2))
    first = jax.tree.map(lambda a: a[0], states)
    scores = jax.jit(jax.vmap(lambda new: chain.kernel.log_prob(new, first)))(states)
    assert np.isfinite(scores).all()


def test_bits_stay_the_default():
    model = BinaryAttributes(components=2)
    assert model.row_update == "bits"

    def given(y, z):
        kernel = model.kernel(y, jnp.full(6, 0.6))
        row = jax.tree.map(lambda a: a[2], kernel.rows)
        return kernel.conditional(kernel.remove(kernel.cache(z), row, z[2]), row, z[2])

    assert type(outline(given, np.zeros((6, 3)), np.ones((6, 2)))) is BitByBit
