"""The engine against its definition, exactly: weights, order of operations, resampling, randomness, averages.

The real programs run on the model under test, and every increment is recomputed from ``log_annealed`` alone.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.anneal import Forward, Particles, Resampling, Reverse
from bracketz.answer import Certificate, Combine
from bracketz.check.conditionals import conditional_error
from bracketz.check.outcome import Case, Check, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import bonferroni, counts_p, white_p
from bracketz.check.subject import Subject, draw, jit_once, outline, tally
from bracketz.conditional import Categorical, Gaussian, TruncatedNormal, log_prob
from bracketz.models.base import Predictive
from bracketz.noise import standard_normal
from bracketz.path import Path, prefix, tempered
from bracketz.weights import RESAMPLERS, bennett, effective_sample_size, logmeanexp, resample_indices

EDGES = 4


def _tempered_rows(distributions: int) -> np.ndarray:
    """The paper's schedule, written out: beta~_t = 1 / (1 + exp(-4 (2t/T - 1))), rescaled to run from 0 to 1."""
    t = np.arange(1, distributions + 1)
    raw = 1 / (1 + np.exp(-4.0 * (2 * t / distributions - 1)))
    return (raw - raw[0]) / (raw[-1] - raw[0])


_powers = jit_once(lambda path, t, n: path.powers(t, n), static_argnames="n")


def _first_rows(path: Path, n: int, count: int) -> np.ndarray:
    """Rows of powers as the path gives them."""
    return np.stack([np.asarray(_powers(path, t, n=n)) for t in range(count)])


def paths(subject: Subject) -> Finding:
    """Rows of powers: the tempered schedules as printed in the paper, and prefixes that grow by one point."""
    n = 6
    cases = []
    for count in (2, 5, 40):
        for schedule, expected in (("sigmoid", _tempered_rows(count)), ("linear", np.linspace(0, 1, count))):
            path = tempered(count, schedule)
            rows = _first_rows(path, n, count)
            error = float(np.abs(rows - expected[:, None]).max()) + abs(path.num_edges - (count - 1))
            cases.append(
                Case(error, f"the {schedule} schedule of {count} distributions is off by {error:.2g}.")
            )
    for shuffle in (None, 3):
        growing = prefix(subject.tiny.model, n, shuffle=shuffle)
        order = np.asarray(growing.order)
        for t, row in enumerate(_first_rows(growing, n, n + 1)):
            expected = np.zeros(n)
            expected[order[:t]] = 1.0
            error = float(np.abs(row - expected).max())
            cases.append(Case(error, f"the prefix row after {t} points is wrong."))
    return worst(cases, "")


def _rows(path: Path, n: int, distributions: int | None) -> np.ndarray:
    """The path's rows, written out independently of it."""
    if distributions is not None:
        return np.repeat(_tempered_rows(distributions)[:, None], n, axis=1)
    order = np.asarray(path.order)  # type: ignore[attr-defined]
    return np.stack([np.isin(np.arange(n), order[:t]) * 1.0 for t in range(n + 1)])


def _point_increment(model, y, state, powers, without, i):
    """log of the predictive density of point i: f summed over its latent, with the point and without."""
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
    """The latent of the point that enters is drawn from its conditional with the point (posterior proposal) or from the
    prior; the one that leaves, the other way round."""
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

    tables = {name: scored((np.arange(n) < row) * 1.0) for name, row in (("with", t), ("without", t - 1))}
    keys = jax.random.split(subject.key("entering draws"), subject.sizes.draws)
    p_values, names = [], []
    for proposal, up, down in (("posterior", "with", "without"), ("prior", "without", "with")):
        path = prefix(model, n, proposal)
        for crossing, name in ((path.extend, up), (path.retract, down)):
            found = jit_once(jax.vmap(lambda k, c=crossing: c(k, model, y, state, t)[0]))(keys)
            candidates, probabilities = tables[name]
            p_values.append(counts_p(tally(found, candidates), np.asarray(probabilities)))
            names.append(f"{proposal} proposal, {'entering' if crossing == path.extend else 'leaving'}")
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
    kinds: list[tuple[str, Path, int | None]] = [("tempered", tempered(EDGES + 1), EDGES + 1)]
    proposals = ["prior"]
    if isinstance(model, Predictive):
        measure = outline(lambda s, y: model.point_conditional(s, y, jnp.ones(n), 0), state, y)
        in_state = measure.support is not None
        # A latent drawn and forgotten leaves no trace to recompute the prior proposal's weight from.
        proposals = ["prior", "posterior"] if in_state else ["posterior"]
    for proposal in proposals:
        kinds.append((f"prefix, {proposal} proposal", prefix(model, n, proposal, shuffle=1), None))

    for name, path, distributions in kinds:
        rows = jnp.asarray(_rows(path, n, distributions))
        edges = len(rows) - 1
        posterior = name.endswith("posterior proposal")

        def expected(before, after, t, path=path, rows=rows, posterior=posterior):
            """The increment of edge t, from the states around the crossing."""
            high, low = rows[t], rows[t - 1]
            if posterior:
                return _point_increment(model, y, before, high, low, path.order[t - 1])  # type: ignore[attr-defined]
            return model.log_annealed(after, y, high) - model.log_annealed(after, y, low)

        def errors(key, path=path, edges=edges, posterior=posterior, tempering=distributions is not None):
            up, down = Forward(model, y, path, 1), Reverse(model, y, path, state, 1)

            def step(carry, index):
                carry, back = carry
                step_key = jax.random.fold_in(key, index)
                # The crossing alone (no sweeps), then with the move: same key, same crossing.
                crossed, after = _still_and_moved(up, step_key, carry, index)
                gain = _gain(carry, after) - expected(_one(carry), _one(crossed), index + 1)
                unmoved, moved = _still_and_moved(down, step_key, back, index)
                t = edges - index
                out = [gain]
                if posterior or tempering:
                    out.append(_gain(back, unmoved) + expected(_one(back), _one(back), t))
                if tempering:  # crossing leaves the state: what is left is what was weighed
                    out.append(_gain(back, moved) + expected(_one(moved), _one(moved), t))
                return (after, moved), jnp.stack(out)

            (carry, back), found = jax.lax.scan(step, (up.start(key), down.start(key)), jnp.arange(edges))
            last = jnp.stack(
                [up.log_value(carry) - carry.log_weights[0], down.log_value(back) + back.log_weights[0]]
            )
            return jnp.abs(jnp.concatenate([jnp.ravel(found), last]))

        error = float(np.max(jit_once(errors)(subject.key(name))))
        cases.append(Case(error, f"an increment of log w on the {name} path is off by {error:.2g} nats."))
    return worst(cases, "")


