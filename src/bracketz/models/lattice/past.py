"""Coupling from the past (Propp and Wilson 1996): exact samples of monotone systems.

Claim. Let x -> phi(x, u) keep f / Z when u is random, and be monotone: x <= x' gives phi(x, u) <=
phi(x', u). Let u_1, u_2, ... be independent, u_t belonging to time -t. If the least and the
greatest state, both begun at time -T and moved by u_T, ..., u_1, are equal at time 0, that common
state follows f / Z exactly.

Why. Every state lies between the two, so all of them, begun at -T, end there: the map of times -T
to 0 is constant. Begun at any earlier time, or at -infinity in equilibrium, the chain passes -T in
*some* state and ends in the same one; a chain in equilibrium is in equilibrium at time 0. The
randomness of a time must be the same whenever the time is visited again: u_t is drawn from the key
folded with t, and T doubles until the two meet. Stopping at the first time they meet when run
*forwards* would be wrong, and so would be fresh randomness for each T.

Cost. Two chains, T + T/2 + ... < 2 T moves of each, T at most twice what it takes. A sampler that
has not come to an end at ``MOST`` says so, and nothing is returned as a sample; the probability of
that is the only bias left.

Two monotone systems:

- two states, Gibbs on the checkerboard: more neighbours up never turn a site down (couplings not
  negative, fields of any sign). It takes long in the ordered phase, where the least and the
  greatest state stay apart for a time exponential in the side.
- bonds of the random-cluster model, q >= 1: f(x) = sum over bonds w of p(x, w) as in Swendsen and
  Wang, and w alone has weight prod p^w (1-p)^(1-w) q^(number of clusters). Given the others, a bond
  is open with probability p where its ends are connected without it, else p / (p + q (1 - p)),
  which is less: more open bonds never close one. A site pulled towards one state has a bond to a
  vertex outside the grid that has this state. Given the bonds, clusters get states at random. This
  serves Potts models, and Ising models in the ordered phase; bonds are visited one after another,
  with a search for the clusters at each visit: O((N D)^2) and more per sweep.
"""

import jax
import jax.numpy as jnp

from bracketz.core.undirected import ExactDraw
from bracketz.models.lattice.checkerboard import Checkerboard
from bracketz.models.lattice.grid import clusters
from bracketz.models.lattice.state import LatticeState

#: Sweeps from the past at the most.
MOST = 1 << 20


def from_the_past(key, low, high, move, most: int = MOST):
    """(the state at time 0 of the chain from ``low``, whether both chains have met, T).

    Args:
        key: a JAX random key.
        low, high: the least and the greatest state, pytrees of arrays.
        move: (key, state) -> state, monotone.
        most: T at the most.
    """

    def since(begin):
        """Both chains from time -begin to 0."""

        def step(index, pair):
            at = jax.random.fold_in(key, begin - index)
            return move(at, pair[0]), move(at, pair[1])

        return jax.lax.fori_loop(0, begin, step, (low, high))

    def same(pair):
        return jnp.all(
            jnp.stack(
                [
                    jnp.all(a == b)
                    for a, b in zip(jax.tree.leaves(pair[0]), jax.tree.leaves(pair[1]), strict=True)
                ]
            )
        )

    def further(carry):
        begin, _ = carry
        return 2 * begin, since(2 * begin)

    def going(carry):
        begin, pair = carry
        return ~same(pair) & (2 * begin <= most)

    begin, pair = jax.lax.while_loop(going, further, (jnp.asarray(1), since(1)))
    return pair[0], same(pair), begin


def sites_from_the_past(key, kernel: Checkerboard, most: int = MOST) -> ExactDraw:
    """Two states, by Gibbs on the checkerboard."""
    shape = kernel.logits.shape[:2]
    low, high = (jnp.full(shape, value, jnp.int8) for value in (0, 1))

    def move(key, sites):
        return kernel.draw(sites, jax.random.uniform(key, shape))

    sites, met, begin = from_the_past(key, low, high, move, most)
    return ExactDraw(LatticeState(sites), met, begin)


def clusters_from_the_past(
    key, bonds, pull, favoured: int, states: int, most: int = MOST
) -> ExactDraw:
    """Any number of states, by the random-cluster model.

    Args:
        key: a JAX random key.
        bonds: (2, N, D), not negative.
        pull: (N, D), not negative: logits of the favoured state over any other.
        favoured: that state.
        states: q.
        most: sweeps from the past at the most.
    """
    shape = pull.shape
    strengths = jnp.concatenate([bonds, pull[None]])  # (3, N, D): right, down, out of the grid
    alone = -jnp.expm1(-strengths)
    joined = alone / (alone + states * (1 - alone))
    index = jnp.arange(pull.size).reshape(shape)
    right, below = jnp.roll(index, -1, axis=1), jnp.roll(index, -1, axis=0)
    first = jnp.ravel(jnp.stack([index, index, index]))
    second = jnp.ravel(jnp.stack([right, below, jnp.full(shape, pull.size)]))

    def sweep(key, opened):
        noise = jax.random.uniform(key, (strengths.size,))

        def visit(e, opened):
            without = opened.at[e].set(False).reshape(strengths.shape)
            labels = jnp.append(jnp.ravel(clusters(without[:2], without[2])), 0)
            connected = labels[first[e]] == labels[second[e]]
            chance = jnp.where(connected, jnp.ravel(alone)[e], jnp.ravel(joined)[e])
            return opened.at[e].set(noise[e] < chance)

        return jax.lax.fori_loop(0, strengths.size, visit, opened)

    key_past, key_states = jax.random.split(key)
    low, high = (jnp.full(strengths.size, value) for value in (False, True))
    opened, met, begin = from_the_past(key_past, low, high, sweep, most)
    opened = opened.reshape(strengths.shape)
    labels = clusters(opened[:2], opened[2])
    drawn = jax.random.randint(key_states, (pull.size,), 0, states)
    drawn = jnp.append(favoured, drawn)  # the cluster of the vertex outside
    return ExactDraw(LatticeState(drawn[labels].astype(jnp.int8)), met, begin)
