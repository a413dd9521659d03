"""The weights of a run on this model against their definition.

The real programs run on the model under test, and every increment is recomputed from
``log_annealed`` alone.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import bonferroni, counts_p
from bracketz.check.subject import Subject, draw, jit_once, outline, tally
from bracketz.core.capabilities import Predictive
from bracketz.core.conditional import log_prob
from bracketz.core.path import Path
from bracketz.engine.anneal import Forward, Particles, Reverse
from bracketz.paths import Prefix, Tempered

EDGES = 4


def tempered_rows(distributions: int) -> np.ndarray:
    """The paper's schedule, written out: beta~_t = 1 / (1 + exp(-4 (2t/T - 1))), rescaled to run
    from 0 to 1."""
    t = np.arange(1, distributions + 1)
    raw = 1 / (1 + np.exp(-4.0 * (2 * t / distributions - 1)))
    return (raw - raw[0]) / (raw[-1] - raw[0])


def _rows(path: Path, n: int, distributions: int | None) -> np.ndarray:
    """The path's rows, written out independently of it."""
    if distributions is not None:
        return np.repeat(tempered_rows(distributions)[:, None], n, axis=1)
    assert isinstance(path, Prefix)
    order = np.asarray(path.order)
    return np.stack([np.isin(np.arange(n), order[:t]) * 1.0 for t in range(n + 1)])


def _point_increment(model, y, state, powers, without, i):
    """log of the predictive density of point i: f summed over its latent, with the point and
    without."""
    measure = model.point_conditional(state, y, powers, i)
    if measure.support is None:
        return model.log_annealed(state, y, powers) - model.log_annealed(state, y, without)

    def total(b):
        each = jax.vmap(lambda v: model.log_annealed(model.replace_latent(state, i, v), y, b))(
            measure.support
        )
        return jax.nn.logsumexp(each)

    return total(powers) - total(without)


def entering(subject: Subject) -> Finding:
    """The latent of the point that enters is drawn from its conditional with the point (posterior
    proposal) or from the prior; the one that leaves, from the prior."""
    model, shape = subject.tiny.model, subject.tiny.shape
    if not isinstance(subject.model, Predictive):
        raise NotApplicable("the model has no Predictive capability")
    n = shape[0]
    state, _, y = draw(model, shape, subject.key("entering"))
    t = n // 2 + 1

    def measure(powers):
        return model.point_conditional(state, y, powers, t - 1)

    if outline(measure, np.ones(n)).support is None:
        raise NotApplicable("the state keeps no latent of a point")

    @jit_once
    def scored(powers):
        """(states with every value of the latent, probability of each)."""
        values = measure(powers).support
        candidates = jax.vmap(lambda v: model.replace_latent(state, t - 1, v))(values)
        return candidates, jnp.exp(jax.vmap(lambda v: log_prob(measure(powers), v))(values))

    tables = {
        name: scored((np.arange(n) < row) * 1.0) for name, row in (("with", t), ("without", t - 1))
    }
    keys = jax.random.split(subject.key("entering draws"), subject.sizes.draws)
    p_values, names = [], []
    for proposal, up, down in (("posterior", "with", "without"), ("prior", "without", "without")):
        path = Prefix(proposal).over(model, n)
        for crossing, name in ((path.extend, up), (path.retract, down)):
            found = jit_once(jax.vmap(lambda k, c=crossing: c(k, model, y, state, t)[0]))(keys)
            candidates, probabilities = tables[name]
            p_values.append(counts_p(tally(found, candidates), np.asarray(probabilities)))
            names.append(
                f"{proposal} proposal, {'entering' if crossing == path.extend else 'leaving'}"
            )
    j = int(np.argmin(p_values))
    return Finding(bonferroni(p_values), f"latents of a point crossing an edge ({names[j]}).")


def _one(particles: Particles):
    """The state of the first particle."""
    return jax.tree.map(lambda a: a[0], particles.states)