def _still_and_moved(program, key, carry, index) -> tuple[Particles, Particles]:
    """A step without sweeps, and with one."""
    both = jax.lax.map(
        lambda sweeps: dataclasses.replace(program, sweeps=sweeps).step(key, carry, index), jnp.arange(2)
    )
    return jax.tree.map(lambda a: a[0], both), jax.tree.map(lambda a: a[1], both)


def _gain(before: Particles, after: Particles):
    """What the first particle's log w grew by."""
    return after.log_weights[0] - before.log_weights[0]


class Number(NamedTuple):
    number: jax.Array | np.ndarray


def resampling(subject: Subject) -> Finding:
    """Resampling keeps the mean weight, makes weights equal, and copies states of positive weight only; below the
    threshold it happens, above it nothing changes."""
    cases = []
    log_weights = np.log(np.array([0.05, 0.3, 0.0, 0.4, 0.25]) + 1e-300) + 3.0
    states = Number(np.arange(5.0))
    key = jax.random.key(1)
    particles = Particles(states, jnp.asarray(log_weights))
    expected = float(np.log(np.mean(np.exp(log_weights))))
    for scheme in RESAMPLERS:

        @jit_once
        def resampled(key, particles, scheme=scheme):
            at = [Resampling(threshold, scheme)(key, particles) for threshold in (1.0, 0.0)]
            return *at, resample_indices(scheme, key, particles.log_weights)

        always, never, index = jax.tree.map(np.asarray, resampled(key, particles))
        spread = float(np.abs(always.log_weights - expected).max())
        cases.append(
            Case(spread, f"after {scheme} resampling the weights are off their mean by {spread:.2g} nats.")
        )
        cases.append(
            Case(
                float(np.sum(always.states.number == 2.0)),
                f"{scheme} resampling copied a particle of weight 0.",
            )
        )
        kept = float(np.abs(always.states.number - states.number[index]).max())
        cases.append(Case(kept, f"{scheme} resampling moved other states than it drew."))
        moved = float(
            np.abs(never.states.number - states.number).max() + np.abs(never.log_weights - log_weights)[3]
        )
        cases.append(Case(moved, f"{scheme} resampling at threshold 0 changed something."))
    size = float(jit_once(effective_sample_size)(np.log([1.0, 2.0, 3.0])))
    cases.append(Case(abs(size - 36 / 14), "the effective sample size of weights 1, 2, 3 is not 36/14."))
    return worst(cases, "")


def ancestors(subject: Subject) -> Finding:
    """Expected number of copies P w / sum(w), for every scheme, over many keys."""
    weights = np.array([0.05, 0.3, 0.0, 0.4, 0.25])
    keys = jax.random.split(subject.key("ancestors"), subject.sizes.draws)
    p_values = []
    for scheme in RESAMPLERS:
        log_weights = jnp.log(jnp.asarray(weights)) - 7.0  # never normalised when resampling is called
        index = jit_once(jax.vmap(lambda k, s=scheme, w=log_weights: resample_indices(s, k, w)))(keys)
        copies = np.stack([np.bincount(row, minlength=5) for row in np.asarray(index)])
        centred = copies - 5 * weights
        error = np.maximum(centred.std(axis=0, ddof=1), 1e-6) / np.sqrt(len(keys))
        z = centred.mean(axis=0) / error
        p_values += list(2 * np.exp(-0.5 * z**2))  # an upper bound on the normal tail
    return Finding(bonferroni(np.minimum(p_values, 1.0)), "copies a particle gets on average.")


