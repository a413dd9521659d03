"""Forward and reverse runs on many simulated data sets at once, and what Crooks' relation says
about them.

The path measures satisfy q_B(l) = q_F(l) exp(l - log Z) for l = log w read as an estimate of log Z.
Hence, for any bounded h, E_F[h(l) s(l - log Z)] = E_B[h(l) (1 - s(l - log Z))] with s the logistic
function; and for one forward and one reverse value on the same data, whatever Z is, P(l_B > l_F
given |l_B - l_F| = d) = s(d). Both sides are bounded, so that p-values hold in the tails, however
heavy those of the weights are.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.statistics import bonferroni, mean_zero_p, normal_p
from bracketz.check.subject import Instance, draw, jit_draws
from bracketz.core.capabilities import Enumerable, log_evidence
from bracketz.core.path import Path
from bracketz.engine.anneal import Forward, Resampling, Reverse
from bracketz.estimators.chib import ChibProgram
from bracketz.paths import Tempered

BLOCK = 250
BINS = 6
#: Chains per data set in each direction, where one particle per chain is enough.
CHAINS = 4
#: Densities evaluated for exact evidences, at the most.
MOST_DENSITIES = 60_000_000


class Runs(NamedTuple):
    """Log-ML values of both directions, (data sets, chains), and the exact evidence (None if
    unknown)."""

    forward: np.ndarray
    reverse: np.ndarray
    truth: np.ndarray | None


def affordable(instance: Instance, data_sets: int) -> int:
    """How many data sets to take where each needs its exact evidence."""
    states, _ = instance.model.nodes(instance.shape)
    return min(data_sets, MOST_DENSITIES // jax.tree.leaves(states)[0].shape[0])


def both_directions(
    instance: Instance,
    path: Path,
    data_sets: int,
    key,
    *,
    chains: int = CHAINS,
    sweeps: int = 1,
    particles: int = 1,
) -> Runs:
    """``data_sets`` draws of (x, y) from the joint; on each, ``chains`` runs up from the prior and
    down from x.

    The exact evidence comes along where that many are affordable.
    """
    model, shape = instance.model, instance.shape

    def values(keys, nodes):
        return _annealed(model, shape, path, keys, nodes, sweeps, chains, particles)

    return _over_data_sets(instance, data_sets, key, values)


def chib_both_ways(instance: Instance, samples: int, burn_in: int, data_sets: int, key) -> Runs:
    """CMS's estimate as the forward value; as the reverse one, the same formula for a chain from
    the exact sample.

    CMS draws the chain x_1..x_S about x* with density P(x_1..x_S) * mean_s T(x* | x_s) / p(x* | y),
    P the law of a stationary chain. A stationary chain that has nothing to do with x* follows P
    itself. The quotient of the two laws is Z / w with w = p(x*, y) / mean_s T(x* | x_s), which is
    Crooks' relation, for any x*.
    """
    model, shape, path = instance.model, instance.shape, Tempered().through(burn_in)
    return _over_data_sets(
        instance,
        data_sets,
        key,
        lambda keys, nodes: _chib(model, shape, path, keys, nodes, samples),
    )


def _over_data_sets(instance: Instance, data_sets: int, key, values) -> Runs:
    """``values(keys, nodes)``: forward values, reverse values and evidences (0 without nodes) of a
    block of data sets."""
    model = instance.model
    exact = isinstance(model, Enumerable) and affordable(instance, data_sets) == data_sets
    nodes = jax.tree.map(jnp.asarray, model.nodes(instance.shape)) if exact else None
    blocks = -(-data_sets // BLOCK)
    keys = jax.random.split(key, (blocks, BLOCK))
    found = [jax.tree.map(np.asarray, values(keys[b], nodes)) for b in range(blocks)]
    forward, reverse, truth = (np.concatenate(a)[:data_sets] for a in zip(*found, strict=True))
    return Runs(forward, reverse, truth if exact else None)


def _walk(program, key, carry, first, last):
    def step(index, carry):
        return program.step(jax.random.fold_in(key, index + 1), carry, index)

    return jax.lax.fori_loop(first, last, step, carry)


def _evidence(model, y, nodes):
    return jnp.zeros(()) if nodes is None else log_evidence(model, y, *nodes)


@functools.partial(jit_draws, static_argnames=("shape", "chains", "particles"))
def _annealed(model, shape, path, keys, nodes, sweeps, chains: int, particles: int):
    """Compiled once for tempered paths of any length."""

    def one(key):
        key_data, key_up, key_down = jax.random.split(key, 3)
        state, _, y = draw(model, shape, key_data)

        def run(program, key):
            return program.log_value(_walk(program, key, program.start(key), 0, path.num_edges))

        up = Forward(model, y, path, sweeps, Resampling(), particles)
        down = Reverse(model, y, path, state, sweeps, Resampling(), particles)
        values = [
            jax.vmap(functools.partial(run, program))(jax.random.split(k, chains))
            for program, k in ((up, key_up), (down, key_down))
        ]
        return *values, _evidence(model, y, nodes)

    return jax.vmap(one)(keys)


@functools.partial(jit_draws, static_argnames="shape")
def _chib(model, shape, path, keys, nodes, samples):
    """Compiled once for any number of samples."""

    def one(key):
        key_data, key_find, key_begin, key_up, key_down = jax.random.split(key, 5)
        state, _, y = draw(model, shape, key_data)
        edges = path.num_edges
        cms, chib = (
            ChibProgram(model, y, path, samples, None, murray_salakhutdinov=about_the_point)
            for about_the_point in (True, False)
        )
        found = _walk(cms, key_find, cms.start(key_find), 0, edges)
        elsewhere = found._replace(state=model.scored_chain(y).begin(key_begin, state))
        values = [
            program.log_value(_walk(program, k, carry, edges, edges + samples))[None]
            for program, k, carry in ((cms, key_up, found), (chib, key_down, elsewhere))
        ]
        return *values, _evidence(model, y, nodes)

    return jax.vmap(one)(keys)


def _logistic(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def crooks_p(runs: Runs) -> float:
    """The whole curve, from the first chain of each direction: overall and in bins of the work."""
    forward, reverse = runs.forward[:, 0], runs.reverse[:, 0]
    p_values = [_order_p(forward, reverse)]
    if runs.truth is not None:
        work_f, work_b = forward - runs.truth, reverse - runs.truth
        p_values.append(bonferroni(mean_zero_p(_residuals(work_f, work_b))))
    return bonferroni(p_values)


def _residuals(work_f, work_b) -> np.ndarray:
    """h(W_F) s(W_F) - h(W_B) (1 - s(W_B)) for h = 1 and for bins of W: mean zero, bounded."""
    edges = np.quantile(np.concatenate([work_f, work_b]), np.linspace(0, 1, BINS + 1)[1:-1])
    columns = [_logistic(work_f) - _logistic(-work_b)]
    for k in range(BINS):
        inside = [np.digitize(w, edges) == k for w in (work_f, work_b)]
        columns.append(inside[0] * _logistic(work_f) - inside[1] * _logistic(-work_b))
    return np.stack(columns, axis=1)


def _order_p(forward, reverse) -> float:
    """P(l_B > l_F given the distance d) = s(d): sums over bins of d, where the variance is known
    exactly."""
    distance = np.abs(reverse - forward)
    apart = distance > 1e-9
    surplus, p = (reverse > forward)[apart] - _logistic(distance[apart]), _logistic(distance[apart])
    if surplus.size == 0:
        return 1.0
    variance = p * (1 - p)
    order = np.argsort(distance[apart])
    p_values = []
    for part in (order, *np.array_split(order, BINS)):
        total = variance[part].sum()
        if total > 15:  # enough for the normal law
            p_values.append(float(normal_p(surplus[part].sum() / np.sqrt(total))))
    return bonferroni(p_values) if p_values else 1.0
