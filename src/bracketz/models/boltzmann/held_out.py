"""RAISE: held-out log-likelihood of a machine, from reverse runs (Burda, Grosse, Salakhutdinov
2015).

AIS with K distributions is itself a generative model: x_0 from the base, then one sweep per
distribution; p_K(v) is the law of the visible units it ends with, which tends to the machine's own
as K grows. Read backwards from a state x = (v, h), h drawn given v, a run passes x_{K-1}, ..., x_0,
and with exact reversals

    p(x_0) prod T_k(x_k | x_{k-1}) / prod R_k(x_{k-1} | x_k) = f(x) w,     w the reverse run's
    weight,

so that f(v) w, the hidden units summed out, has mean p_K(v): by Jensen's inequality the mean of its
logarithm is a lower bound on log p_K(v), and no partition function enters. Where log Z is
underestimated, log f(v) - log Z is overestimated and nothing warns; RAISE errs on the other side.
It is a bound for the annealing model p_K: for the machine itself log f(v) - U, with U an upper
bound on log Z, is one.

Cost: one sweep and one weight per distribution, chain and test vector.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.precision import double_precision
from bracketz.core.validation import require_at_least
from bracketz.core.weights import logmeanexp
from bracketz.engine.anneal import FromStates
from bracketz.engine.devices import use_all_cores
from bracketz.engine.run import run_chains
from bracketz.errors import InputError
from bracketz.models.boltzmann.model import RBM
from bracketz.paths import Tempered


class HeldOutBound(NamedTuple):
    """Log-probabilities of test vectors.

    Attributes:
        log_f: log f(v), unnormalised, (n,).
        log_prob: lower bounds on log p_K(v) by RAISE, (n,).

    Example:
        >>> import bracketz as bz, numpy as np
        >>> found = bz.raise_bound(bz.RBM(), np.zeros((3, 4)), np.eye(3), distributions=4)
        >>> bool(np.allclose(found.log_prob, -3 * np.log(2)))
        True
    """

    log_f: np.ndarray
    log_prob: np.ndarray


def raise_bound(
    model: RBM, y, visible, *, distributions: int = 1000, chains: int = 10, seed: int = 0
) -> HeldOutBound:
    """Lower bounds on the log-probability of test vectors, without a partition function.

    Args:
        model: the machine's path (its base).
        y: the machine.
        visible: test vectors, bits, (n, V).
        distributions: K.
        chains: per test vector; their weights are averaged.
        seed: everything random follows from it.

    Returns:
        log f and the bounds.

    Raises:
        InputError: vectors that do not fit the machine, or are no bits.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> machine = np.random.default_rng(0).normal(size=(3, 4))
        >>> found = bz.raise_bound(bz.RBM(), machine, np.eye(3, dtype=int), distributions=50)
        >>> found.log_prob.shape
        (3,)
    """
    require_at_least(1, chains=chains)
    visible, y = np.atleast_2d(np.asarray(visible)), np.asarray(y, dtype=float)
    model.check_shape(y.shape)
    if visible.shape[1] != y.shape[1] - 1 or not np.isin(visible, (0, 1)).all():
        raise InputError(
            f"test vectors must be bits, one for each of the {y.shape[1] - 1} visible units"
        )
    use_all_cores()
    count, path = len(visible), Tempered().through(distributions)
    with double_precision():
        key = jax.random.key(seed, impl="threefry2x32")
        keys = jax.random.split(key, (count, chains))
        log_f, states = _begun(model, y, visible, keys)
        program = FromStates(model, y, path, jax.tree.map(np.asarray, states))
        outcome = run_chains(
            program, path.num_edges, chains=count * chains, seed=seed, stream="raise"
        )
        weights = -np.asarray(outcome.log_values).reshape(count, chains)
        bound = log_f + np.asarray(jax.vmap(logmeanexp)(jnp.asarray(weights)))
    return HeldOutBound(np.asarray(log_f), np.asarray(bound))


@jax.jit
def _begun(model: RBM, y, visible, keys):
    """log f of every vector, and states for its chains, one after another."""
    states = jax.vmap(lambda v, ks: jax.vmap(lambda k: model.complete(k, v, y))(ks))(visible, keys)
    flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), states)
    return jax.vmap(lambda v: model.log_visible(v, y))(visible), flat