def averages(subject: Subject) -> Finding:
    """Weights become numbers as defined: means of weights, combinations of trials, the certificate, and BAR."""
    cases = []
    values = np.array([-3.0, 0.5, 1.25, 2.0])
    arithmetic = np.log(np.mean(np.exp(values)))
    expected = {
        Combine.ARITHMETIC: arithmetic,
        Combine.HARMONIC: -np.log(np.mean(np.exp(-values))),
        Combine.MAXIMUM: 2.0,
        Combine.MEAN_LOG: values.mean(),
    }
    for combine, value in expected.items():
        got = combine(values)[0]
        cases.append(
            Case(abs(got - value), f"the {combine.value} of {values.tolist()} came out as {got:.4g}.")
        )
    got = float(jit_once(logmeanexp)(values))
    cases.append(Case(abs(got - arithmetic), f"logmeanexp of {values.tolist()} came out as {got:.4g}."))
    certificate = Certificate.from_bounds(-10.0, -9.0, 0.9)
    margin = np.log(2 / 0.1)
    error = abs(certificate.low + 10 + margin) + abs(certificate.high + 9 - margin)
    cases.append(
        Case(error, f"the 90 % certificate of [-10, -9] is [{certificate.low:.3f}, {certificate.high:.3f}].")
    )
    # Work values with q_B(l) / q_F(l) = exp(l - log Z) exactly: -l exponential of rates 1 and 2, log Z = -log 2. Their
    # midpoint is not the answer, so that only the right equation finds it.
    quantiles = (np.arange(2000) + 0.5) / 2000
    forward, reverse = np.log(quantiles), np.log(quantiles) / 2
    for few in (1, 4):
        got = bennett(forward, reverse[few // 2 :: few]).log_ml
        error = max(0.0, abs(got + np.log(2)) - 0.01)
        cases.append(Case(error, f"BAR gives {got:.3f} where the answer is {-np.log(2):.3f}."))
    return worst(cases, "")


@jit_once
def _error(conditional, key):
    return conditional_error(conditional, key, grid_points=4_000)


def distributions(subject: Subject) -> Finding:
    """The library's own conditionals at hard arguments: far tails, tiny and huge weights, correlated Gaussians."""
    cases = []
    key = subject.key("distributions")

    def look(conditional, slack, what):
        error = float(_error(jax.tree.map(lambda a: np.asarray(a, float), conditional), key))
        cases.append(Case(error / slack, f"{what} is drawn wrongly, by {error:.2g}."))

    for low, high, variance in ((-1, 2, 1), (3, 3.5, 0.25), (9, 11, 1.3), (-14, -12, 2), (-50, 50, 0.6)):
        what = f"a normal of variance {variance:g} cut to [{low:g}, {high:g}]"
        look(
            TruncatedNormal(jnp.asarray(low), jnp.asarray(high), variance), 10.0, what
        )  # erfc rounds a little more than the rest
    for logits in ([0.0, -1.0, 2.0], [500.0, 499.0, -800.0]):
        look(Categorical(jnp.array(logits)), 1.0, f"a categorical with logits {logits}")
    root = jnp.array([[1.3, 0.0, 0.0], [0.4, 0.7, 0.0], [-0.5, 0.2, 2.0]])
    for shift in ([0.5, -1.0, 2.0], [[0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]]):
        look(Gaussian(root, jnp.array(shift), 0.7), 1.0, f"a Gaussian of shift {shift}")
    return worst(cases, "")


def noise(subject: Subject) -> Finding:
    """Normals are normal and uniforms uniform, with independent entries."""
    draws = subject.sizes.draws
    normals = np.asarray(jit_once(lambda k: standard_normal(k, (draws, 4)))(subject.key("noise")))
    uniform = jit_once(lambda k: jax.vmap(jax.random.uniform)(jax.random.split(k, draws)))(
        subject.key("uniform")
    )
    counts = np.bincount((np.asarray(uniform) * 20).astype(int), minlength=20)
    p = [white_p(normals), counts_p(counts, np.full(20, 0.05))]
    return Finding(bonferroni(p), "the noise sweeps are made of.")


CHECKS = (
    Check("engine.paths", Kind.EXACT, "the schedule is off by one, or does not start at 0 and end at 1.", paths),
    Check("engine.weights", Kind.EXACT, "an increment of the weight uses the wrong rows of powers, state or sign.", weights),
    Check("engine.resampling", Kind.EXACT, "weights are not reset to their mean when particles are resampled.", resampling),
    Check("engine.averages", Kind.EXACT, "a harmonic mean in place of an arithmetic one, a wrong count, or a wrong sign.", averages),
    Check("engine.distributions", Kind.EXACT, "a tail formula loses its precision or an index is off by one.", distributions),
    Check("engine.entering", Kind.STATISTICAL, "the latent of a point that enters or leaves comes from the wrong conditional.",
          entering),
    Check("engine.ancestors", Kind.STATISTICAL, "resampling does not draw in proportion to the weights.", ancestors),
    Check("engine.noise", Kind.STATISTICAL, "the random numbers do not have the law they should.", noise),
)  # fmt: skip