def weights(subject: Subject) -> Finding:
    """Every increment of log w, forward and reverse, on every path, equals the definition's:

        forward   log f(x; b_t) - log f(x; b_{t-1})  at the state before the move
        reverse   the negative of it                 at the state after the move

    with the entering point's latent summed out for the posterior proposal.
    """
    cases = []
    model, shape = subject.tiny.model, subject.tiny.shape
    state, _, y = draw(model, shape, subject.key("weights"))
    n = shape[0]
    kinds: list[tuple[str, Path, int | None]] = [
        ("tempered", Tempered().through(EDGES + 1), EDGES + 1)
    ]
    proposals = ["prior"]
    if isinstance(model, Predictive):
        measure = outline(lambda s, y: model.point_conditional(s, y, jnp.ones(n), 0), state, y)
        in_state = measure.support is not None
        # A latent drawn and forgotten leaves no trace to recompute the prior proposal's weight
        # from.
        proposals = ["prior", "posterior"] if in_state else ["posterior"]
    for proposal in proposals:
        kinds.append(
            (f"prefix, {proposal} proposal", Prefix(proposal, shuffle=1).over(model, n), None)
        )

    for name, path, distributions in kinds:
        rows = jnp.asarray(_rows(path, n, distributions))
        edges = len(rows) - 1
        posterior = name.endswith("posterior proposal")

        def expected(before, after, t, path=path, rows=rows, posterior=posterior):
            """The increment of edge t, from the states around the crossing."""
            high, low = rows[t], rows[t - 1]
            if posterior:
                return _point_increment(model, y, before, high, low, path.entering(t))
            return model.log_annealed(after, y, high) - model.log_annealed(after, y, low)

        def errors(key, path=path, edges=edges, tempering=distributions is not None):
            up, down = Forward(model, y, path, 1), Reverse(model, y, path, state, 1)

            def step(carry, index):
                carry, back = carry
                step_key = jax.random.fold_in(key, index)
                # The crossing alone (no sweeps), then with the move: same key, same crossing.
                crossed, after = _still_and_moved(up, step_key, carry, index)
                gain = _gain(carry, after) - expected(_one(carry), _one(crossed), index + 1)
                unmoved, moved = _still_and_moved(down, step_key, back, index)
                t = edges - index
                out = [gain, _gain(back, unmoved) + expected(_one(back), _one(back), t)]
                if tempering:  # crossing leaves the state: what is left is what was weighed
                    out.append(_gain(back, moved) + expected(_one(moved), _one(moved), t))
                return (after, moved), jnp.stack(out)

            (carry, back), found = jax.lax.scan(
                step, (up.start(key), down.start(key)), jnp.arange(edges)
            )
            last = jnp.stack(
                [
                    up.log_value(carry) - carry.log_weights[0],
                    down.log_value(back) + back.log_weights[0],
                ]
            )
            return jnp.abs(jnp.concatenate([jnp.ravel(found), last]))

        error = float(np.max(jit_once(errors)(subject.key(name))))
        cases.append(
            Discrepancy(
                error,
                f"an increment of the log weight on the {name} path is off by {error:.2g} nats.",
            )
        )
    return worst(cases, "")


def _still_and_moved(program, key, carry, index) -> tuple[Particles, Particles]:
    """A step without sweeps, and with one."""
    both = jax.lax.map(
        lambda sweeps: dataclasses.replace(program, sweeps=sweeps).step(key, carry, index),
        jnp.arange(2),
    )
    return jax.tree.map(lambda a: a[0], both), jax.tree.map(lambda a: a[1], both)


def _gain(before: Particles, after: Particles):
    """What the first particle's log w grew by."""
    return after.log_weights[0] - before.log_weights[0]


CHECKS = (
    Check(
        "engine.weights",
        Kind.EXACT,
        "an increment of the weight uses the wrong rows of powers, state or sign.",
        weights,
    ),
    Check(
        "engine.entering",
        Kind.STATISTICAL,
        "the latent of a point that enters or leaves comes from the wrong conditional.",
        entering,
    ),
)
