"""A sweep held against the law it must keep, drawn from by enumeration; shared by the tests.

States follow f(.; b) before a sweep; so they must after it, and after its reversal, and the two
ends of a sweep must be those of the reversal, exchanged. Cells are compared, and pairs of cells.
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

DRAWS = 20_000
#: Probability that any comparison of one call fails on right code (each is a z-score of counts of
#: 30 or more, or of a mean over all draws; a Bonferroni bound).
FALSE_ALARMS = 1e-6


@jax.jit
def log_densities(model, nodes, y, powers):
    """log f at every node."""
    return jax.vmap(lambda state: model.log_annealed(state, y, powers))(nodes)


@jax.jit
def swept(model, y, powers, keys, states):
    """(after a sweep, after a reversed one) of every state, by independent keys."""

    def both(key, state):
        ahead, back = jax.random.split(key)
        kernel = model.kernel(y, powers)
        return kernel.step(ahead, state), kernel.reversed().step(back, state)

    return jax.vmap(both)(keys, states)


def cells_of(nodes):
    """Which of the nodes a state is, as a row of indicators."""
    every = np.concatenate([np.reshape(a, (len(a), -1)) for a in jax.tree.leaves(nodes)], axis=1)

    def features(states):
        flat = [np.reshape(a, (len(a), -1)) for a in jax.tree.leaves(states)]
        found = np.concatenate(flat, axis=1)
        return 1.0 * np.all(found[:, None] == every[None], axis=2)

    return features


def worst_z(model, nodes, y, powers, features, seed=0):
    """(largest |z| of all comparisons, what it may be)."""
    log_f = np.asarray(log_densities(model, nodes, jnp.asarray(y), powers))
    p = np.exp(log_f - log_f.max())
    p /= p.sum()
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(p), size=DRAWS, p=p)
    states = jax.tree.map(lambda a: jnp.asarray(a)[drawn], nodes)
    keys = jax.random.split(jax.random.key(seed), DRAWS)
    ahead, back = swept(model, jnp.asarray(y), powers, keys, states)
    before, up, down = (features(jax.tree.map(np.asarray, s)) for s in (states, ahead, back))
    exact = p @ features(jax.tree.map(np.asarray, nodes))
    scores = []
    for after in (up, down):
        scores.append(_z(after.mean(0) - exact, after.var(0)))
    # The ends of a sweep, and of the reversal exchanged: different draws, so variances add.
    there, again = before.T @ up / DRAWS, down.T @ before / DRAWS
    squares = (before**2).T @ up**2 + (down**2).T @ before**2
    variance = squares / DRAWS - there**2 - again**2
    scores.append(_z(there - again, variance))
    scores = np.concatenate([np.ravel(s) for s in scores])
    return np.abs(scores).max(), norm.isf(0.5 * FALSE_ALARMS / len(scores))


def _z(difference, variance):
    """z-scores; counts below 30 are no normal numbers and are left out."""
    enough = variance * DRAWS >= 30
    return difference[enough] / np.sqrt(variance[enough] / DRAWS)
